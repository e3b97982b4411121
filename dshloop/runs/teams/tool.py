"""The tool `create_agent_team`: an agent starts others, waits for them, and reads what they say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.errors import DshloopError, TeamCapError, TeamDepthError, UsageError
from dshloop.host.agent import Agent
from dshloop.host.tools import Execution, Tool, ToolFailure, ToolResult
from dshloop.llm.messages import text_block
from dshloop.loops.names import is_object
from dshloop.loops.teaming import TOOL, TeamLimits
from dshloop.runs.teams.descent import Descent
from dshloop.runs.teams.inheriting import child_options
from dshloop.runs.teams.member import Member, Worked
from dshloop.runs.teams.service import AgentTeams
from dshloop.runs.teams.team import Team
from dshloop.sessions.naming import uuid7
from dshloop.terminal import one_line
from dshloop.transcripts.vocabulary import Event

PARALLEL = 8
LONGEST = 20_000  # characters of an agent's answer that its parent reads
PARENT = {"kind": "parent"}
COORDINATOR = {"kind": "coordinator"}
_TEXT = {"type": "string", "minLength": 1}
_FIELDS = {
    "name": {**_TEXT, "maxLength": 64, "description": "What it is called, unique in the team."},
    "prompt": {**_TEXT, "description": "Its task; it sees nothing of this conversation."},
    "loop": {**_TEXT, "description": "The loop it runs on; without it yours."},
    "driver": {**_TEXT, "description": "The driver of its loop; without it yours."},
    "preset": {**_TEXT, "description": "Its agent preset; without it yours."},
    "provider": {**_TEXT, "description": "The provider of its model."},
    "model": {**_TEXT, "description": "Its model; without it yours."},
    "max_tokens": {"type": "integer", "minimum": 1, "description": "How long an answer may be."},
    "effort": {**_TEXT, "description": "How much its model thinks."},
}
PARAMETERS = {
    "type": "object",
    "properties": {
        "agents": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": _FIELDS,
                "required": ["name", "prompt"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["agents"],
    "additionalProperties": False,
}
_DESCRIPTION = (
    "Starts agents that work side by side on tasks of their own, each in a session of its own, "
    "and gives what they answered when all are done. Of {agents} agents in this conversation, in "
    "all of its teams."
)


def team_tool(teams: AgentTeams, limits: TeamLimits) -> Tool:
    """Make the tool of one agent; it runs while no other tool does."""

    async def body(execution: Execution) -> ToolResult:
        try:
            return await _run(teams, limits, execution)
        except DshloopError as fault:
            text = ". ".join(filter(None, (fault.message, fault.hint)))
            raise ToolFailure(text, type(fault).__name__, fault.code) from fault

    described = _DESCRIPTION.format(agents=limits.agents)
    return Tool(TOOL, described, body, PARAMETERS, exclusive=True)


async def _run(teams: AgentTeams, limits: TeamLimits, execution: Execution) -> ToolResult:
    parent, asked = execution.agent, execution.arguments["agents"]
    require_within(parent, asked, limits, execution.call_id)
    teams.require_room(parent, len(asked))
    members = [_member(teams, parent, one) for one in asked]
    team = Team(teams.process, teams.sessions, PARALLEL, _began)
    cancel = _canceller(team)
    execution.signal.on_abort(cancel)
    try:
        return _result(await team.run(members))
    finally:
        execution.signal.forget(cancel)


def require_within(
    parent: Agent, asked: Sequence[Mapping[str, Any]], limits: TeamLimits, call_id: str
) -> None:
    """Hold a call against the caps. Raises TEAM_TOO_DEEP, TEAM_TOO_LARGE and USAGE."""
    depth = parent.session.header.delegation_depth
    if depth >= limits.depth:
        raise TeamDepthError(
            f"this agent is {depth} deep in teams of teams, and {limits.depth} is as deep as they "
            "go",
            depth=depth,
            limit=limits.depth,
        )
    before = started(parent.session.events, but=call_id)
    if before + len(asked) > limits.agents:
        raise TeamCapError(
            f"{len(asked)} more agents are too many: this conversation may start {limits.agents}, "
            f"and has started {before}",
            limit=limits.agents,
            started=before,
        )
    counted = Counter(one["name"] for one in asked)
    twice = [name for name, count in counted.items() if count > 1]
    if twice:
        raise UsageError(f'two agents are called "{twice[0]}"', hint="Give each a name of its own.")


def started(events: Sequence[Event], *, but: str | None = None) -> int:
    """Count the agents that a conversation has started, by its log.

    A call that failed started none, unless it was killed halfway.
    """
    refused = {but, *filter(None, map(_refused, events))}
    calls = [event["data"] for event in events if event["type"] == "tool/call"]
    return sum(
        _asked_in(call.get("arguments"))
        for call in calls
        if call.get("name") == TOOL and call.get("callId") not in refused
    )


def _refused(event: Event) -> str | None:
    """Give the call that a result says was refused."""
    error = event["data"].get("error") if event["type"] == "tool/result" else None
    if not is_object(error) or error.get("code") == "TOOL_OUTCOME_UNKNOWN":
        return None
    source = event["data"].get("message", {}).get("source")
    return source.get("callId") if is_object(source) else None


def _asked_in(arguments: object) -> int:
    try:
        agents = json.loads(str(arguments)).get("agents")
    except (ValueError, AttributeError):
        return 0
    return len(agents) if isinstance(agents, list) else 0


def _member(teams: AgentTeams, parent: Agent, asked: Mapping[str, Any]) -> Member:
    """Announce a child, and say how it is opened."""
    session_id = uuid7(teams.sessions.clock())
    options = child_options(teams, parent, asked, session_id)
    teams.descending.announce(session_id, Descent.of(parent.session.header))
    teams.descends(session_id, parent, asked["name"])
    return Member(asked["name"], asked["prompt"], options, COORDINATOR)


def _began(member: Member, agent: Agent) -> None:
    """Say in the child's log what it is to its parent."""
    label = one_line(member.name)
    said = {"version": 2, "mode": "one-shot", "provider": "dshloop", "label": label}
    agent.append("subagent/descriptor", said)


def _canceller(team: Team) -> Any:
    return lambda: team.cancel(PARENT)


def _result(worked: Sequence[Worked]) -> ToolResult:
    """Give the model what each agent said, and the log which sessions hold the rest."""
    told = [_told(one) for one in worked]
    content = [text_block(json.dumps(told, ensure_ascii=False, indent=1))]
    members = [{"name": one.name, "session": one.session} for one in worked]
    failed = all(one.outcome == "failed" for one in worked)
    return ToolResult(content, value=told, meta={"team": members}, is_error=failed)


def _told(worked: Worked) -> dict[str, Any]:
    found: dict[str, Any] = {"name": worked.name, "outcome": worked.outcome}
    if worked.session is not None:
        found["session"] = worked.session
    if worked.why is not None:
        found["why"] = worked.why
    text = worked.text
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} … (cut: its session has all {len(text)} characters)"
    return {**found, "text": text}
