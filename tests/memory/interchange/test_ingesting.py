"""Logs of agents become observations, once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewObservation
from dshloop.memory.interchange import ingesting
from dshloop.memory.interchange.carrying import carry
from dshloop.memory.interchange.ingesting import folder_name
from dshloop.memory.interchange.report import Report
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.interchange.steps import store  # noqa: F401
from tests.transcripts import test_claude_code, test_codex

SESSIONS = Path(__file__).parents[2] / "data" / "sessions"


def ingest(store: SqliteStore, *paths: Path, **how: Any) -> Report:  # noqa: F811
    report = Report()
    items = ingesting.items(store, list(paths), report, **how)
    return carry(store, items, report, on_conflict="merge")


def test_logs_of_dsh_of_both_formats_are_ingested(store: SqliteStore) -> None:  # noqa: F811
    done = ingest(store, SESSIONS)
    assert done.outcomes["added", "session"] == 5
    observed = store.list(Filters(kinds=("observation",)), limit=None, oldest_first=True)
    calls = [one for one in observed if getattr(one, "hook", "") == "post_tool_use"]
    assert calls[0].title == "read"
    assert "line one" in calls[0].content
    assert "hello.txt" in calls[0].files
    assert calls[0].source["program"] == "dsh"
    failed = [one for one in observed if getattr(one, "hook", "") == "post_tool_failure"]
    assert [one.type for one in failed] == ["error"] * len(failed)
    assert failed
    answers = [one.content for one in observed if getattr(one, "hook", "") == "assistant_message"]
    assert "Hello from the fake model." in answers
    assert store.recall("hello fake model")


def test_again_adds_nothing_and_a_log_that_grew_what_is_new(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    log = tmp_path / "x.jsonl"
    test_claude_code.write(log, test_claude_code.LINES[:9])
    first = ingest(store, log)
    again = ingest(store, log)
    assert again.changed == 0
    assert again.total("same") == first.total("added")
    test_claude_code.write(log)
    more = ingest(store, log)
    assert more.outcomes["added", "observation"] == 3
    known = store.get_session(test_claude_code.SESSION)
    assert known is not None
    assert (known.title, known.project) == ("Fixing the tax", "shop")
    assert known.first_prompt == "fix the tax"
    assert known.observations == 7
    assert known.ended_at == known.updated_at == 1769188811.0


def test_codex_and_claude_code_are_found_in_folders(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    test_claude_code.write(tmp_path / "a" / "x.jsonl")
    test_codex.write(tmp_path / "rollout.jsonl")
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "notes.txt").write_text("no log")
    done = ingest(store, tmp_path)
    assert done.outcomes["added", "session"] == 2
    assert done.lost["it is no log that is read"] == 1
    assert done.lost["a line can't be read: it is cut off"] == 1


def test_a_session_that_was_observed_live_is_left_out(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    log = test_claude_code.write(tmp_path / "x.jsonl")
    session = test_claude_code.SESSION
    store.observe(NewObservation(session, "shop", "stop", "stop", "live", "k"))
    done = ingest(store, log)
    assert (done.changed, sum(done.lost.values())) == (0, 1)
    assert ingest(store, log, again=True).outcomes["added", "observation"] == 7
    assert ingest(store, log).total("same") == 8


def test_what_memory_tools_recalled_is_not_stored_again(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    lines = [
        test_claude_code.line("assistant", [{"type": "tool_use", "id": "t", "input": {},
                                             "name": "mcp__agentmemory__memory_recall"}], 1),
        test_claude_code.line("user", [{"type": "tool_result", "tool_use_id": "t",
                                        "content": "what was recalled"}], 2),
    ]  # fmt: skip
    done = ingest(store, test_claude_code.write(tmp_path / "x.jsonl", lines))
    assert store.count() == 0
    assert "memory tools" in next(iter(done.lost))


def test_secrets_are_taken_out_unless_they_are_wanted(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    key = "ghp_" + "a" * 36
    log = test_claude_code.write(tmp_path / "x.jsonl", [
        test_claude_code.line("user", f"the key is {key}", 1)])  # fmt: skip
    assert ingest(store, log).redacted >= 1
    assert key not in json.dumps([one.as_json() for one in store.list(limit=None)])
    assert key not in str(store.get_session(test_claude_code.SESSION))


def test_what_a_fork_inherited_is_left_out(store: SqliteStore, tmp_path: Path) -> None:  # noqa: F811
    source = SESSIONS / "v0-text.session.jsonl"
    lines = source.read_text(encoding="utf-8").splitlines()
    header = {**json.loads(lines[0]), "id": "fork", "parentSession": "p", "seedLength": 9_999}
    (tmp_path / "session.jsonl").write_text(
        "\n".join([json.dumps(header), *lines[1:]]) + "\n", encoding="utf-8"
    )
    assert ingest(store, tmp_path).outcomes["added", "observation"] == 0


def test_of_a_session_in_two_formats_the_newer_is_read(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    shutil.copy(SESSIONS / "v0-text.session.jsonl", tmp_path / "session.jsonl")
    shutil.copy(SESSIONS / "v4-text.session.v4.jsonl.zstd", tmp_path / "session.v4.jsonl.zstd")
    done = ingest(store, tmp_path)
    assert done.outcomes["added", "session"] == 1


@pytest.mark.parametrize(
    ("cwd", "name"),
    [("/home/dev/shop", "shop"), ("C:\\Users\\me\\shop", "shop"), ("/", "/"), ("", "")],
)
def test_a_project_is_named_after_the_folder(cwd: str, name: str) -> None:
    assert folder_name(cwd) == name
