"""Going on from an earlier point, or on something else: a fork, or anew where nothing was said."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dshloop.errors import (
    LoopSwitchError,
    ModelPinnedError,
    NoTurnError,
    SaidNowhereError,
    UsageError,
)
from dshloop.llm.messages import Message
from dshloop.loops.binding import effective_preset
from dshloop.paths import Places
from dshloop.runs.talking.conversation import Conversation, RunOptions
from dshloop.runs.talking.models import ModelAsked
from dshloop.runs.watching.status import pin_of
from dshloop.sessions.catalog import find_id
from dshloop.sessions.keeping import fork
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import uuid7
from dshloop.sessions.session import Clock
from dshloop.sessions.trash import delete
from dshloop.transcripts.vocabulary import Event

Field = Literal["loop", "driver", "preset"]


@dataclass(slots=True)
class PastTurn:
    """A turn of a session: its number, the seq of its end, and what a person said in it."""

    number: int
    end: int | None = None
    said: list[Message] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a conversation goes on: with which options, in a fork of ``parent`` or in a new session
    (``kept`` 0), without the turns that were ``dropped``."""

    options: RunOptions
    parent: str
    kept: int
    dropped: Sequence[PastTurn] = ()


def past_turns(events: Sequence[Event]) -> list[PastTurn]:
    """Find the turns of a log; what a blocked turn was asked stands only in the inbox."""
    turns: list[PastTurn] = []
    waiting: list[Message] = []
    for event in events:
        kind, data = event["type"], event["data"]
        if not isinstance(data, Mapping):
            continue
        if kind == "agent/inbox/spliced":
            waiting += _of_person(data.get("inserted"))
        elif kind == "turn/start":
            turns.append(PastTurn(_number(data)))
        elif kind == "user/message" and turns and turns[-1].end is None:
            turns[-1].said += _of_person([data])
        elif kind == "turn/end" and turns:
            turns[-1].end = event["seq"]
            turns[-1].said = turns[-1].said or waiting
            waiting = []
    return turns


def is_blank(events: Sequence[Event]) -> bool:
    """Whether nothing was said yet, so that loop, driver and preset may still be chosen."""
    return not any(event["type"] in ("turn/start", "user/message") for event in events)


def again(message: Message) -> Message:
    """Give a message to be said once more, under an id of its own."""
    return {**message, "id": str(uuid.uuid4())}


# --- the same session, reopened ------------------------------------------------------------------


def reopening(places: Places, options: RunOptions, conversation: Conversation) -> RunOptions:
    """Give options that open a conversation's session once more, stored or not."""
    known = _settled(options)
    if is_blank(conversation.agent.session.events):
        known = replace(known, attached=options.attached)
    if find_id(places, conversation.id) is None:
        return replace(known, resume=None, session_id=conversation.id)
    return replace(
        known, resume=conversation.id, session_id=None, preset=None, ours=conversation.kept
    )


def switched(
    places: Places, options: RunOptions, conversation: Conversation, what: Field, name: str
) -> RunOptions:
    """Give options that open a blank session on another loop, driver or preset.

    Raises LOOP_SWITCH when something was said in it, with the fork as the way on.
    """
    if not is_blank(conversation.agent.session.events):
        raise LoopSwitchError(
            f'session "{conversation.id}" runs on {conversation.binding}, and {what} can be chosen '
            "only before anything was said",
            hint=f"Go on in a fork of it: /fork {what} {name}",
            session=conversation.id,
            field=what,
            requested=name,
        )
    known = _on(reopening(places, options, conversation), conversation, what, name)
    return replace(known, rebind=known.resume is not None)


def with_model(
    places: Places,
    options: RunOptions,
    conversation: Conversation,
    model: str,
    effort: str | None = None,
) -> RunOptions:
    """Give options that go on with another model: NAME, or PROVIDER/NAME.

    Raises MODEL_PINNED, and SAID_NOWHERE when what was said would be lost.
    """
    session = conversation.agent.session
    if not conversation.kept and len(session.events) > session.stored:
        raise SaidNowhereError(
            f'what was said here behind session "{conversation.id}" is kept nowhere, '
            "and another model would not be told it",
            session=conversation.id,
        )
    pin, loop = pin_of(conversation)
    if pin:
        pinned = "/".join(filter(None, (pin.get("provider"), pin.get("model"))))
        raise ModelPinnedError(f'loop "{loop}" pins {pinned}', loop=loop, pin=dict(pin))
    asked = ModelAsked(None, model, options.model.max_tokens, effort or options.model.effort)
    return replace(reopening(places, options, conversation), model=asked)


