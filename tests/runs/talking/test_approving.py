"""What a person is asked before a call runs."""

from __future__ import annotations

import asyncio
from typing import Any

from dshloop.host.tools import Execution
from dshloop.runs.talking.approving import PersonAsked


def asked(arguments: str) -> str:
    """Give the question about a call with these arguments."""
    questions: list[str] = []

    def question(text: str) -> bool:
        questions.append(text)
        return False

    agent: Any = None
    signal: Any = None
    execution = Execution(agent, "c", "shell", arguments, 1, 1, signal)
    assert asyncio.run(PersonAsked.by(question).ask(execution, "sure?")) == "rejected"
    (text,) = questions
    return text


def test_a_question_shows_the_whole_call_with_control_characters_visible() -> None:
    command = "echo " + "harmless " * 100 + "; rm -rf all"
    assert command in asked(command)
    assert "\x1b" not in asked("a\x1b[2J")


def test_what_is_too_long_to_show_is_said_and_its_end_is_shown() -> None:
    text = asked("x" * 9000 + "; rm -rf all")
    assert "[5012 MORE CHARACTERS]" in text
    assert "; rm -rf all (sure?)" in text


def test_a_question_in_the_event_loop_is_awaited_and_ends_with_its_turn() -> None:
    ended: list[str] = []

    async def question(text: str) -> bool:
        try:
            await asyncio.sleep(30 if "wait" in text else 0)
        except asyncio.CancelledError:
            ended.append(text)
            raise
        return True

    async def both() -> str:
        agent: Any = None
        signal: Any = None
        person = PersonAsked.by(question)
        waiting = Execution(agent, "c", "shell", "wait", 1, 1, signal)
        task = asyncio.ensure_future(person.ask(waiting, None))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return await person.ask(Execution(agent, "d", "shell", "go", 1, 1, signal), None)

    assert asyncio.run(both()) == "allowed-once"
    assert ended == ["Allow shell wait?"]
