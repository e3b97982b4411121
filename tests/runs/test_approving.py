"""What a person is asked before a call runs."""

from __future__ import annotations

import asyncio
from typing import Any

from dshloop.host.tools import Execution
from dshloop.runs.approving import PersonAsked


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
