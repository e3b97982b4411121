"""Real session logs: what must hold follows from each file itself, never from its name."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dshloop.transcripts.dsh import read_transcript, stream_chunks
from tests.conformance.cases import case_files

DELTAS = {"text-chunks", "reasoning-chunks", "tool-call-chunks"}


def logs() -> list[Any]:
    return [
        case
        for case in case_files("sessions")
        if case.marks or case.values[0].name.endswith((".jsonl", ".zstd"))
    ]


def stored_lines(path: Path) -> list[dict[str, Any]]:
    """Decode a log by other means than the reader: its whole lines as objects."""
    data = path.read_bytes()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        zstandard = pytest.importorskip("zstandard")
        reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
        data = reader.readall()
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


@pytest.mark.parametrize("path", logs())
def test_events_are_contiguous_and_complete(path: Path) -> None:
    read = read_transcript(path)
    header, *stored = stored_lines(path)
    assert {finding.code for finding in read.findings} <= {"TORN_TAIL", "TORN_FRAME"}
    assert read.header is not None
    assert read.header.raw == header
    assert [event["seq"] for event in read.events] == list(range(len(read.events)))
    expected = sum(
        len(row["data"].get("texts", row["data"].get("args"))) if row["type"] in DELTAS else 1
        for row in stored
    )
    assert len(read.events) == expected


@pytest.mark.parametrize("path", logs())
def test_counts_are_those_of_the_file(path: Path) -> None:
    found = Counter(row["type"] for row in stored_lines(path))
    assert read_transcript(path).counts == {
        "turns": found["turn/start"],
        "steps": found["step/start"],
        "calls": found["tool/call"],
        "results": found["tool/result"],
    }


@pytest.mark.parametrize("path", logs())
def test_streamed_text_is_the_text_of_the_message(path: Path) -> None:
    read = read_transcript(path)
    for event in read.events:
        if event["type"] != "assistant/message":
            continue
        if read.version == 0:
            sources = set(event.get("sourceEventSeqs", ()))
            chunks = [e["data"]["chunk"] for e in read.events if e["seq"] in sources]
        else:
            chunks = [record["chunk"] for record in stream_chunks(event)]
        if not chunks:
            continue
        streamed = "".join(c["text"] for c in chunks if c["type"] == "text-delta")
        content = event["data"]["message"]["content"]
        assert streamed == "".join(b["text"] for b in content if b["type"] == "text")


@pytest.mark.parametrize("path", logs())
def test_an_open_turn_gets_closers_and_a_closed_one_none(path: Path) -> None:
    read = read_transcript(path)
    found = Counter(event["type"] for event in read.events)
    closing = read.closers()
    last = read.events[-1] if read.events else {"seq": -1, "time": 0}
    kinds = [event["type"] for event in closing]
    assert kinds.count("turn/end") == found["turn/start"] - found["turn/end"]
    assert kinds.count("step/end") == found["step/start"] - found["step/end"]
    assert all(event["time"] == last["time"] for event in closing)
    assert [event["seq"] for event in closing] == list(
        range(last["seq"] + 1, last["seq"] + 1 + len(closing))
    )
    if closing:
        assert closing[-1]["data"]["reason"] == {"kind": "interrupted"}


@pytest.mark.parametrize("path", logs())
def test_a_log_cut_behind_any_event_can_be_closed(path: Path, tmp_path: Path) -> None:
    read = read_transcript(path)
    assert read.header is not None
    lines = [json.dumps(value) for value in (read.header.raw, *read.events)]
    for count in range(1, len(lines) + 1, max(1, len(lines) // 60)):
        cut = tmp_path / "session.jsonl"
        cut.write_text("\n".join(lines[:count]) + "\n", encoding="utf-8")
        part = read_transcript(cut)
        assert len(part.events) == count - 1
        closed = Counter(event["type"] for event in [*part.events, *part.closers()])
        assert closed["turn/start"] == closed["turn/end"]
        assert closed["step/start"] == closed["step/end"]
