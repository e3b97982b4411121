"""The commands that choose what answers, and those that go back: in a fork, never over a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dshloop.cli.repl import offers
from dshloop.cli.repl.words import count_of
from dshloop.errors import DshloopError, UsageError
from dshloop.llm.messages import plain_text
from dshloop.runs.talking import branching
from dshloop.runs.talking.branching import Branch, Field, PastTurn
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.watching.status import status_of
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.cli.repl.talk import Talk

_PROMPT = 60  # characters of what was said in a dropped turn


async def loop(talk: Talk, words: str) -> None:
    """Choose a loop, or tell which there are."""
    await _choose(talk, "loop", words, talk.conversation.binding.loop, offers.loops)


async def driver(talk: Talk, words: str) -> None:
    """Choose a driver, or tell which there are."""
    await _choose(talk, "driver", words, talk.conversation.binding.driver, offers.drivers)


async def preset(talk: Talk, words: str) -> None:
    """Choose a preset, or tell which there are."""
    now = talk.conversation.process.presets.composed(talk.conversation.agent)
    await _choose(talk, "preset", words, now, offers.presets)


async def model(talk: Talk, words: str) -> None:
    """Go on with another model, or tell which one answers and which are known."""
    name, *more = words.split() or [""]
    if not name:
        route = status_of(talk.conversation, talk.spent).route or "what the driver asks"
        providers = talk.conversation.process.providers
        known = () if providers is None else providers.known.items()
        listed = [f"{name}/{one}" for name, provider in known for one in provider.models]
        talk.screen.write(f"model {route}\nknown: {', '.join(listed) or 'none'}\n")
        return
    if len(more) > 1:
        said = f'/model takes a model and an effort, not "{words}"'
        raise UsageError(said, hint="/model NAME high")
    options = branching.with_model(
        talk.places, talk.options, talk.conversation, name, more[0] if more else None
    )
    await talk.reopen(options)
    talk.tell_status()


async def fork(talk: Talk, words: str) -> None:
    """Go on in a fork, on another loop, driver or preset if one is named."""
    what, _, name = words.partition(" ")
    field: Field | None = branching.read_field(what) if what else None
    if field is not None and not name.strip():
        raise UsageError(f"/fork {field} needs a name", hint=f"/{field} lists them")
    talk.require_stored()
    parent = talk.conversation.id
    options = branching.forked(
        talk.places, talk.options, talk.conversation, talk.env.clock, what=field, name=name.strip()
    )
    await _into(talk, options)
    talk.screen.notice(f"session {talk.conversation.id}, a fork of {parent}, which stays as it is")
    talk.tell_status()


async def undo(talk: Talk, words: str) -> None:
    """Go on before the last turn, or the last ones."""
    count = count_of(words or "1")
    if count is None:
        raise UsageError(f'/undo takes a number of turns, not "{words}"', hint="/undo 2")
    await _back(talk, count)


async def retry(talk: Talk, words: str) -> None:
    """Say the last prompt again, as if for the first time."""
    for turn in await _back(talk, 1):
        for message in turn.said:
            talk.screen.write(f"> {plain_text(message.get('content'))}\n")
            await talk.answer(branching.again(message))


async def _choose(
    talk: Talk, what: Field, words: str, now: str | None, known: offers.Offers
) -> None:
    name = words.strip()
    if not name:
        names = ", ".join(name for name, _ in known(talk, ""))
        talk.screen.write(f"{what} {now or 'none'}\nthere are: {names}\n")
        return
    options = branching.switched(talk.places, talk.options, talk.conversation, what, name)
    await talk.reopen(options)
    talk.tell_status()


async def _back(talk: Talk, count: int) -> Sequence[PastTurn]:
    """Go on before the last turns; gives those that were dropped."""
    branch = branching.undone(
        talk.places, talk.options, talk.conversation, count, talk.env.clock
    )  # fmt: skip
    await _into(talk, branch.options)
    talk.screen.notice(_told(branch, talk.conversation.id))
    return branch.dropped


async def _into(talk: Talk, options: RunOptions) -> None:
    """Go on in a session that was made for it; it goes again when it can't be opened."""
    try:
        await talk.reopen(options)
    except DshloopError:
        branching.discard(talk.places, options, talk.env.clock)
        raise


def _told(branch: Branch, new: str) -> str:
    dropped = "; ".join(
        f'turn {turn.number} "{one_line(plain_text(message.get("content")), _PROMPT)}"'
        for turn in branch.dropped
        for message in turn.said[:1]
    )
    if not branch.kept:
        where = f"session {new}, a new one; {branch.parent} stays as it is"
    else:
        turns = "1 turn" if branch.kept == 1 else f"{branch.kept} turns"
        where = f"session {new}, a fork of {branch.parent} behind {turns}, which stays as it is"
    return f"{where}; without {dropped}" if dropped else where
