"""Sessions shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import SessionNotFoundError, SessionUnreadableError
from dshloop.paths import Places
from dshloop.runs.kept.show import show_session
from tests.transcripts.logs import HEADER, event, turn, write

CWD = Path("/home/dev")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def shown(path: Path, events: list[dict[str, Any]]) -> str:
    write(path, events)
    return show_session(Places(path, path, path), str(path), CWD).text()


def test_a_file_a_folder_and_an_id_show_the_same(places: Places, tmp_path: Path) -> None:
    folder = places.sessions / "--home-dev--" / "s-1"
    folder.mkdir(parents=True)
    path = write(folder / "session.jsonl", turn(1, 0))
    by_id = show_session(places, "s-1", CWD).as_json()
    assert show_session(places, str(path), CWD).as_json() == by_id
    assert show_session(places, str(folder), CWD).as_json() == by_id
    assert show_session(places, "s-1/session.jsonl", folder.parent).as_json() == by_id
    assert by_id["counts"]["turns"] == 1
    assert len(by_id["events"]) == 5


def test_words_context_and_answers_are_told_apart(tmp_path: Path) -> None:
    events = turn(1, 0, "my words")
    injected = {"content": [{"type": "text", "text": "you: not my words"}]}
    source = {"kind": "plugin", "plugin": "memory", "form": "recall"}
    events.insert(3, event("user/message", 3, {**injected, "source": source}, surfaceOp="append"))
    content = [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "an answer"},
        {"type": "image"},
    ]
    message = {"content": content, "source": {"kind": "model", "model": "m"}}
    data = {"turn": 1, "step": 1, "message": message, "interrupted": True}
    events.insert(4, event("assistant/message", 4, data, surfaceOp="append"))
    text = shown(tmp_path / "session.jsonl", [{**e, "seq": n} for n, e in enumerate(events)])
    assert "\n\nyou: my words\n\n" in text
    assert "[context added by plugin memory recall]\n  you: not my words" in text
    assert "assistant (m): [thinking] hm\nan answer\n[image] [interrupted]" in text


def test_ends_that_are_not_completion_are_said(tmp_path: Path) -> None:
    events = turn(1, 0)
    reason = {"kind": "error", "error": {"message": "no key", "code": "AUTH"}}
    events[4]["data"]["reason"] = reason
    assert "(turn 1 ended: error: no key (AUTH))" in shown(tmp_path / "session.jsonl", events)
    assert "left open" in shown(tmp_path / "session.jsonl", events[:3])


def test_events_of_odd_shapes_are_survived(tmp_path: Path) -> None:
    odd = [
        event("user/message", 0, "text", surfaceOp="append"),
        event("assistant/message", 1, {"message": None}, surfaceOp="append"),
        event(
            "user/message", 2, {"content": [5, {"type": "text"}], "source": 7}, surfaceOp="append"
        ),
        event("turn/end", 3, {"turn": 1}),
    ]
    assert "context added by ?" in shown(tmp_path / "session.jsonl", odd)


def test_what_is_whole_is_shown_around_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [*turn(1, 0, "before"), *turn(2, 7, "after")])
    found = show_session(Places(path, path, path), str(path), CWD)
    text = found.text()
    assert text.index("before") < text.index("behind the damage") < text.index("after")
    assert [finding["code"] for finding in found.as_json()["findings"]] == ["SEQ_GAP", "CORRUPT"]


def test_what_is_not_there_is_not_found(places: Places, tmp_path: Path) -> None:
    for name in ("nope", "./nope.jsonl", str(tmp_path)):
        with pytest.raises(SessionNotFoundError):
            show_session(places, name, CWD)


def test_a_file_without_anything_whole_is_unreadable(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\x00\x01\x02")
    with pytest.raises(SessionUnreadableError):
        show_session(places, str(path), CWD)


def test_the_header_is_kept_as_it_stands(places: Places, tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [], {**HEADER, "more": [1]})
    assert show_session(places, str(path), CWD).as_json()["header"]["more"] == [1]


def test_an_image_is_shown_by_its_name(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "look"},
        {"type": "image", "attachment": {"attachmentId": "sha256-0", "name": "a.png"}},
    ]
    said = {"id": "m", "role": "user", "content": content, "source": {"kind": "user"}}
    text = shown(tmp_path / "log.jsonl", [event("user/message", 0, said)])
    assert text.endswith("you: look\n[image: a.png]")
