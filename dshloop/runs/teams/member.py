"""One agent of a team: what it is to do and on what, its one turn, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dshloop.drivers import DEFAULT, Choice, choose
from dshloop.errors import DshloopError, ExitCode
from dshloop.host.agent import Agent
from dshloop.host.calling import call
from dshloop.host.engine import AgentHandle
from dshloop.llm.messages import plain_text, user_message
from dshloop.loops.binding import Binding, read_binding
from dshloop.runs.process import Process
from dshloop.runs.stored import StoredSessions
from dshloop.runs.talking.making import as_ours
from dshloop.runs.talking.models import ModelAsked
from dshloop.runs.talking.opening import Opening
from dshloop.runs.talking.options import RunOptions
from dshloop.runs.talking.run import Ended
from dshloop.runs.watching.reply import failure_of, failure_text, reason_of
from dshloop.transcripts.vocabulary import Event


class Member(NamedTuple):
    """An agent that is to work: its name in the team, its prompt, and how its session is opened.

    ``source`` is who prompts it; None is the person.
    """

    name: str
    prompt: str
    options: RunOptions
    source: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Worked:
    """What became of a member.

    ``outcome`` is the reason kind of its turn's end, ``failed`` where it never had one;
    ``failure`` has message and code of what ended it, if something did, and the hint of one that
    kept it from starting.
    """

    name: str
    outcome: str
    session: str | None = None
    binding: Binding | None = None
    text: str = ""
    turns: int = 0
    failure: Mapping[str, Any] | None = None
    exit_code: ExitCode = ExitCode.DONE

    @property
    def why(self) -> str | None:
        """Say why it did not complete, None when it did."""
        if self.failure is not None:
            return failure_text(self.failure)
        return None if self.outcome == "completed" else f"its turn ended: {self.outcome}"

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json and for the model."""
        bound = self.binding
        return {
            "agent": self.name,
            "session": self.session,
            "loop": None if bound is None else bound.loop,
            "driver": None if bound is None else bound.driver,
            "outcome": self.outcome,
            "turns": self.turns,
            "failure": self.failure,
            "text": self.text,
        }


def not_started(name: str, fault: DshloopError) -> Worked:
    """Say that a member never came to work."""
    told = {"message": fault.message, "code": fault.code, "hint": fault.hint}
    return Worked(name, "failed", failure=told, exit_code=fault.exit_code)


def called_off(name: str) -> Worked:
    """Say that a member was told to stop before it began."""
    return Worked(name, "aborted", exit_code=ExitCode.INTERRUPTED)


async def opened(process: Process, sessions: StoredSessions, member: Member) -> AgentHandle:
    """Make the agent of a member. Raises what the dock, the loop and the session raise."""
    opening = Opening(process, sessions, _asking(process, member.options))
    make = opening.create if member.options.resume is None else opening.resume
    return await make(sessions.clock)


def _asking(process: Process, options: RunOptions) -> RunOptions:
    """Leave the model out where a driver answers that asks none, as the dock's own agents do."""
    choice = None if options.driver is None else choose(options.driver)
    asked: dict[str, Any] = {"sessionId": options.session_id or "-"}
    if choice is not None:
        asked["driver"] = choice.name
    if options.loop is not None:
        asked["loop"] = options.loop
    if options.preset is not None:
        asked["meta"] = {"agentPreset": options.preset}
    try:
        selection = process.dock.select_create(asked)
        process.loops.require(selection)
        driver = process.dock.resolve(selection).driver
    except DshloopError:  # which opening raises too
        return options
    answers = Choice(driver or DEFAULT, None if choice is None else choice.provider)
    return options if answers.asks_model else replace(options, model=ModelAsked())


async def work(
    process: Process, member: Member, handle: AgentHandle, began: Callable[[], object]
) -> Worked:
    """Give a member its prompt, wait until it has nothing left to do, and end it.

    ``began`` is called before; what it raises is the member's fault.
    """
    agent = handle.agent
    since = len(agent.session.events)
    try:
        began()
        agent.followup(user_message(member.prompt, source=member.source))
        await agent.when_idle()
        return _worked(member, agent, since)
    except Exception as fault:  # a log that can't be written
        return not_started(member.name, as_ours(fault, "running"))
    finally:
        await let_go(process, member, handle)


async def let_go(process: Process, member: Member, handle: AgentHandle) -> None:
    """End an agent and close its log; what that raises keeps nobody else from ending."""
    for end in (handle.dispose, handle.agent.session.close):
        try:
            await call(end)
        except Exception as fault:
            process.host.warn(f'ending agent "{member.name}": {fault}')


def _worked(member: Member, agent: Agent, since: int) -> Worked:
    if agent.fault is not None:
        raise agent.fault
    events = agent.session.events[since:]
    ends = [event for event in events if event["type"] == "turn/end"]
    reason = reason_of(ends[-1]) if ends else {"kind": "completed"}
    failure = failure_of(reason)
    ended = Ended(agent.id, str(reason["kind"]), len(ends), failure)
    return Worked(
        member.name,
        ended.outcome,
        agent.id,
        read_binding(agent.session.events),
        last_text(events),
        ended.turns,
        failure,
        ended.exit_code,
    )


def last_text(events: list[Event]) -> str:
    """Give the last thing that was said among events, "" for nothing."""
    for event in reversed(events):
        if event["type"] == "assistant/message" and isinstance(event["data"], dict):
            message = event["data"].get("message")
            text = plain_text(message.get("content")) if isinstance(message, Mapping) else ""
            if text:
                return text
    return ""
