"""What memory would be told and asked because of a stored session, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from dshloop.errors import BridgeSecretError, PointUnknownError, SessionUnreadableError
from dshloop.files import shown
from dshloop.host.rows import HostRow
from dshloop.plugins.agentmemory.content import member
from dshloop.plugins.agentmemory.preview import POINTS as BRIDGE_POINTS
from dshloop.plugins.agentmemory.preview import previewed
from dshloop.plugins.agentmemory.secret import ROW as BRIDGE

if TYPE_CHECKING:
    from dshloop.plugins.patchouli.points import Seen
    from dshloop.transcripts.dsh import Transcript
    from dshloop.transcripts.header import Header
    from dshloop.transcripts.vocabulary import Event

PATCHOULI = "dsh-patchouli-agent-loop"
PRE_STEP, TURN_END = "agent/pre-step", "session/turn-end"
POINTS = (*BRIDGE_POINTS, PRE_STEP, TURN_END)
"""All that can be told from a log; Patchouli's other points show agents that live."""


def preview(
    log: Transcript,
    rows: Sequence[HostRow],
    variables: Mapping[str, str],
    point: str | None = None,
) -> list[dict[str, Any]]:
    """Give the calls of a session, those of one point or all, as JSON values.

    The memory row among ``rows`` makes them; where there is none, or none that has the point, a
    row without any config. Raises POINT_UNKNOWN, SESSION_UNREADABLE for a log without a header, and
    ValueError for a row's config.
    """
    header = log.header
    if header is None:
        raise SessionUnreadableError(
            f"{shown(log.path)} has no header that says whose session it is", file=shown(log.path)
        )
    if point is not None and point not in POINTS:
        raise PointUnknownError(
            f'"{point}" is no point that a stored session tells of',
            hint=f"Points: {', '.join(POINTS)}.",
            point=point,
        )
    row = _row(rows, point)
    if row.name == PATCHOULI:
        found = _observed(header, log.events)
    else:
        found = _bridged(header, log.events, row.config, variables)
    return [one for one in found if point in (None, one["point"])]


def _row(rows: Sequence[HostRow], point: str | None) -> HostRow:
    """Choose the row: one that runs and has the point."""
    whole = (BRIDGE, PATCHOULI) if point is None else (BRIDGE,)
    fitting = (PATCHOULI,) if point in (PRE_STEP, TURN_END) else whole
    running = (row for row in rows if row.off is None and row.name in fitting)
    return next(running, HostRow("", fitting[0]))


def _bridged(
    header: Header, events: Sequence[Event], raw: Any, variables: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    from dataclasses import replace

    from dshloop.plugins.agentmemory.calls import About
    from dshloop.plugins.agentmemory.config import agent_of, read_bridge_config
    from dshloop.plugins.agentmemory.project import project_of
    from dshloop.plugins.agentmemory.secret import resolve

    config, cwd = read_bridge_config(raw), header.cwd or ""
    with suppress(BridgeSecretError):  # without a secret there is none to take out
        config = replace(config, secret=resolve(config.secret, variables).value)
    about = About(header.id, cwd, project_of(variables, cwd), agent_of(config, variables))
    for one in previewed(about, events, config):
        yield one.as_json()


def _observed(header: Header, events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """Yield what a Patchouli plugin is asked and told; no agent lives any more."""
    from dshloop.plugins.patchouli.observed import absent_agent
    from dshloop.plugins.patchouli.points import BrokenTurnError, Seen, stored_turn, turn_end

    seen = Seen(absent_agent(header.id), header.raw)
    for at, event in enumerate(events):
        if event["type"] == "step/start":
            yield _pre_step(seen, events, at)
        elif event["type"] == "turn/end":
            try:
                turn = stored_turn(events, member(event["data"], "turn"), event["seq"])
            except BrokenTurnError:
                continue  # it was forked away, or is damaged: nobody would be told of it
            yield _request(TURN_END, event, "update", turn_end(seen.agent, header.raw, turn))


def _pre_step(seen: Seen, events: Sequence[Event], at: int) -> dict[str, Any]:
    """Make the question before a step: the messages it began with, without what was recalled."""
    from dshloop.plugins.patchouli.points import request
    from dshloop.plugins.patchouli.recall import PLUGIN

    start, later = events[at], (events[n] for n in range(at + 1, len(events)))
    place = {name: member(start["data"], name) for name in ("turn", "step")}
    entered = takewhile(lambda event: event["type"] == "user/message", later)
    messages = [
        event["data"] for event in entered if member(event["data"], "source", "plugin") != PLUGIN
    ]
    asked = request(PRE_STEP, seen, extra=place, **place, messages=messages)
    return _request(PRE_STEP, start, "retrieve", asked)


def _request(
    point: str, event: Event, operation: str, request: Mapping[str, Any]
) -> dict[str, Any]:
    return {"point": point, "seq": event["seq"], "operation": operation, "request": request}
