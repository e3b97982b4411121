"""The text a person reads."""

from __future__ import annotations

from typing import Any

from dshloop.runs.watching.reply import Reply, failure_of, failure_text, retry_text


def read(*events: tuple[str, Any]) -> str:
    reply = Reply()
    texts = (reply.text_of({"type": kind, "data": data}) for kind, data in events)
    return "".join(text or "" for text in texts)


def delta(text: str) -> tuple[str, Any]:
    return "assistant/chunk", {"chunk": {"type": "text-delta", "index": 0, "text": text}}


def message(text: str) -> tuple[str, Any]:
    content = [{"type": "text", "text": text}]
    return "assistant/message", {"message": {"content": content}}


END = ("step/end", {"turn": 1, "step": 1})


def test_streamed_text_is_not_repeated_and_ends_its_line() -> None:
    assert read(delta("he"), delta("y"), message("hey"), END) == "hey\n"
    assert read(delta("hey\n"), message("hey\n"), END) == "hey\n"


def test_a_message_that_was_not_streamed_is_shown() -> None:
    assert read(message("hey"), END) == "hey\n"
    assert read(message("hey\n"), END) == "hey\n"
    assert read(message(""), END) == ""


def test_a_line_end_that_comes_in_two_pieces_is_one() -> None:
    pieces = [delta(piece) for piece in ("one\r", "\ntwo", "\r", "\rthree\r")]
    assert read(*pieces, message(""), END) == "one\r\ntwo\r\rthree\n"
    reply = Reply()
    kind, data = delta("one\r")
    assert reply.text_of({"type": kind, "data": data}) == "one"


def test_what_was_cut_off_ends_its_line_too() -> None:
    assert read(delta("ha"), END, message("whole"), END) == "ha\nwhole\n"


def test_an_answer_that_is_asked_for_again_begins_on_a_line_of_its_own() -> None:
    again = ("llm/retry", {"retry": 1})
    assert read(delta("ha"), again, delta("hal"), delta("lo"), message("hallo")) == "ha\nhallo\n"


def test_thinking_and_tools_are_not_the_reply() -> None:
    thought = {"chunk": {"type": "reasoning-delta", "index": 0, "text": "hm"}}
    assert read(("assistant/chunk", thought), ("tool/call", {}), END) == ""


def test_what_a_failed_attempt_said_stands_apart() -> None:
    retry = ("llm/retry", {"failure": {"message": "cut", "code": "TRANSPORT"}})
    assert read(delta("gone"), retry, delta("Back."), message("Back."), END) == "gone\nBack.\n"
    assert read(retry, delta("Back."), message("Back."), END) == "Back.\n"
    reply = Reply()
    told = []
    for kind, data in (retry, delta("gone"), retry, retry):
        reply.text_of({"type": kind, "data": data})
        told.append(reply.notice_of({"type": kind, "data": data}))
    assert told == [
        "no answer (cut); it is asked for again",
        None,
        "that answer broke off and doesn't count (cut); it is asked for again",
        "no answer (cut); it is asked for again",
    ]


def test_a_retry_says_when_and_which_one_it_is() -> None:
    whole = {"failure": {"message": "busy"}, "retry": 2, "maxRetries": 5, "delayMs": 1049.0}
    assert retry_text(whole) == "no answer (busy); it is asked for again in 1.0 s, try 2 of 5"
    assert retry_text({"mode": "always", "retry": 9, "delayMs": 0}) == (
        "no answer (no reason is known); it is asked for again in 0.0 s"
    )


def test_who_aborted_a_turn_is_its_failure_unless_a_person_did() -> None:
    def aborted(**cause: str) -> Any:
        return failure_of({"kind": "aborted", "reason": cause})

    assert aborted(kind="user") is None
    assert aborted(kind="hook", reason="too long") == {"message": "too long", "code": "ABORTED"}
    assert aborted(kind="disposed")["message"] == "the turn was aborted: disposed"
    assert failure_of({"kind": "error", "error": {"message": "no"}}) == {"message": "no"}
    assert failure_of({"kind": "completed"}) is None


def test_failures_in_one_line() -> None:
    assert failure_text({"message": "no", "code": "AUTH"}) == "no (AUTH)"
    assert failure_text(None) == "the turn failed"