def _on(options: RunOptions, conversation: Conversation, what: Field, name: str) -> RunOptions:
    """Change one of the three; the others stay, but a preset may bring a loop of its own."""
    loop, driver = options.loop, options.driver
    if options.resume is not None:
        bound = conversation.binding
        driver = driver or bound.driver
        loop = loop or (None if what == "preset" else bound.loop)
    kept: dict[str, Any] = {"loop": loop, "driver": driver}
    if what == "loop" and not options.driver:
        kept["driver"] = driver if _takes_any_driver(conversation, name) else None
    return replace(options, **{**kept, what: name})


def _takes_any_driver(conversation: Conversation, loop: str) -> bool:
    """Whether a loop runs on the driver that it is given, and names none itself."""
    found = conversation.process.dock.loops.get(loop)
    return found is not None and found.kind == "strategy" and found.driver is None


# --- forks --------------------------------------------------------------------------------------


def undone(
    places: Places, options: RunOptions, conversation: Conversation, count: int, clock: Clock
) -> Branch:
    """Fork the session before its last turns. Raises NO_TURN, and what `fork` raises."""
    turns = past_turns(conversation.agent.session.events)
    if not turns:
        raise NoTurnError("nothing was said yet", session=conversation.id)
    kept, dropped = turns[:-count], turns[-count:]
    if not kept:
        return Branch(_anew(options, conversation), conversation.id, 0, dropped)
    options = forked(places, options, conversation, clock, at=kept[-1].end)
    return Branch(options, conversation.id, len(kept), dropped)


def forked(
    places: Places,
    options: RunOptions,
    conversation: Conversation,
    clock: Clock,
    *,
    at: int | None = None,
    what: Field | None = None,
    name: str = "",
) -> RunOptions:
    """Fork the session, up to the event ``at``, and give options that open the fork, on another
    loop, driver or preset if one is named. Raises what `fork` raises."""
    copy = _copy(places, options, conversation, clock, at)
    known = replace(_settled(options), resume=copy, session_id=None, preset=None, ours=True)
    if what is None:
        return known
    return replace(_on(known, conversation, what, name), rebind=True)


def _copy(
    places: Places, options: RunOptions, conversation: Conversation, clock: Clock, at: int | None
) -> str:
    """Make the fork, with what is kept nowhere else if there is such; give its id."""
    if conversation.kept:
        point = None if at is None else f"seq:{at}"
        return fork(places, conversation.id, options.cwd, clock=clock, at=point).id
    session = conversation.agent.session
    log = SessionLog.continuing(
        places.sessions,
        uuid7(clock()),
        session.events if at is None else session.events[: at + 1],
        cwd=session.header.cwd,
        clock=clock,
        command=options.command,
        agent_preset=session.header.agent_preset,
        parent_session=conversation.id,
        seeded=True,
    )
    try:
        log.keep()
    finally:
        log.close()
    return log.header.id


def discard(places: Places, options: RunOptions, clock: Clock) -> None:
    """Move a fork that couldn't be opened to the trash: nobody has said anything in it."""
    entry = None if options.resume is None else find_id(places, options.resume)
    if entry is not None:
        delete(places, entry, now=clock(), command=options.command)


def read_field(word: str) -> Field:
    """Read what a fork shall change. Raises USAGE."""
    fields: tuple[Field, ...] = ("loop", "driver", "preset")
    for known in fields:
        if word == known:
            return known
    raise UsageError(f'a fork can change loop, driver or preset, not "{word}"', hint="/help")


def _anew(options: RunOptions, conversation: Conversation) -> RunOptions:
    """Give options for a new session on what this one runs on."""
    session, bound = conversation.agent.session, conversation.binding
    return replace(
        _settled(options),
        resume=None,
        session_id=None,
        loop=bound.loop,
        driver=options.driver or bound.driver,
        preset=effective_preset(session.events, session.header.agent_preset),
    )


def _settled(options: RunOptions) -> RunOptions:
    """Take away what was asked for the first opening alone."""
    return replace(options, force_rebind=False, rebind=False, fork=False, attached=())


def _of_person(messages: object) -> list[Message]:
    found = []
    for message in messages if isinstance(messages, list) else ():
        source = message.get("source") if isinstance(message, Mapping) else None
        if isinstance(source, Mapping) and source.get("kind") == "user":
            found.append(dict(message))
    return found


def _number(data: Mapping[str, Any]) -> int:
    turn = data.get("turn")
    return turn if type(turn) is int else 0
