"""Reading logs: whole, damaged, compressed, packed, open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import SessionNotFoundError, SessionUnreadableError
from dshloop.transcripts.dsh import read_head, read_transcript, stream_chunks
from dshloop.transcripts.scan import MOST_FINDINGS, open_scan
from tests.transcripts.logs import HEADER, event, line, turn, write, zstd_frames


def test_reads_header_and_events(tmp_path: Path) -> None:
    read = read_transcript(write(tmp_path / "session.jsonl", turn(1, 0)))
    assert read.header is not None
    assert (read.header.id, read.header.cwd, read.version) == ("s-1", "/home/dev", 0)
    assert [each["seq"] for each in read.events] == [0, 1, 2, 3, 4]
    assert read.findings == []
    assert read.counts == {"turns": 1, "steps": 1, "calls": 0, "results": 0}


def test_a_torn_tail_at_every_byte_loses_only_the_last_line(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole", turn(1, 0)).read_bytes()
    header_end = whole.index(b"\n") + 1
    for cut in range(header_end, len(whole)):
        path = tmp_path / "session.jsonl"
        path.write_bytes(whole[:cut])
        read = read_transcript(path)
        assert len(read.events) == whole[header_end:cut].count(b"\n")
        assert read.good_bytes == whole.rindex(b"\n", 0, cut) + 1
        assert bool(read.findings) == (cut != read.good_bytes)
        assert read.refusal is None


def test_a_header_without_its_line_end_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    for content in (b"", line(HEADER)[:-1], line(HEADER)[:20]):
        path.write_bytes(content)
        with pytest.raises(SessionUnreadableError, match="empty or header-less session log"):
            read_transcript(path)


def test_a_damaged_header_does_not_hide_the_events(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"type": "session", "ver\n' + b"".join(map(line, turn(1, 0))))
    read = read_transcript(path)
    assert read.header is None
    assert len(read.later) == 5
    assert read.refusal is not None
    assert read.refusal.message == "corrupt session log: header line is not valid JSON"


def test_line_separators_inside_text_do_not_split(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\rf"
    read = read_transcript(write(tmp_path / "session.jsonl", turn(1, 0, text)))
    assert read.findings == []
    assert read.events[2]["data"]["content"][0]["text"] == text


def test_a_giant_line_is_read(tmp_path: Path) -> None:
    text = "x" * 5_000_000
    read = read_transcript(write(tmp_path / "session.jsonl", turn(1, 0, text)))
    assert read.events[2]["data"]["content"][0]["text"] == text


def test_a_bad_line_without_a_later_turn_end_is_dropped(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    path.write_bytes(path.read_bytes() + b"{oops\n" + line(event("turn/start", 5, {"turn": 2})))
    read = read_transcript(path)
    assert len(read.events) == 5
    assert [each["type"] for each in read.later] == ["turn/start"]
    assert read.refusal is None
    assert [(each.code, each.line, each.seq) for each in read.findings] == [("BAD_LINE", 7, 5)]
    assert path.read_bytes()[read.findings[0].byte :].startswith(b"{oops")


def test_a_bad_line_before_a_turn_end_is_corruption(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = [line(HEADER), *map(line, turn(1, 0))]
    path.write_bytes(b"".join([*lines[:3], b"\0\0\0\n", *lines[4:]]))
    read = read_transcript(path)
    assert (len(read.events), len(read.later)) == (2, 2)
    assert read.refusal is not None
    assert read.refusal.message == "corrupt session log: unparsable committed event at line 3"
    assert "3 NUL bytes" in read.findings[0].message


def test_a_seq_gap_on_the_turn_end_itself_is_corruption(tmp_path: Path) -> None:
    events = turn(1, 0)
    read = read_transcript(write(tmp_path / "session.jsonl", [*events[:3], events[4]]))
    assert read.refusal is not None
    assert read.refusal.message == (
        "corrupt session log: seq gap in committed region at line 4 (expected 3, got 4)"
    )


def test_an_unparsable_turn_end_commits_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    path.write_bytes(path.read_bytes()[:-3] + b"\n")
    read = read_transcript(path)
    assert len(read.events) == 4
    assert read.refusal is None
    assert [each["type"] for each in read.closers()] == ["turn/end"]


@pytest.mark.parametrize(
    "change",
    [{"seq": -1}, {"seq": True}, {"time": 1.5}, {"extra": 1}, {"type": 3}, {"ignorable": False}],
)
def test_a_malformed_envelope_stops_the_good_prefix(tmp_path: Path, change: dict) -> None:
    bad = {**event("turn/start", 0, {"turn": 1}), **change}
    read = read_transcript(write(tmp_path / "session.jsonl", [bad]))
    assert read.events == []
    assert read.findings[0].code == "BAD_EVENT"


def test_an_unknown_type_is_kept_and_refuses(tmp_path: Path) -> None:
    read = read_transcript(write(tmp_path / "session.jsonl", [event("new/thing", 0, {})]))
    assert len(read.events) == 1
    assert read.refusal is not None
    assert read.refusal.message == (
        'session "s-1" contains event type "new/thing" (seq 0) unknown to this harness and not '
        "marked ignorable; refusing to interpret the log — it was likely written by a newer harness"
    )


def test_an_ignorable_unknown_type_is_kept(tmp_path: Path) -> None:
    stored = [event("new/thing", 0, {}, ignorable=True)]
    read = read_transcript(write(tmp_path / "session.jsonl", stored))
    assert (read.events, read.findings) == (stored, [])


def test_retired_events_refuse(tmp_path: Path) -> None:
    stored = [event("request/header", 0, {"header": {}, "reason": "fallback"})]
    read = read_transcript(write(tmp_path / "session.jsonl", stored))
    assert read.refusal is not None
    assert read.refusal.code == "RETIRED_TYPE"


def test_newer_and_middle_versions_are_told_apart_and_still_read(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    newer = read_transcript(write(path, turn(1, 0), {**HEADER, "version": 7}))
    assert newer.refusal is not None
    assert newer.refusal.message.startswith('session "s-1" uses log format v7, but this harness')
    assert len(newer.events) == 5
    older = read_transcript(write(path, turn(1, 0), {**HEADER, "version": 2}))
    assert older.refusal is not None
    assert "older than the supported v4" in older.refusal.message


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"createdAt": -1}, "createdAt"),
        ({"delegationDepth": None}, "delegationDepth"),
        ({"cwd": "here"}, "cwd"),
        ({"origin": "me"}, "origin"),
        ({"sandboxMode": "x"}, "sandboxMode"),
    ],
)
def test_header_faults_are_named(tmp_path: Path, change: dict, fault: str) -> None:
    read = read_transcript(write(tmp_path / "session.jsonl", turn(1, 0), {**HEADER, **change}))
    assert [fault in each.message for each in read.findings] == [True]
    assert len(read.events) == 5


def test_unknown_header_keys_are_fine_in_v0_only(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    assert read_transcript(write(path, [], {**HEADER, "more": 1})).findings == []
    header = {**HEADER, "version": 4, "isSeeded": False, "more": 1}
    assert [each.code for each in read_transcript(write(path, [], header)).findings] == ["HEADER"]


def test_bytes_that_are_not_utf8_cost_a_warning_only(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0, "caf\xe9"))
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xe9"))
    read = read_transcript(path)
    assert len(read.events) == 5
    assert read.events[2]["data"]["content"][0]["text"] == "caf\ufffd"
    assert [each.code for each in read.findings] == ["NOT_UTF8"]


def test_deep_nesting_is_a_bad_line(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    deep = b'{"type":"turn/start","seq":5,"time":1,"data":' + b"[" * 200_000 + b"]" * 200_000
    path.write_bytes(path.read_bytes() + deep + b"}\n")
    read = read_transcript(path)
    assert len(read.events) == 5
    assert read.findings[0].code == "BAD_LINE"


def test_packed_rows_are_expanded(tmp_path: Path) -> None:
    row = {
        "type": "tool-call-chunks",
        "seq0": 0,
        "time0": 10,
        "data": {
            "turn": 1,
            "step": 2,
            "index": 3,
            "dt": [5, -2],
            "id": "c",
            "args": ["a", "", "b"],
        },
    }
    read = read_transcript(write(tmp_path / "session.jsonl", [row, event("turn/start", 3, {})]))
    assert [each["seq"] for each in read.events] == [0, 1, 2, 3]
    assert [each["time"] for each in read.events[:3]] == [10, 15, 13]
    chunk = {"type": "tool-call-delta", "index": 3, "id": "c", "argumentsDelta": "b"}
    assert read.events[2] == {
        "type": "assistant/chunk",
        "seq": 2,
        "time": 13,
        "data": {"turn": 1, "step": 2, "chunk": chunk},
    }


@pytest.mark.parametrize(
    "change",
    [
        {"dt": [1]},
        {"texts": []},
        {"texts": [1, 2, 3]},
        {"more": 1},
        {"dt": [0.5, 1]},
        {"turn": "1"},
    ],
)
def test_malformed_rows_are_damage(tmp_path: Path, change: dict) -> None:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a", "b", "c"], **change}
    row = {"type": "text-chunks", "seq0": 0, "time0": 1, "data": data}
    read = read_transcript(write(tmp_path / "session.jsonl", [row]))
    assert read.events == []
    assert "malformed text-chunks storage row" in read.findings[0].message


def test_v4_sources_and_streams_are_expanded(tmp_path: Path) -> None:
    header = {**HEADER, "version": 4, "isSeeded": False}
    packed = {"type": "text-chunks", "time0": 5, "index": 0, "dt": [1], "texts": ["a", "b"]}
    first = {"type": "chunk", "time": 4, "chunk": {"type": "block-start", "index": 0}}
    stored = [
        event("assistant/attempt", 0, {"turn": 1, "step": 1, "stream": [first, packed]}),
        event("todo/write", 1, {"todos": []}, sourceEventSeqs=[3, [7, 12]]),
    ]
    read = read_transcript(write(tmp_path / "session.v4.jsonl", stored, header))
    assert read.events[1]["sourceEventSeqs"] == [3, 7, 8, 9, 10, 11, 12]
    records = stream_chunks(read.events[0])
    assert [record["time"] for record in records] == [4, 5, 6]
    assert records[2]["chunk"] == {"type": "text-delta", "index": 0, "text": "b"}


def test_compressed_frames_are_read_across(tmp_path: Path) -> None:
    lines = [line(HEADER), *map(line, turn(1, 0))]
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(zstd_frames([lines[0], b"".join(lines[1:3]), b"".join(lines[3:])]))
    read = read_transcript(path)
    assert read.compressed
    assert (len(read.events), read.findings) == (5, [])


def test_an_incomplete_last_frame_keeps_its_whole_lines(tmp_path: Path) -> None:
    lines = [line(HEADER), *map(line, turn(1, 0))]
    data = zstd_frames([lines[0], b"".join(lines[1:])])
    path = tmp_path / "session.jsonl.zstd"
    start = len(zstd_frames([lines[0]]))
    for cut in range(start + 1, len(data)):
        path.write_bytes(data[:cut])
        read = read_transcript(path)
        torn = [each for each in read.findings if each.code == "TORN_FRAME"]
        assert [each.byte for each in torn] == [start]
        assert read.refusal is None


def test_a_corrupt_frame_is_stepped_over(tmp_path: Path) -> None:
    lines = [line(HEADER), *map(line, turn(1, 0)), *map(line, turn(2, 5))]
    frames = [zstd_frames([b"".join(part)]) for part in (lines[:1], lines[1:6], lines[6:])]
    broken = bytearray(frames[1])
    broken[len(broken) // 2] ^= 0xFF
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(frames[0] + bytes(broken) + frames[2])
    read = read_transcript(path)
    assert read.refusal is not None
    assert read.refusal.code == "CORRUPT_FRAME"
    assert read.refusal.byte == len(frames[0])
    assert [each["seq"] for each in read.later][-5:] == [5, 6, 7, 8, 9]


def test_the_head_of_a_log_says_whether_it_is_all(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0))
    assert read_head(path).whole
    head = read_head(path, 300)
    assert head.header is not None
    assert 0 < len(head.events) < 5
    assert not head.whole


def test_a_missing_log_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(SessionNotFoundError):
        read_transcript(tmp_path / "session.jsonl")


_ODD_VALUES = (None, True, -1, 1.5, 2**70, "\ud800", [], {}, [None], {"kind": {}})


@pytest.mark.parametrize("version", [0, 4])
@pytest.mark.parametrize("odd", _ODD_VALUES, ids=repr)
def test_any_value_in_any_place_is_survived(tmp_path: Path, version: int, odd: object) -> None:
    header = {**HEADER, "version": version, "isSeeded": False}
    row = {"dt": [], "texts": ["a"], "index": 0, "turn": 1, "step": 1}
    packed = {"type": "text-chunks", "seq0": 5, "time0": 1, "data": row}
    for lines in _with_odd_value([header, *turn(1, 0), packed, *turn(2, 6)], odd):
        read = read_transcript(write(tmp_path / "session.jsonl", lines[1:], lines[0]))
        read.closers()
        json.dumps([finding.as_json() for finding in read.findings])


def _with_odd_value(lines: list[dict], odd: object) -> Iterator[list[dict]]:
    """Put a value in the place of every key of every line, and of every key of its data."""
    for at, old in enumerate(lines):
        for key in old:
            yield [*lines[:at], {**old, key: odd}, *lines[at + 1 :]]
        for key in old.get("data", ()):
            new = {**old, "data": {**old["data"], key: odd}}
            yield [*lines[:at], new, *lines[at + 1 :]]


@given(st.binary(max_size=400))
def test_any_bytes_behind_the_header_are_survived(tail: bytes) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        path.write_bytes(line(HEADER) + b"".join(map(line, turn(1, 0))) + tail)
        read = read_transcript(path)
    assert len(read.events) >= 5
    assert (
        read.good_bytes
        <= read.text_bytes
        == len(line(HEADER)) + sum(map(len, map(line, turn(1, 0)))) + len(tail)
    )
    json.dumps([finding.as_json() for finding in read.findings])


def codes(path: Path) -> list[str]:
    return [finding.code for finding in read_transcript(path).findings]


def damaged(path: Path, at: int, *lines: bytes) -> Path:
    """Put lines in the place of one line of a log of two turns; 0 is the header's."""
    whole = [line(HEADER), *map(line, [*turn(1, 0), *turn(2, 5)])]
    path.write_bytes(b"".join([*whole[:at], *lines, *whole[at + 1 :]]))
    return path


