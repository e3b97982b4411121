"""Scripts of the fake driver: read with file and line, followed the same way each time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.drivers.script import Call, Failure, Reply, Script, parse_script
from dshloop.drivers.scripted import ScriptedAdapter, requests_in
from dshloop.errors import ScriptInvalidError
from dshloop.llm.messages import ModelRequest
from tests.running import Ran, dshloop

WHOLE = """\
seed: 7
after: last
turns:
  - Hello.
  - {reasoning: Let me see., text: Here., delay: 0.5, pace: [0, 0.1], usage: {input: 3, output: 4}}
  - steps:
      - calls:
          - {name: read, arguments: {path: a}}
          - {name: read, arguments: '{broken'}
      - Done.
  - {error: {message: busy, code: RATE_LIMIT, times: 2, retry-after: 5}, text: At last.}
  - {text: Too lo, end: max-tokens}
"""


def test_everything_it_may_say_is_read() -> None:
    assert parse_script(WHOLE) == Script(
        (
            Reply("Hello."),
            Reply(
                "Here.",
                "Let me see.",
                delay=(0.5, 0.5),
                pace=(0, 0.1),
                input_tokens=3,
                output_tokens=4,
            ),
            Reply(calls=(Call("read", '{"path": "a"}'), Call("read", "{broken")), end="tool-calls"),
            Reply("Done."),
            Reply("At last.", failure=Failure("busy", "RATE_LIMIT", 2, 5)),
            Reply("Too lo", end="max-tokens"),
        ),
        seed=7,
        after="last",
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("{}", 1, "a script needs turns"),
        ("turns: []", 1, "a script needs turns"),
        ("truns: [a]", 1, 'Did you mean "turns"?'),
        ("turns:\n  - a\n  - {txet: a}\n", 3, 'Did you mean "text"?'),
        ("turns:\n  - {}\n", 2, "turns[0] says nothing"),
        ("turns:\n  - 5\n", 2, "turns[0] must be a mapping"),
        ("turns:\n  - {text: a, end: later}\n", 2, "end must be one of"),
        ("turns:\n  - {text: a, delay: [2, 1]}\n", 2, "delay must be a number of seconds"),
        ("turns:\n  - {text: a, pace: -1}\n", 2, "pace must be a number of seconds"),
        ("turns:\n  - {calls: [{arguments: {}}]}\n", 2, "calls[0] needs a name"),
        ("turns:\n  - {calls: [{name: a, arguments: 5}]}\n", 2, "arguments must be a mapping"),
        ("turns:\n  - {error: {code: A}}\n", 2, "error needs a message"),
        ("turns:\n  - {error: {message: a, times: 0}}\n", 2, "times must be a whole number"),
        ("seed: -1\nturns: [a]\n", 1, "seed must be a whole number >= 0"),
        ("after: never\nturns: [a]\n", 1, "after must be one of"),
        ("turns: {a: ]", 1, ""),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ScriptInvalidError) as caught:
        parse_script(text, "s.yml")
    assert caught.value.details["line"] == line
    assert said in f"{caught.value.message} {caught.value.hint}"


def chunks(adapter: ScriptedAdapter, session: str = "s") -> list[dict[str, Any]]:
    async def take() -> list[dict[str, Any]]:
        request = ModelRequest("driver-ping", "fake", session_id=session)
        return [chunk async for chunk in adapter.stream(request)]

    return asyncio.run(take())


def text_of(found: list[dict[str, Any]]) -> str:
    return "".join(chunk["text"] for chunk in found if chunk["type"] == "text-delta")


@given(st.text(min_size=1, max_size=80), st.integers(0, 99))
def test_the_pieces_are_the_text_and_the_seed_decides_them(text: str, seed: int) -> None:
    script = Script((Reply(text),), seed)
    first = chunks(ScriptedAdapter(script))
    assert text_of(first) == text
    assert first == chunks(ScriptedAdapter(script))
    assert first[-1] == {"type": "finish", "reason": {"kind": "stop"}}


def test_each_session_has_the_script_for_itself() -> None:
    adapter = ScriptedAdapter(parse_script("turns: [one, two]\n"))
    assert text_of(chunks(adapter, "a")) == "one"
    assert text_of(chunks(adapter, "b")) == "one"
    assert text_of(chunks(adapter, "a")) == "two"


@pytest.mark.parametrize(
    ("after", "said"),
    [("repeat", ["a", "b", "a"]), ("last", ["a", "b", "b"]), ("fail", ["a", "b", ""])],
)
def test_what_follows_the_last_reply(after: str, said: list[str]) -> None:
    adapter = ScriptedAdapter(parse_script(f"after: {after}\nturns: [a, b]\n"))
    found = [chunks(adapter) for _ in range(3)]
    assert [text_of(one) for one in found] == said
    if after == "fail":
        assert found[2][-1]["reason"]["failure"]["code"] == "SCRIPT_ENDED"


# --- as a run ------------------------------------------------------------------------------------


def run(tmp_path: Path, script: str, *prompts: str) -> Ran:
    file = tmp_path / "script.yml"
    file.write_text(script)
    words = ("session", "run", "--script", str(file), "--input-format", "lines", "--json")
    return dshloop(*words, stdin="".join(f"{prompt}\n" for prompt in prompts))


def events(ran: Ran, kind: str) -> list[Any]:
    found = (line["event"] for line in ran.lines if line["type"] == "event")
    return [event["data"] for event in found if event["type"] == kind]


def test_a_run_says_what_the_script_says(tmp_path: Path) -> None:
    ran = run(tmp_path, "turns:\n  - {reasoning: Hm., text: One.}\n  - Two.\n", "a", "b")
    assert ran.code == 0
    assert ran.lines[0]["driver"] == "fake-driver"
    contents = [data["message"]["content"] for data in events(ran, "assistant/message")]
    assert contents == [
        [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "One."}],
        [{"type": "text", "text": "Two."}],
    ]


@pytest.mark.parametrize(
    ("turn", "kind", "code"),
    [
        ("{text: Too lo, end: max-tokens}", "max-tokens", None),
        ("{error: {message: no, code: AUTH}}", "error", "AUTH"),
        ("{text: Some, error: no}", "error", "UNKNOWN"),
    ],
)
def test_turns_that_end_badly(tmp_path: Path, turn: str, kind: str, code: str | None) -> None:
    ran = run(tmp_path, f"turns:\n  - {turn}\n", "a")
    assert ran.code == 1
    (end,) = events(ran, "turn/end")
    assert end["reason"]["kind"] == kind
    assert end["reason"].get("error", {}).get("code") == code


def test_a_connection_that_breaks_is_made_again(tmp_path: Path) -> None:
    ran = run(tmp_path, "turns:\n  - {text: Hal, end: disconnect}\n  - Whole.\n", "a")
    assert ran.code == 0
    assert events(ran, "llm/retry")[0]["failure"]["code"] == "TRANSPORT"
    (message,) = events(ran, "assistant/message")
    assert message["message"]["content"][0]["text"] == "Whole."


def test_a_failure_for_a_time_is_tried_again(tmp_path: Path) -> None:
    script = "turns:\n  - {error: {message: busy, code: RATE_LIMIT, times: 1}, text: At last.}\n"
    ran = run(tmp_path, script, "a")
    assert ran.code == 0
    assert len(events(ran, "llm/retry")) == 1
    assert events(ran, "assistant/message")[0]["message"]["content"][0]["text"] == "At last."


def test_a_tool_call_gets_its_result_and_another_step(tmp_path: Path) -> None:
    script = (
        "turns:\n  - steps:\n      - calls: [{name: nothing, arguments: {a: 1}}]\n      - Done.\n"
    )
    ran = run(tmp_path, script, "a")
    assert ran.code == 0
    (call,) = events(ran, "tool/call")
    assert (call["name"], call["arguments"]) == ("nothing", '{"a": 1}')
    assert len(events(ran, "tool/result")) == 1
    assert len(events(ran, "step/start")) == 2


def test_a_script_is_for_the_fake_driver_and_must_be_whole(tmp_path: Path) -> None:
    ran = run(tmp_path, "turns:\n  - {txet: a}\n", "a")
    assert ran.code == 1
    assert ran.error["code"] == "SCRIPT_INVALID"
    file = str(tmp_path / "script.yml")
    assert dshloop("session", "run", "hi", "--driver", "ping", "--script", file).code == 2
    assert dshloop("session", "run", "hi", "--script", str(tmp_path / "none.yml")).code == 1


def test_a_resumed_session_goes_on_in_the_script(tmp_path: Path) -> None:
    file = tmp_path / "script.yml"
    file.write_text(
        "after: repeat\n"
        "turns:\n"
        "  - steps: [{calls: [{name: nothing}]}, One.]\n"
        "  - {error: {message: busy, code: RATE_LIMIT, times: 1}, text: Two.}\n"
        "  - {error: {message: no, code: AUTH}}\n"
        "  - Four.\n"
    )
    words = ("session", "run", "--script", str(file), "--quiet")
    first = dshloop(*words, "a", "--session-id", "s1")
    said = [first, *(dshloop(*words, "b", "--resume", "s1") for _ in range(4))]
    assert [ran.code for ran in said] == [0, 0, 1, 0, 0]
    assert [ran.out for ran in said] == ["One.\n", "Two.\n", "", "Four.\n", "One.\n"]


def test_a_script_that_is_at_its_end_stays_there(tmp_path: Path) -> None:
    file = tmp_path / "script.yml"
    file.write_text("turns: [One.]\n")
    words = ("session", "run", "--script", str(file), "--quiet")
    assert dshloop(*words, "a", "--session-id", "s1").out == "One.\n"
    for _ in range(2):
        ran = dshloop(*words, "a", "--resume", "s1")
        assert (ran.code, ran.out) == (1, "")
        assert "no reply number 2" in ran.err


def test_an_answer_that_was_cut_short_before_its_first_word_is_still_to_come() -> None:
    start, chunk, end = (
        {"type": kind, "seq": 0, "time": 0, "data": {"reason": {"kind": "aborted"}}}
        for kind in ("step/start", "assistant/chunk", "turn/end")
    )
    assert requests_in([start, chunk, chunk, end, start, end]) == 1


def test_what_was_said_before_the_connection_broke_stands_apart(tmp_path: Path) -> None:
    path = tmp_path / "script.yml"
    path.write_text("turns: [{steps: [{text: gone, end: disconnect}, Back.]}]")
    ran = dshloop("session", "run", "hi", "--script", str(path))
    assert (ran.code, ran.out) == (0, "gone\nBack.\n")
    assert "that answer broke off and doesn't count (" in ran.err
