"""Runs on disk: durable line by line, found by name, and what damage there may be."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from dshloop.errors import LockHeldError, MatrixRunDamagedError, MatrixRunNotFoundError
from dshloop.paths import Places
from dshloop.runs.matrix.record import About, Run, begin, find_run, new_id, runs


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def made(places: Places, name: str = "m-1", when: str = "2026-01-01T00:00:00.000Z") -> Run:
    return begin(places, About(name, "/m.yml", "f" * 8, 3, when, None, "/", "dshloop"))


def test_records_are_read_back_by_number(places: Places) -> None:
    run = made(places)
    with run.writer("test") as writer:
        writer.add({"number": 2, "text": "\ud800 ü"})
        writer.add({"number": 1, "outcome": "error"})
    with run.writer("test") as writer:
        writer.add({"number": 1, "outcome": "completed"})
    found = find_run(places, "m-1").records()
    assert list(found) == [1, 2]
    assert found[1]["outcome"] == "completed"
    assert found[2]["text"] == "\ud800 ü"


def test_many_records_are_written_with_one_sync(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, synced = made(places), []
    with run.writer("test") as writer:
        monkeypatch.setattr(os, "fsync", synced.append)
        writer.add(*({"number": number} for number in range(1, 2001)))
    assert len(synced) == 1
    assert list(run.records()) == list(range(1, 2001))


def test_a_line_that_was_cut_off_counts_for_none(places: Places) -> None:
    run = made(places)
    with run.writer("test") as writer:
        writer.add({"number": 1})
    log = run.folder / "cells.ndjson"
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"number": 2, "te')
    assert list(run.records()) == [1]
    with run.writer("test") as writer:
        writer.add({"number": 3})
    assert log.read_bytes() == whole + b'{"number": 3}\n'


def test_one_at_a_time_adds_records(places: Places) -> None:
    run = made(places)
    assert not run.running
    with run.writer("first"):
        assert run.running
        with pytest.raises(LockHeldError), run.writer("second"):
            pass
    assert not run.running


def test_runs_are_found_by_name_beginning_and_age(places: Places) -> None:
    assert runs(places) == []
    first = made(places, "a-1", "2026-01-01T00:00:00.000Z")
    made(places, "b-1", "2026-01-03T00:00:00.000Z")
    twin = made(places, "a-1", "2026-01-02T00:00:00.000Z")
    assert [run.id for run in runs(places)] == ["b-1", "a-1-2", "a-1"]
    assert twin.id == twin.about.id == "a-1-2"
    assert find_run(places, "a-1").folder == first.folder
    assert find_run(places, "b").id == "b-1"
    assert find_run(places, "last").id == "b-1"
    with pytest.raises(MatrixRunNotFoundError, match="fits 2 runs"):
        find_run(places, "a")
    with pytest.raises(MatrixRunNotFoundError, match='no matrix run "c"'):
        find_run(places, "c")


def test_damage_is_named(places: Places) -> None:
    run = made(places)
    (run.folder / "cells.ndjson").write_text("{}\n")
    with pytest.raises(MatrixRunDamagedError, match="line 1 is no record"):
        run.records()
    about = json.loads((run.folder / "run.json").read_text())
    other = made(places, "other")
    for wrong in ([], {**about, "cells": "3"}, {**about, "schema": 2}, {**about, "file": None}):
        (run.folder / "run.json").write_text(json.dumps(wrong))
        told: list[MatrixRunDamagedError] = []
        assert runs(places, told.append) == [other]  # it doesn't hide the others
        assert [one.details["run"] for one in told] == ["m-1"]
        assert find_run(places, "last") == find_run(places, "other") == other
        with pytest.raises(MatrixRunDamagedError, match="not what dshloop writes"):
            find_run(places, "m-1")
    shutil.rmtree(other.folder)
    (run.folder / "run.json").unlink()  # as if killed before it was written
    assert runs(places) == []


def test_a_run_is_named_by_its_file_and_moment() -> None:
    assert new_id(Path("/x/my matrix.yml"), 0) == "my-matrix-19700101-000000"
    assert new_id(Path("/x/..."), 0) == "matrix-19700101-000000"
