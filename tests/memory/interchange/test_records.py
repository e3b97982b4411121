"""Records become lines and come back, whatever is in them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.answers import Document, Record
from dshloop.memory.entries import Memory, Observation, Session
from dshloop.memory.interchange import jsonl
from dshloop.memory.interchange.fields import RowError
from dshloop.memory.interchange.records import decoded, record_line, record_of
from dshloop.memory.interchange.report import Report
from tests.memory.interchange import rows

documents = st.builds(
    Document, of=rows.said, key=rows.said, value=rows.json_values, updated_at=rows.times
)
records = st.one_of(rows.memories, rows.observations, rows.sessions, documents)


def read(data: bytes) -> tuple[list[Any], Report]:
    report = Report()
    return list(jsonl.read(io.BytesIO(data), report)), report


def written(found: list[Record]) -> bytes:
    return b"".join(jsonl.write(found, Report()))


@given(records)
def test_a_line_reads_as_what_was_written(record: Record) -> None:
    line = record_line(record)
    assert "\n" not in line
    again = record_of(decoded(line))
    assert record_line(again) == line


@given(rows.memories)
def test_a_memory_reads_as_it_was(memory: Memory) -> None:
    plain = memory._replace(title="t", content="c", concepts=(), files=(), project="", source={})
    assert record_of(decoded(record_line(plain._replace(agent=None, session=None)))) == (
        plain._replace(agent=None, session=None)
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), -0.0, 1e300])
def test_numbers_that_json_lacks_come_back(number: float) -> None:
    session = Session("s", "p", "", None, None, None, {"n": number}, 0.0, 0.0, None)
    again = record_of(decoded(record_line(session)))
    assert isinstance(again, Session)
    assert repr(again.summary["n"]) == repr(number)


def test_surrogates_in_pairs_are_one_character_and_lone_ones_stay() -> None:
    observation = Observation("obs_1", "s", "h", "t", "", "", "\ud83d\ude00 \ud83d", (), (), "",
                              None, {}, 0.0)  # fmt: skip
    again = record_of(decoded(record_line(observation)))
    assert isinstance(again, Observation)
    assert again.content == "😀 \ud83d"


@given(st.lists(records, max_size=5))
def test_a_file_reads_as_what_was_written(found: list[Record]) -> None:
    data = written(found)
    items, report = read(data)
    assert [item.fault for item in items] == [""] * len(found)
    assert written([item.record for item in items]) == data
    assert report.notes == []


def test_torn_foreign_and_wrong_lines_hide_no_others() -> None:
    one = record_line(Session("s1", "p", "", None, None, None, None, 0.0, 0.0, None))
    two = record_line(Session("s2", "p", "", None, None, None, None, 0.0, 0.0, None))
    lines = [one, "{torn", "\x00\x00", "[1]", '{"kind": "other"}', "", "1" * 5000, "[" * 5000]
    lines.append('{"kind": "session", "id": "x", "project": 5}')
    data = "\n".join([*lines, two, one[:-9]]).encode() + b"\n" + b"\xff\xfe\n"
    items, report = read(data)
    kept = [(item.place, item.record.id) for item in items if not item.fault]
    assert kept == [(1, "s1"), (10, "s2")]
    assert [item.place for item in items if item.fault] == [2, 3, 4, 5, 7, 8, 9, 11, 12]
    assert report.notes == ["the file has no end line: what stood behind is missing"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("id", ""), ("id", 5), ("type", "odd"), ("content", " "), ("concepts", [1]), ("latest", 1),
     ("created_at", "2026"), ("created_at", True), ("source", []), ("repeats", 1.5),
     ("created_at", {"$num": "NaN"})],
)  # fmt: skip
def test_a_memory_that_is_none_is_refused(key: str, value: Any) -> None:
    memory = Memory("mem_1", "fact", "t", "c", (), (), "p", None, None, {}, 1.0, 1.0)
    line = {**json.loads(record_line(memory)), key: value}
    with pytest.raises(RowError):
        record_of(decoded(json.dumps(line)))
