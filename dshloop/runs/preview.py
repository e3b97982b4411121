"""What memory would be told and asked because of a stored session, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dshloop.errors import PointUnknownError
from dshloop.host.rows import HostRow
from dshloop.plugins.agentmemory.preview import POINTS as BRIDGE_POINTS
from dshloop.plugins.agentmemory.preview import previewed
from dshloop.plugins.agentmemory.secret import ROW as BRIDGE

if TYPE_CHECKING:
    from dshloop.transcripts.dsh import Transcript

PATCHOULI = "dsh-patchouli-agent-loop"
TURN_END = "session/turn-end"
POINTS = (*BRIDGE_POINTS, TURN_END)
"""All that can be told from a log; Patchouli's other points show agents that live."""


def preview(
    log: Transcript,
    rows: Sequence[HostRow],
    variables: Mapping[str, str],
    point: str | None = None,
) -> list[dict[str, Any]]:
    """Give the calls of a session, those of one point or all, as JSON values.

    The memory row among ``rows`` makes them; where there is none, or none that has the point, a
    row without any config. Raises POINT_UNKNOWN, and ValueError for a row's config.
    """
    if point is not None and point not in POINTS:
        raise PointUnknownError(
            f'"{point}" is no point that a stored session tells of',
            hint=f"Points: {', '.join(POINTS)}.",
            point=point,
        )
    row = _row(rows, point)
    if row.name == PATCHOULI:
        return list(_turn_ends(log))
    found = _bridged(log, row.config, variables)
    return [one for one in found if point in (None, one["point"])]


def _row(rows: Sequence[HostRow], point: str | None) -> HostRow:
    """Choose the row: one that runs and has the point."""
    fitting = (PATCHOULI,) if point == TURN_END else (BRIDGE,) if point else (BRIDGE, PATCHOULI)
    running = (row for row in rows if row.off is None and row.name in fitting)
    return next(running, HostRow("", fitting[0]))


def _bridged(log: Transcript, raw: Any, variables: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    from dshloop.plugins.agentmemory.calls import About
    from dshloop.plugins.agentmemory.config import agent_of, read_bridge_config
    from dshloop.plugins.agentmemory.project import project_of

    config, header = read_bridge_config(raw), log.header
    id_, cwd = ("", "") if header is None else (header.id, header.cwd or "")
    about = About(id_, cwd, project_of(variables, cwd), agent_of(config, variables))
    for one in previewed(about, log.events, config):
        yield one.as_json()


def _turn_ends(log: Transcript) -> Iterator[dict[str, Any]]:
    """Yield what a Patchouli plugin gets for each turn that has ended; no agent lives any more."""
    from dshloop.plugins.patchouli.observed import absent_agent
    from dshloop.plugins.patchouli.points import BrokenTurnError, stored_turn, turn_end

    header = {} if log.header is None else log.header.raw
    agent = absent_agent(str(header.get("id", "")))
    for event in log.events:
        if event["type"] != "turn/end":
            continue
        try:
            turn = stored_turn(log.events, event["data"]["turn"], event["seq"])
        except BrokenTurnError:
            continue  # it was forked away, or is damaged: nobody would be told of it
        request = turn_end(agent, header, turn)
        yield {"point": TURN_END, "seq": event["seq"], "operation": "update", "request": request}
