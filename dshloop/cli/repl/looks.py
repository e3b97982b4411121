"""The commands that look at a conversation or work on its text: recalled, folded, compacted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dshloop.cli.repl.editor import edited
from dshloop.cli.repl.words import count_of
from dshloop.errors import UsageError
from dshloop.host.abort import AbortSignal
from dshloop.runs.watching.recalled import Recalled, memory_state, recalled_in

if TYPE_CHECKING:
    from dshloop.cli.repl.talk import Talk


async def show(talk: Talk, words: str) -> None:
    """Unfold one line, or all of the last turn."""
    count, number = len(talk.screen.folds), count_of(words)
    if words and (number is None or number > count):
        known = f"1 to {count}" if count else "nothing is folded yet"
        raise UsageError(f'there is no folded line "{words}" ({known})', hint="/show 1")
    talk.screen.unfold(number)


async def memory(talk: Talk, words: str) -> None:
    """Show what memory put before the model in this session, and why."""
    found = recalled_in(talk.conversation)
    for each in found:
        talk.screen.line(f"turn {each.turn}: {each.label}")
        talk.screen.write(_why(each))
        talk.screen.line("\n".join(f"  {line}" for line in each.text.split("\n")), "dim")
    if not found:
        talk.screen.notice("nothing was recalled in this session")
    talk.screen.notice(memory_state(talk.options.rows))


def _why(recalled: Recalled) -> str:
    """Lay out the question that memory was asked, and its hits with their reasons."""
    if recalled.why is None:
        return "  why: only who recalled it knows, and not any more\n"
    from dshloop.cli.memory.view import Form, hits_view
    from dshloop.terminal import one_line

    why = recalled.why
    asked = f"asked in project {why.project or 'any'}: {one_line(why.query, 200)}"
    lines = [asked, *hits_view(why.hits, Form("text", False, False), why=True).split("\n")]
    return "".join(f"  {line}\n" for line in lines)


async def compact(talk: Talk, words: str) -> None:
    """Put a summary in the place of the history."""
    signal = AbortSignal()
    async with talk.working(lambda cause: signal.abort(cause)):
        said = await talk.conversation.compact(signal)
    talk.screen.notice(said)


async def edit(talk: Talk, words: str) -> None:
    """Have the person write in their editor, and say that."""
    editing = asyncio.ensure_future(edited(words, talk.env.variables, talk.remember))
    with talk.lent(lambda _cause: editing.cancel()):
        await asyncio.wait([editing])
    if editing.cancelled():
        return
    text = editing.result()
    if not text.strip():
        talk.screen.notice("an empty text: nothing is said")
        return
    talk.remember(text)
    talk.screen.write(f"> {text}\n")
    await talk.answer(text)
