"""`dshloop session fsck` and `repair` on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.running import dshloop
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, line, turn, write


def stored(home: Path, name: str = "s-1", kind: str = "data") -> Path:
    folder = home / kind / "sessions" / "--home-dev--" / name
    folder.mkdir(parents=True)
    return write(folder / "session.jsonl", conversation(2), {**HEADER, "id": name})


def test_a_sound_log_is_exit_0_by_id_prefix_and_file(isolated: Path) -> None:
    path = stored(isolated, "session-abc", "dsh")
    for name in ("session-abc", "abc", str(path), str(path.parent)):
        ran = dshloop("session", "fsck", name, "--json")
        assert (ran.code, ran.json["sound"], ran.json["id"]) == (0, True, "session-abc")


def test_damage_is_exit_1_with_line_byte_and_seq(isolated: Path) -> None:
    path = stored(isolated)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    ran = dshloop("session", "fsck", "s-1", "--json")
    assert ran.code == 1
    (finding,) = ran.json["findings"]
    assert finding["code"] == "TORN_TAIL"
    assert {"line", "byte", "seq"} <= finding.keys()
    assert ran.json["counts"] == {"TORN_TAIL": 1}
    text = dshloop("session", "fsck", "s-1")
    assert "TORN_TAIL  (line" in text.out
    assert "damaged: " in text.out


def test_damage_is_shown_listed_and_exported_with_a_warning(isolated: Path) -> None:
    path = write(stored(isolated), [*turn(1, 0, "before"), *turn(2, 7, "after")])
    for words in (("show", "s-1"), ("list", "--all")):
        ran = dshloop("session", *words)
        assert ran.code == 0
        assert "warning: " in ran.err
    assert "after" in dshloop("session", "show", str(path)).out


def test_all_sessions_are_checked_and_what_lies_among_them(isolated: Path) -> None:
    stored(isolated)
    stored(isolated, "session-x", "dsh")
    ran = dshloop("session", "fsck", "--all", "--json")
    assert (ran.code, ran.json["sessions"], ran.json["damaged"]) == (0, 2, [])
    (isolated / "dsh" / "sessions" / "backup.zip").touch()
    ran = dshloop("session", "fsck", "--all", "--json")
    assert (ran.code, ran.json["sound"]) == (1, False)
    assert [each["code"] for each in ran.json["stray"]] == ["FOREIGN_FILE"]


def test_one_session_or_all_must_be_named(isolated: Path) -> None:
    assert dshloop("session", "fsck").code == 2
    assert dshloop("session", "fsck", "x", "--all").code == 2
    assert dshloop("session", "fsck", "x").code == 3


def test_a_repaired_copy_is_sound_and_the_original_as_it_was(
    isolated: Path, tmp_path: Path
) -> None:
    path = stored(isolated)
    lines = path.read_bytes().splitlines(keepends=True)
    data = b"".join([*lines[:4], b"\0" * 10 + lines[4], lines[5][:9] + b"\n", *lines[6:-1]])
    path.write_bytes(data + lines[-1][:30])
    before = path.read_bytes()
    ran = dshloop("session", "repair", "s-1", "--out", "mended.jsonl", "--json", cwd=tmp_path)
    assert ran.code == 0
    assert (ran.json["mended"], ran.json["lost"]) == (1, 2)
    assert path.read_bytes() == before
    assert dshloop("session", "fsck", str(tmp_path / "mended.jsonl")).code == 0
    again = dshloop("session", "repair", "s-1", "--out", "mended.jsonl", "--json", cwd=tmp_path)
    assert (again.code, again.error["code"]) == (4, "OUTPUT_EXISTS")
    text = dshloop("session", "repair", "s-1", "--out", "other.jsonl", cwd=tmp_path).out
    assert "damaged lines that gave events: 1" in text


def test_no_copy_is_put_among_the_sessions(isolated: Path) -> None:
    path = stored(isolated)
    out = str(path.with_name("mended.jsonl"))
    ran = dshloop("session", "repair", "s-1", "--out", out, "--json")
    assert (ran.code, ran.error["code"]) == (4, "OUTPUT_REFUSED")
    assert [each.name for each in path.parent.iterdir()] == ["session.jsonl"]


def test_any_other_file_is_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "claude.jsonl"
    path.write_bytes(line({"role": "user"}))
    ran = dshloop("session", "fsck", str(path), "--json")
    assert (ran.code, ran.json["counts"]) == (1, {"NO_HEADER": 1})
