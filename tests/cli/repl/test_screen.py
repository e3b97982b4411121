"""What is written above the prompt: styles, folds, the spinner, a terminal that goes away."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Mapping
from pathlib import Path

from dshloop.cli.repl.screen import Screen
from dshloop.environment import Environment
from dshloop.runs.watching.telling import Told
from tests.running import Terminal


def screen(
    out: io.StringIO, *, color: bool = False, variables: Mapping[str, str] | None = None
) -> Screen:
    named = {**os.environ, **(variables or {})}
    return Screen(Environment(io.StringIO(), out, out, named, Path("/")), color=color)


def test_lines_begin_at_the_left_whatever_was_under_way() -> None:
    out = io.StringIO()
    shown = screen(out)
    shown.tell(Told("text", "An answ"))
    shown.notice("busy\x1b[2J")
    shown.tell(Told("text", "An answer.\n"))
    shown.failure("no key (AUTH)", "Set one.\nLike this.")
    assert out.getvalue() == (
        "An answ\n[busy\\x1b[2J]\nAn answer.\nerror: no key (AUTH)\n  Set one.\n  Like this.\n"
    )


def test_styles_are_for_terminals_that_want_them() -> None:
    out = io.StringIO()
    shown = screen(out, color=True)
    shown.tell(Told("fold", "read a → done", "all"))
    shown.tell(Told("failure", "no", failed=True))
    shown.tell(Told("text", "plain\n"))
    assert out.getvalue() == (
        "\x1b[2m· read a → done [1]\x1b[0m\n\x1b[31merror: no\x1b[0m\nplain\n"
    )


def test_added_context_is_a_block_with_its_beginning_and_unfolds() -> None:
    out = io.StringIO()
    shown = screen(out)
    body = "\n".join(f"line {number}" for number in range(9))
    shown.tell(Told("context", "context added by plugin p recall", body))
    first = out.getvalue()
    assert first.startswith("[context added by plugin p recall] [1]\n  line 0\n")
    assert first.endswith("  line 5\n  … 3 more lines\n")
    shown.unfold(1)
    assert "  line 8\n" in out.getvalue()
    shown.begin_turn()
    shown.unfold()
    assert out.getvalue().endswith("[nothing is folded in the last turn]\n")


def test_the_spinner_says_what_is_waited_for_and_goes_before_anything_else() -> None:
    out = Terminal()
    shown = screen(out, variables={"COLUMNS": "40"})

    async def work() -> None:
        async with shown.working():
            shown.tell(Told("busy", "waiting for m"))
            await asyncio.sleep(0.05)
            shown.tell(Told("busy", "thinking"))
            shown.tell(Told("thought", "first 考え " * 20))
            await asyncio.sleep(0.15)
            shown.tell(Told("text", "An"))
            await asyncio.sleep(0.15)
            shown.tell(Told("text", "swer."))

    asyncio.run(work())
    drawn = out.getvalue()
    assert " waiting for m" in drawn
    thinking = [piece for piece in drawn.split("\r\x1b[K") if " thinking: " in piece]
    assert thinking
    assert all("考え" in piece for piece in thinking)
    assert drawn.endswith("\r\x1b[KAnswer.\n")


def test_a_spinner_leaves_nothing_behind() -> None:
    out = Terminal()
    shown = screen(out)

    async def work() -> None:
        async with shown.working():
            await asyncio.sleep(0.05)
            with shown.held():
                assert out.getvalue().endswith("\r\x1b[K")
            await asyncio.sleep(0.15)

    asyncio.run(work())
    assert out.getvalue().endswith("\r\x1b[K")
    assert out.getvalue().count("waiting") >= 2


def test_without_a_terminal_or_on_a_dumb_one_nothing_spins() -> None:
    for out, variables in ((io.StringIO(), {}), (Terminal(), {"TERM": "dumb"})):
        shown = screen(out, variables=variables)

        async def work(shown: Screen = shown) -> None:
            async with shown.working():
                await asyncio.sleep(0.15)
                shown.tell(Told("text", "Answer."))

        asyncio.run(work())
        assert out.getvalue() == "Answer.\n"


def test_what_is_told_while_a_question_has_the_screen_comes_after_it() -> None:
    out = Terminal()
    shown = screen(out)

    async def work() -> None:
        async with shown.working():
            with shown.held():
                before = out.getvalue()
                shown.tell(Told("fold", "read a → done", "all"))
                await asyncio.sleep(0.15)
                assert out.getvalue() == before
            assert "· read a → done [1]\n" in out.getvalue()

    asyncio.run(work())


class Gone(Terminal):
    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_is_gone_ends_no_turn() -> None:
    shown = screen(Gone())
    shown.tell(Told("text", "An answer."))
    shown.notice("told")
    assert shown.gone


def test_another_locale_gets_a_spinner_it_can_show() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace")
    out.isatty = lambda: True  # type: ignore[method-assign]
    shown = Screen(Environment(io.StringIO(), out, out, {}, Path("/")), color=False)

    async def work() -> None:
        async with shown.working():
            await asyncio.sleep(0.05)

    asyncio.run(work())
    drawn = raw.getvalue()
    assert b" waiting" in drawn
    assert b"\\u28" not in drawn
