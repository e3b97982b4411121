"""A conversation given out: as a file, as text, as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.repl.talking import script, talk

OURS = script("An answer.", '"A \\u0085 second \\u2028 answer \\e[2J."')


def document(out: str) -> Any:
    """Give the JSON document that was printed."""
    start = out.index("\n{") + 1
    return json.JSONDecoder().raw_decode(out[start:])[0]


def test_json_is_the_last_turn_or_as_many_as_asked_for() -> None:
    for words, turns in (("", [2]), (" 1", [2]), (" 2", [1, 2]), (" all", [1, 2])):
        _, out = talk(f"one\rtwo\r/json{words}\r\x04", script=OURS)
        printed = document(out)
        starts = [one["data"]["turn"] for one in printed["events"] if one["type"] == "turn/start"]
        assert starts == turns
    answers = [one["data"] for one in printed["events"] if one["type"] == "assistant/message"]
    assert answers[-1]["message"]["content"][0]["text"] == "A \x85 second \u2028 answer \x1b[2J."
    assert not {"\x85", "\u2028", "\x1b"} & set(out)


def test_export_prints_a_page_or_writes_one(tmp_path: Path) -> None:
    keys = "one\r/export\r/export html page\r/export talk.jsonl\r\x04"
    left, out = talk(keys, script=OURS, cwd=tmp_path)
    assert "**Assistant** (fake)\n\nAn answer.\n" in out
    assert (tmp_path / "page").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"[wrote {tmp_path / 'page'}]\n" in out
    first = (tmp_path / "talk.jsonl").read_text(encoding="utf-8").split("\n")[0]
    assert json.loads(first)["id"] == left.id


def test_save_writes_what_the_name_asks_for_and_never_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("mine", encoding="utf-8")
    names = ("talk.md", "talk.json", "talk.HTML", "talk", "there.md")
    keys = "".join(f"/save {name}\r" for name in names)
    _, out = talk(f"one\r{keys}/save\r/save no/such/talk.md\r\x04", script=OURS, cwd=tmp_path)
    assert (tmp_path / "talk.md").read_text(encoding="utf-8").startswith("# one\n")
    assert json.loads((tmp_path / "talk.json").read_text(encoding="utf-8"))["counts"]["turns"] == 1
    assert "<html" in (tmp_path / "talk.HTML").read_text(encoding="utf-8")
    assert (tmp_path / "talk").read_text(encoding="utf-8").startswith("# one\n")
    assert (tmp_path / "there.md").read_text(encoding="utf-8") == "mine"
    for code in ("OUTPUT_EXISTS", "USAGE", "WRITE_FAILED"):
        assert f"({code})" in out


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_name_may_be_quoted(tmp_path: Path, quote: str) -> None:
    keys = f"hello\r/save {quote}a b.md{quote}\r/export json {quote}c d{quote}\r/save '\r\x04"
    talk(keys, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["'", "a b.md", "c d"]


def test_before_anything_was_said_there_is_nothing_to_give(tmp_path: Path) -> None:
    _, out = talk("/save a.md\r/export\r/json\r/json some\r\x04", cwd=tmp_path)
    assert out.count("nothing was said yet (SESSION_NOT_FOUND)") == 3
    assert "/json takes a number of turns or all" in out
    assert not any(tmp_path.iterdir())
