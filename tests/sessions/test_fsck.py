"""Checking logs: every kind of damage is found, counted and located."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.sessions.fsck import check_log, stray_files
from tests.conformance.cases import DATA
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, event, line, turn, write, zstd_frames

WHOLE = [line(HEADER), *map(line, conversation(2))]


def found(path: Path, data: bytes) -> dict[str, int]:
    path.write_bytes(data)
    checked = check_log(path)
    assert checked.sound is not bool(checked.counts)
    return checked.counts


@pytest.mark.parametrize(
    "log", sorted((DATA / "sessions").glob("*.session*")), ids=lambda p: p.name
)
def test_real_logs_are_sound(log: Path) -> None:
    assert check_log(log).counts == {}


def test_a_whole_log_is_counted(tmp_path: Path) -> None:
    checked = check_log(write(tmp_path / "session.jsonl", conversation(3, calls=2)))
    assert checked.content == {"turns": 3, "steps": 6, "calls": 6, "results": 6}
    assert checked.events == len(conversation(3, calls=2))
    assert (checked.sound, checked.open) == (True, False)


def test_an_open_turn_is_no_damage(tmp_path: Path) -> None:
    checked = check_log(write(tmp_path / "session.jsonl", conversation(1)[:-3]))
    assert (checked.sound, checked.open) == (True, True)


def test_each_kind_of_damage_has_its_code_and_place(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    torn = b"".join(WHOLE)[:-10]
    assert found(path, torn) == {"TORN_TAIL": 1}
    (finding,) = check_log(path).findings
    assert finding.line == len(WHOLE)
    assert torn[finding.byte :] == WHOLE[-1][:-10]
    assert finding.seq == len(WHOLE) - 2
    glued = [*WHOLE[:5], WHOLE[5][:-1] + WHOLE[6], *WHOLE[7:]]
    assert found(path, b"".join(glued)) == {"GLUED": 1, "CORRUPT": 1}
    nuls = [*WHOLE[:5], b"\0" * 4096 + WHOLE[5], *WHOLE[6:]]
    assert found(path, b"".join(nuls)) == {"NUL_BYTES": 1, "CORRUPT": 1}
    gap = [*WHOLE[:8], *WHOLE[9:]]
    assert found(path, b"".join(gap)) == {"SEQ_GAP": 1, "CORRUPT": 1}
    back = [*WHOLE[:8], WHOLE[7], *WHOLE[8:]]
    assert found(path, b"".join(back)) == {"SEQ_BACK": 1, "CORRUPT": 1}


def test_line_separators_are_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", turn(1, 0, "a\u2028b\u2029c"))
    (finding,) = check_log(path).findings
    assert (finding.code, finding.line, finding.seq) == ("LINE_SEPARATOR", 4, 2)
    assert "2 times" in finding.message


def test_files_that_are_no_logs_have_findings(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    assert found(path, b'{"role": "user"}\n{"role": "assistant"}\n') == {
        "NO_HEADER": 1,
        "BAD_EVENT": 1,
    }
    assert found(path, b"") == {"NO_HEADER": 1}
    assert found(path, os.urandom(3000).replace(b"\n", b"")) == {"NO_HEADER": 1}


def test_half_a_frame_is_found(tmp_path: Path) -> None:
    whole = zstd_frames([WHOLE[0], b"".join(WHOLE[1:9]), b"".join(WHOLE[9:])])
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(whole[:-20])
    assert check_log(path).counts["TORN_FRAME"] == 1
    assert check_log(path).sound is False


def lost(kind: str, count: int = 1) -> list[bytes]:
    events = conversation(1, calls=2)
    places = [at for at, each in enumerate(events) if each["type"] == kind][:count]
    kept = [each for at, each in enumerate(events) if at not in places]
    return [line(HEADER), *(line({**each, "seq": seq}) for seq, each in enumerate(kept))]


def test_calls_and_results_belong_together(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    assert found(path, b"".join(lost("tool/call"))) == {"ORPHAN_RESULT": 1, "ORPHAN_CALL": 1}
    assert found(path, b"".join(lost("tool/result", 2))) == {"ORPHAN_CALL": 2}
    events = conversation(1)
    call = next(each for each in events if each["type"] == "tool/call")
    result = next(each for each in events if each["type"] == "tool/result")
    at = events.index(result)
    doubled = [*events[:at], call, result, result, *events[at + 1 :]]
    data = [line({**each, "seq": seq}) for seq, each in enumerate(doubled)]
    counts = found(path, b"".join([line(HEADER), *data]))
    assert counts == {"DUPLICATE_CALL": 1, "DUPLICATE_RESULT": 1}


def test_calls_of_an_answer_that_was_cut_are_none(tmp_path: Path) -> None:
    events = [each for each in conversation(1) if not each["type"].startswith("tool/")]
    events[-1]["data"]["reason"] = {"kind": "max-tokens"}
    events = [{**each, "seq": seq} for seq, each in enumerate(events)]
    assert check_log(write(tmp_path / "session.jsonl", events)).counts == {}


def test_what_lies_beside_a_stored_log_is_foreign(tmp_path: Path) -> None:
    folder = tmp_path / "--home-dev--" / "s-1"
    folder.mkdir(parents=True)
    path = write(folder / "session.jsonl", turn(1, 0))
    (folder / "session.lock").touch()
    assert check_log(path, stored=True).counts == {}
    (folder / "session.jsonl.bak").touch()
    copy = tmp_path / "--home-dev--" / "s-1 copy"
    copy.mkdir()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "--home-dev--" / "x.zip").touch()
    assert check_log(path, stored=True).counts == {"FOREIGN_FILE": 1}
    assert check_log(path).counts == {}
    copied = write(copy / "session.jsonl", turn(1, 0))
    assert check_log(copied, stored=True).counts == {"WRONG_FOLDER": 1}
    assert len(list(stray_files(tmp_path))) == 2


def test_unknown_types_and_newer_versions_are_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [event("new/thing", 0, {})])
    assert check_log(path).counts == {"UNKNOWN_TYPE": 1}
    path = write(tmp_path / "session.jsonl", turn(1, 0), {**HEADER, "version": 9})
    assert check_log(path).counts == {"VERSION": 1}
