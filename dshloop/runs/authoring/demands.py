"""What checks of a loop ask of a turn, a log, an agent: each says what is wrong, and what to do."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from pathlib import Path

import dshloop
from dshloop.errors import DshloopError
from dshloop.host.agent import Agent
from dshloop.host.calling import ProcessExit
from dshloop.host.hooks import EVENTS
from dshloop.loops.binding import EVENT as BOUND
from dshloop.loops.binding import read_binding
from dshloop.loops.fields import near_match
from dshloop.loops.names import is_object
from dshloop.runs.authoring.probes import Probes
from dshloop.runs.authoring.report import Unmet
from dshloop.runs.authoring.trial import Trial, failure_in
from dshloop.runs.authoring.unheard import Unheard
from dshloop.transcripts.vocabulary import Event

LONGEST = 2000  # characters of what was raised that are shown


def require_no_failure(events: Sequence[Event], what: str) -> None:
    failure = failure_in(events)
    if failure is not None:
        raise Unmet(
            f"{what} ended with an error: {failure}",
            "Look at the listener, tool or engine that the message names.",
        )


def require_order(events: Sequence[Event], number: int) -> None:
    """Ask for one turn with its steps inside, in DSH's order."""
    kinds = [event["type"] for event in events]
    inner = [kind for kind in kinds if kind in ("turn/start", "step/start", "step/end", "turn/end")]
    steps = (len(inner) - 2) // 2
    wanted = ["turn/start", *["step/start", "step/end"] * steps, "turn/end"]
    if inner != wanted or kinds[-1] != "turn/end":
        raise Unmet(
            f"the events of a turn are out of order: {', '.join(inner)}",
            "Log turn/start, then step/start and step/end around each step, and last turn/end.",
        )
    start = next(event for event in events if event["type"] == "turn/start")
    counted = start["data"].get("turn") if is_object(start["data"]) else None
    if counted != number:
        raise Unmet(
            f"turn {number} of the session is logged as turn {counted}",
            "Count turns from 1, on in a resumed session: its turn/start events are in the log.",
        )


def require_one_binding(at: Trial, events: Sequence[Event]) -> None:
    bound = read_binding(events)
    records = [
        event
        for event in events
        if event["type"] == BOUND and is_object(event["data"]) and "agentLoopDock" in event["data"]
    ]
    if bound is None or bound.loop != at.loop.id or len(records) != 1:
        raise Unmet(
            f"the log records {len(records)} bindings, the newest to {bound}, and was to record "
            f"one to {at.loop.id}",
            "Await options.setup once; agentLoopDock is the dock's alone to record.",
        )


def require_sound(at: Trial, session_id: str) -> None:
    from dshloop.sessions.fsck import check_log

    path = at.log_of(session_id)
    if path is None:
        raise Unmet(
            f'the session "{session_id}" is not on the disk',
            "Make the session with owner.sessions.create, and flush it at the end of a turn.",
        )
    errors = [one.message for one in check_log(path).findings if one.severity == "error"]
    if errors:
        raise Unmet(
            f"the session's log is one that dsh would refuse: {errors[0]}",
            "Log only event types that DSH knows, with data of their shape (agent.append).",
        )


def require_known_events(agent: Agent) -> None:
    for event in agent.hooks.events:
        near = None if event in EVENTS else near_match(event, tuple(sorted(EVENTS)))
        if near is not None:
            raise Unmet(
                f'it listens to "{event}", which nobody dispatches',
                f'Did you mean "{near}"? docs/loop-provider-spec.md has all events.',
            )


def require_shapes(probes: Probes) -> None:
    for event, answer in probes.shapeless.items():
        raise Unmet(
            f"a listener on {event} gave back {answer!r:.60}, which says nothing",
            "Give back what following() gives, or a changed copy of it; a listener without a "
            "return gives back None.",
        )


def require_no_warnings(at: Trial) -> None:
    if at.warnings:
        raise Unmet(
            f"the host had to warn: {at.warnings[0]}",
            "Mend what raises there: nobody waits for it, so that it can only be told.",
        )


def require_heard(unheard: Sequence[Unheard]) -> None:
    """Ask that nothing failed where nobody waits for it."""
    for one in unheard:
        raised = "" if one.raised is None else f": {_raised_text(one.raised)}"
        raise Unmet(f"{one.said}{raised}", one.fix)


def require_apart(one: Agent, two: Agent) -> None:
    for agent, said, other in ((one, "I am one", "I am two"), (two, "I am two", "I am one")):
        texts = [str(event["data"]) for event in agent.session.events if _is_input(event)]
        if not any(said in text for text in texts) or any(other in text for text in texts):
            raise Unmet(
                f'the log of agent "{agent.id}" has not just its own input',
                "One object serves all agents: keep nothing of an agent on the loop.",
            )


def _is_input(event: Event) -> bool:
    return bool(event["type"] == "user/message")


def all_of(agent: Agent) -> list[str]:
    """Name all that an agent has: tools, prompt sections, listeners."""
    return [
        *(f"the tool {tool.name}" for tool in agent.tools.offered),
        *(f"the prompt section {part.name}" for part in agent.prompt.sections),
        *(f"a listener on {event}" for event in agent.hooks.events),
    ]


def told_of(fault: BaseException) -> tuple[str, str]:
    """Give what is wrong, and what to do, for whatever a check raised."""
    if isinstance(fault, Unmet):
        return _cut(fault.said), fault.fix
    if isinstance(fault, DshloopError):
        place = None if fault.__cause__ is None else place_of(fault.__cause__)
        said = _placed(_cut(f"{fault.message} ({fault.code})"), place)
        return said, fault.hint or "Mend what the message names."
    raised = fault.__cause__ if isinstance(fault, ProcessExit) and fault.__cause__ else fault
    return (
        f"it raised {_raised_text(raised)}",
        "Mend what raises: a setup, a driver or its dispose.",
    )


def _raised_text(raised: BaseException) -> str:
    return _placed(_cut(f"{type(raised).__name__}: {raised}"), place_of(raised))


def _placed(text: str, place: str | None) -> str:
    return text if place is None else f"{text} ({place})"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text)} characters)"


def place_of(raised: BaseException) -> str | None:
    """Give file, line and function of the author's code that raised, None when it was ours."""
    frames = traceback.extract_tb(raised.__traceback__)
    theirs = [frame for frame in frames if _is_theirs(frame.filename)]
    if not theirs:
        return None
    last = theirs[-1]
    return f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"


def _is_theirs(file: str) -> bool:
    path = Path(file)
    of_python = path.is_relative_to(_PYTHON) and "site-packages" not in path.parts
    return not (file.startswith("<") or of_python or path.is_relative_to(_OURS))


_OURS = Path(dshloop.__file__).parent
_PYTHON = Path(asyncio.__file__).parents[1]
