"""Mended copies: they pass the check, and keep every event that was not hit."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshloop.errors import OutputExistsError, SessionUnreadableError, WriteFailedError
from dshloop.sessions.calls import answered_call
from dshloop.sessions.fsck import check_log
from dshloop.sessions.repair import Repaired, repair_log
from dshloop.transcripts.dsh import Transcript, read_transcript
from tests.conformance.cases import DATA
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, event, line, turn, write, zstd_frames

EVENTS = conversation(3, calls=2, text="héllo wörld")
WHOLE = [line(HEADER), *map(line, EVENTS)]


def repair(folder: Path, data: bytes, name: str = "session.jsonl") -> tuple[Repaired, Transcript]:
    path, out = folder / name, folder / "repaired.jsonl"
    path.write_bytes(data)
    out.unlink(missing_ok=True)
    done = repair_log(path, out)
    assert path.read_bytes() == data
    checked = check_log(out)
    assert checked.findings == []
    assert checked.events == done.events
    return done, read_transcript(out)


def test_a_whole_log_is_copied_byte_for_byte(tmp_path: Path) -> None:
    done, _ = repair(tmp_path, b"".join(WHOLE))
    assert (tmp_path / "repaired.jsonl").read_bytes() == b"".join(WHOLE)
    assert done == Repaired(events=len(EVENTS), kept=len(EVENTS))


def test_nul_bytes_go_where_that_mends_the_line(tmp_path: Path) -> None:
    done, read = repair(tmp_path, b"".join([*WHOLE[:5], b"\0" * 99 + WHOLE[5], *WHOLE[6:]]))
    assert read.events == EVENTS
    assert (done.mended, done.lost, done.renumbered) == (1, 0, 0)


def test_glued_records_are_two_lines_again(tmp_path: Path) -> None:
    done, read = repair(tmp_path, b"".join([*WHOLE[:5], WHOLE[5][:-1] + WHOLE[6], *WHOLE[7:]]))
    assert read.events == EVENTS
    assert done.mended == 1


def test_a_torn_tail_goes_and_what_was_written_behind_one_stays(tmp_path: Path) -> None:
    _, read = repair(tmp_path, b"".join(WHOLE)[:-5])
    assert read.events == EVENTS[:-1]
    _, read = repair(tmp_path, b"".join([*WHOLE[:9], WHOLE[9][:15], *WHOLE[10:]]))
    assert len(read.events) == len(EVENTS) - 1


def test_the_result_of_a_lost_call_goes_and_the_call_is_answered(tmp_path: Path) -> None:
    at = next(n for n, each in enumerate(EVENTS) if each["type"] == "tool/call")
    done, read = repair(tmp_path, b"".join([*WHOLE[: at + 1], b"\0\0\n", *WHOLE[at + 2 :]]))
    assert (done.lost, done.dropped, done.added) == (1, 1, 1)
    results = [each for each in read.events if each["type"] == "tool/result"][:2]
    assert results[0]["data"]["message"] == EVENTS[at + 3]["data"]["message"]
    assert results[1]["data"]["error"]["code"] == "TOOL_NOT_STARTED"


def test_a_lost_result_is_said_to_be_unknown(tmp_path: Path) -> None:
    at = next(n for n, each in enumerate(EVENTS) if each["type"] == "tool/result")
    done, read = repair(tmp_path, b"".join([*WHOLE[: at + 1], *WHOLE[at + 2 :]]))
    assert (done.added, done.dropped) == (1, 0)
    lost = next(each for each in read.events if "error" in each["data"])
    assert lost["data"]["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"
    call = read.events[lost["sourceEventSeqs"][0]]
    assert call["data"]["callId"] == lost["data"]["message"]["source"]["callId"]


def test_references_follow_their_events(tmp_path: Path) -> None:
    _, read = repair(tmp_path, b"".join([*WHOLE[:2], *WHOLE[3:]]))
    first = next(each for each in read.events if each["type"] == "session/title")
    (asked,) = first["data"]["messageSeqs"]
    assert read.events[asked]["type"] == "user/message"
    for each in read.events:
        if each["type"] == "assistant/message":
            parts = [read.events[seq]["data"]["chunk"]["text"] for seq in each["sourceEventSeqs"]]
            assert "".join(parts) == each["data"]["message"]["content"][0]["text"]


def test_lines_that_come_again_are_left_out(tmp_path: Path) -> None:
    done, read = repair(tmp_path, b"".join([*WHOLE[:20], *WHOLE[12:]]))
    assert read.events == EVENTS
    assert done.repeated == 8


def test_a_lost_header_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "s-9"
    folder.mkdir()
    done, read = repair(folder, b"".join([b"\0\0\0\n", *WHOLE[1:]]))
    assert done.header
    assert read.header is not None
    assert (read.header.id, read.header.created_at) == ("s-9", 1000)
    assert read.events == EVENTS


def test_header_faults_are_mended(tmp_path: Path) -> None:
    header = {**HEADER, "cwd": "here", "sandboxMode": "x", "createdAt": "now", "more": 1}
    del header["delegationDepth"]
    done, read = repair(tmp_path, b"".join([line(header), *WHOLE[1:]]))
    assert done.header
    assert read.header is not None
    assert read.header.raw["more"] == 1


@pytest.mark.parametrize("kind", ["turn/start", "turn/end", "step/start", "step/end"])
def test_a_mended_log_nests_its_turns_and_steps(tmp_path: Path, kind: str) -> None:
    for at, each in enumerate(EVENTS[:-1]):
        if each["type"] != kind:
            continue
        done, read = repair(tmp_path, b"".join([*WHOLE[: at + 1], b"{\n", *WHOLE[at + 2 :]]))
        assert done.added == 1
        kinds = [event["type"] for event in read.events]
        wanted = [event["type"] for event in EVENTS]
        assert sorted(kinds) == sorted(wanted)
        new = next(event for event in read.events if event["type"] == kind)
        assert {"turn", *(["step"] if "step" in kind else [])} <= new["data"].keys()


def test_calls_whose_message_is_lost_are_asked_for_again(tmp_path: Path) -> None:
    at = next(n for n, each in enumerate(EVENTS) if each["type"] == "assistant/message")
    done, read = repair(tmp_path, b"".join([*WHOLE[: at + 1], b"{\n", *WHOLE[at + 2 :]]))
    assert (done.added, done.dropped) == (1, 0)
    made = next(each for each in read.events if each["type"] == "assistant/message")
    blocks = made["data"]["message"]["content"]
    assert [block["id"] for block in blocks] == ["c1-0", "c1-1"]


def test_what_was_never_put_into_the_inbox_is_not_taken_out(tmp_path: Path) -> None:
    message = {"id": "m", "role": "user", "content": [], "source": {"kind": "user"}}
    put = {"target": "next-turn", "start": 0, "inserted": [message]}
    take = {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []}
    stored = [event("agent/inbox/spliced", 0, put), event("agent/inbox/spliced", 1, take)]
    whole = [line(each) for each in [*stored, *turn(1, 2)]]
    done, read = repair(tmp_path, b"".join([line(HEADER), *whole]))
    assert done.kept == 7
    done, read = repair(tmp_path, b"".join([line(HEADER), b"{\n", *whole[1:]]))
    assert done.dropped == 1
    assert [each["type"] for each in read.events] == [each["type"] for each in turn(1, 0)]


def test_a_message_that_still_waits_when_it_is_said_is_taken_out(tmp_path: Path) -> None:
    (said,) = [each for each in turn(1, 0) if each["type"] == "user/message"]
    put = {"target": "next-turn", "start": 0, "inserted": [said["data"]]}
    take = {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []}
    stored = [event("agent/inbox/spliced", 0, put), event("agent/inbox/spliced", 1, take)]
    whole = [line(each) for each in [*stored, *turn(1, 2)]]
    done, read = repair(tmp_path, b"".join([line(HEADER), whole[0], b"{\n", *whole[2:]]))
    assert done.added == 1
    (added,) = [each for each in read.events[1:] if each["type"] == "agent/inbox/spliced"]
    assert added["data"] == take


def test_a_title_whose_message_is_lost_stays(tmp_path: Path) -> None:
    at = next(n for n, each in enumerate(EVENTS) if each["type"] == "user/message")
    _, read = repair(tmp_path, b"".join([*WHOLE[: at + 1], b"{\n", *WHOLE[at + 2 :]]))
    title = next(each for each in read.events if each["type"] == "session/title")
    assert (title["data"]["messageSeqs"], title["data"]["source"]) == ([], {"kind": "user"})


def test_unknown_types_become_ignorable(tmp_path: Path) -> None:
    events = [*turn(1, 0), event("new/thing", 5, {"a": 1})]
    done, read = repair(tmp_path, b"".join([line(HEADER), *map(line, events)]))
    assert done.marked == 1
    assert read.events[5]["ignorable"] is True


def test_separators_are_escaped(tmp_path: Path) -> None:
    events = turn(1, 0, "a\u2028b")
    _, read = repair(tmp_path, b"".join([line(HEADER), *map(line, events)]))
    assert read.events == events


def test_compressed_logs_are_repaired_to_either_kind(tmp_path: Path) -> None:
    data = zstd_frames([WHOLE[0], b"".join(WHOLE[1:9]), b"".join(WHOLE[9:])])[:-30]
    _, read = repair(tmp_path, data, "session.jsonl.zstd")
    assert read.events == EVENTS[: len(read.events)]
    out = tmp_path / "again.jsonl.zstd"
    repair_log(tmp_path / "session.jsonl.zstd", out)
    assert out.read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert check_log(out).findings == []


@pytest.mark.parametrize(
    "log", sorted((DATA / "sessions").glob("*.session*")), ids=lambda p: p.name
)
def test_real_logs_lose_nothing_but_the_hit_event(log: Path, tmp_path: Path) -> None:
    before = read_transcript(log)
    done = repair_log(log, tmp_path / "copy.jsonl")
    assert read_transcript(tmp_path / "copy.jsonl").events == before.events
    assert done.kept == len(before.events)


def test_refusals_write_nothing(tmp_path: Path) -> None:
    path, out = tmp_path / "session.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(b"nothing\nat all\n")
    with pytest.raises(SessionUnreadableError):
        repair_log(path, out)
    write(path, turn(1, 0), {**HEADER, "version": 9})
    with pytest.raises(SessionUnreadableError, match="newer"):
        repair_log(path, out)
    assert not out.exists()
    write(path, turn(1, 0))
    with pytest.raises(WriteFailedError):
        repair_log(path, tmp_path / "no" / "folder.jsonl")
    with pytest.raises(OutputExistsError):
        repair_log(path, path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["session.jsonl"]


# --- any damage --------------------------------------------------------------------------------


def damage(lines: list[bytes], dice: random.Random) -> tuple[bytes, set[int]]:
    """Hurt a log in one to four ways; give the text and the lines that were not hit."""
    lines = list(lines)
    hit: set[int] = set()
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(1, len(lines))
        if at in hit:
            continue
        hit.add(at)
        part = lines[at]
        cut = dice.randrange(len(part) - 1)
        lines[at] = dice.choice(
            [
                b"",
                part[:cut],
                part[:cut] + b"\n",
                part[:-1],
                b"\0" * 64 + part,
                part[:cut] + b"\0" * 8 + part[cut:],
                b"\0" * (len(part) - 1) + b"\n",
                part[:cut] + b"\xff" + part[cut + 1 :],
                part[cut:],
                part + part,
                b"{}\n",
                b"\n" + part,
            ]
        )
    return b"".join(lines), set(range(1, len(lines))) - hit


def essence(each: dict[str, Any]) -> str:
    """An event without what renumbering changes."""
    changing = ("messageSeqs", "source") if each["type"] == "session/title" else ()
    data = {k: v for k, v in each["data"].items() if k not in changing}
    return repr((each["type"], each["time"], data))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_any_damage_is_repaired_and_costs_only_what_was_hit(seed: int) -> None:
    data, whole = damage(WHOLE, random.Random(seed))
    with TemporaryDirectory() as folder:
        _, read = repair(Path(folder), data)
    kept = Counter(map(essence, read.events))
    lost_calls = {
        EVENTS[at - 1]["data"]["callId"]
        for at in set(range(1, len(WHOLE))) - whole
        if EVENTS[at - 1]["type"] == "tool/call"
    }
    for at in whole:
        each = EVENTS[at - 1]
        if each["type"] == "tool/result" and answered_call(each["data"]) in lost_calls:
            continue
        assert kept[essence(each)] >= 1, each
    assert [each["seq"] for each in read.events] == list(range(len(read.events)))