def test_records_that_are_glued_come_apart(tmp_path: Path) -> None:
    glued = line(turn(1, 0)[1])[:-1] + line(turn(1, 0)[2])
    path = damaged(tmp_path / "session.jsonl", 2, glued)
    read = read_transcript(path)
    assert [each["seq"] for each in [*read.events, *read.later]][:4] == [0, 1, 2, 2]
    assert "GLUED" in codes(path)


def test_a_record_behind_a_torn_one_is_saved(tmp_path: Path) -> None:
    first, second = line(turn(1, 0)[1]), line(turn(1, 0)[2])
    path = tmp_path / "session.jsonl"
    path.write_bytes(line(HEADER) + line(turn(1, 0)[0]) + first[:20] + second)
    read = read_transcript(path)
    assert [each["seq"] for each in read.later] == [2]
    assert codes(path) == ["GLUED", "SEQ_GAP"]


def test_nul_bytes_are_taken_out_where_that_mends_a_line(tmp_path: Path) -> None:
    good = line(turn(1, 0)[1])
    path = damaged(tmp_path / "session.jsonl", 2, b"\0" * 100 + good)
    read = read_transcript(path)
    assert read.later[0] == turn(1, 0)[1]
    assert codes(path) == ["NUL_BYTES", "CORRUPT"]


def test_a_line_split_at_a_line_separator_is_one_event(tmp_path: Path) -> None:
    event = turn(1, 0, "one\u2028two\u2028three")[2]
    whole = line(event)
    lines = whole.decode().replace("\u2028", "\n").encode()
    path = damaged(tmp_path / "session.jsonl", 3, lines)
    read = read_transcript(path)
    assert event in read.later
    assert "SPLIT_LINE" in codes(path)


def test_events_glued_to_the_header_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(line(HEADER)[:-1] + b"".join(map(line, turn(1, 0))))
    read = read_transcript(path)
    assert read.header is not None
    assert [each["seq"] for each in read.later] == [0, 1, 2, 3, 4]


def test_a_lost_line_is_one_fault_and_a_step_back_another(tmp_path: Path) -> None:
    assert codes(damaged(tmp_path / "session.jsonl", 3, b"{gone\n")) == ["BAD_LINE", "CORRUPT"]
    twice = line(turn(1, 0)[2])
    path = damaged(tmp_path / "session.jsonl", 3, twice, twice)
    assert codes(path) == ["SEQ_BACK", "CORRUPT"]


def test_findings_are_all_counted_and_not_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(line(HEADER) + b"{}\n" * 5000)
    with open_scan(path) as scan:
        assert list(scan) == []
    assert scan.counts["BAD_EVENT"] == 5000
    assert len(scan.findings) == MOST_FINDINGS
