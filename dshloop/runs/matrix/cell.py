"""One cell, in the process of a worker: its session from opening to the checks of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from dshloop.drivers.fake import LOCAL_PROVIDERS
from dshloop.errors import DshloopError, InternalError, LockHeldError
from dshloop.host.abort import AbortSignal
from dshloop.llm.messages import plain_text
from dshloop.runs.matrix.checks import verdict
from dshloop.runs.matrix.opening import run_options
from dshloop.runs.matrix.outcomes import TIMEOUT, UNAVAILABLE, blank
from dshloop.runs.matrix.plan import Cell
from dshloop.runs.matrix.surroundings import Surroundings
from dshloop.runs.talking.conversation import Conversation
from dshloop.runs.watching.reply import failure_of, reason_of
from dshloop.sessions.session import Clock
from dshloop.sessions.stats import Stats, count
from dshloop.times import iso_time
from dshloop.transcripts.vocabulary import Event

GRACE = 3.0
"""Seconds that a turn may take to end when its time is over."""


@dataclass(slots=True)
class Tally:
    """What a session has come to; ``outcome`` is None as long as no turn has ended."""

    outcome: str | None = None
    failure: Mapping[str, Any] | None = None
    text: str = ""
    answered_by: Mapping[str, Any] | None = None
    events: list[Event] = field(default_factory=list)

    def see(self, event: Event) -> None:
        """Take one event in."""
        self.events.append(event)
        kind, data = event["type"], event["data"]
        if kind == "turn/start":
            self.text = ""
        elif kind == "assistant/message":
            message = data.get("message")
            if isinstance(message, Mapping):
                self.text = plain_text(message.get("content")) or self.text
                source = message.get("source")
                self.answered_by = source if isinstance(source, Mapping) else self.answered_by
        elif kind == "turn/end":
            reason = reason_of(event)
            self.outcome, self.failure = reason["kind"], failure_of(reason)


class CellRun:
    """A cell under way; `stop` ends it from the loop, without a record."""

    def __init__(self, cell: Cell, around: Surroundings, clock: Clock) -> None:
        self.cell, self.around, self.clock = cell, around, clock
        self.tally = Tally()
        self.notices: list[str] = []
        self.ran_on: Mapping[str, Any] | None = None
        self.spent = False  # something of it still runs, so that this process must not go on
        self.stopping = AbortSignal()
        self._opening: asyncio.Future[Conversation] | None = None
        self._conversation: Conversation | None = None

    def stop(self) -> None:
        """End it: what was said so far stays in the session's log."""
        self.stopping.abort({"kind": "matrix", "reason": "the matrix was stopped"})
        self._cancel()

    async def record(self) -> dict[str, Any]:
        """Run the cell and give its record."""
        begun = perf_counter()
        try:
            cwd = self._folder()
            opened = await self._open(cwd, begun)
        except DshloopError as fault:
            return self._given_up(UNAVAILABLE, fault, begun)
        except Exception as fault:
            self.spent = True  # who knows what is wrong here; the next cell gets another process
            return self._given_up(UNAVAILABLE, InternalError.wrap(fault), begun)
        if not opened:
            self.tally.failure = self._late()
            return self._record(TIMEOUT, perf_counter() - begun)
        outcome = await self._talk(begun)
        seconds = perf_counter() - begun
        checks = [] if outcome != "completed" else await self._checks(cwd)
        return self._record(outcome, seconds, checks)

    # --- opening -----------------------------------------------------------------------------

    def _folder(self) -> Path:
        """Give the folder to work in: the common one, or a fresh copy of the workspace."""
        around = self.around
        if around.workspace is None or around.work is None:
            return around.cwd
        from dshloop.runs.matrix.workspace import copied

        copy = around.work / f"{self.cell.number:03}"
        return copied(around.workspace, copy, without=around.places.data)

    async def _open(self, cwd: Path, begun: float) -> bool:
        options = run_options(self.cell, self.around, cwd)
        await self._clear()
        opening = Conversation.open(self.around.places, options, self.clock)
        self._opening = asyncio.ensure_future(opening)
        if self.stopping.aborted:
            self._opening.cancel()
        await asyncio.wait([self._opening], timeout=self._left(begun))
        if not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening], timeout=GRACE)
            self.spent = not self._opening.done()
            return False
        self._conversation = self._opening.result()
        bound = self._conversation.binding
        self.ran_on = {"loop": bound.loop, "driver": bound.driver}
        return True

    async def _clear(self) -> None:
        """Put what an earlier try left into the trash, so that a cell keeps one session.

        The worker of a run that was killed may need a moment to let go of it.
        """
        from dshloop.sessions.catalog import find_id
        from dshloop.sessions.trash import delete

        around = self.around
        until = perf_counter() + GRACE
        while left := find_id(around.places, self.cell.session(around.run)):
            try:
                delete(around.places, left, now=self.clock(), command=around.command)
            except LockHeldError:
                if perf_counter() > until:
                    raise
                await asyncio.sleep(0.1)

    # --- talking -----------------------------------------------------------------------------

    async def _talk(self, begun: float) -> str:
        """Say every turn and close the session; an error on the way is the outcome."""
        assert self._conversation is not None
        conversation = self._conversation
        talking = asyncio.ensure_future(self._turns(conversation))
        await asyncio.wait([talking], timeout=self._left(begun))
        late = not talking.done()
        if late:
            self._cancel("its time is over")
            await asyncio.wait([talking], timeout=GRACE)
        fault = await self._close(conversation, talking)
        if late:
            self.tally.failure = self._late()
            return TIMEOUT
        if fault is not None:
            ours = fault if isinstance(fault, DshloopError) else InternalError.wrap(fault)
            self.tally.failure = {"code": ours.code, "message": ours.message}
            return "error"
        return self.tally.outcome or "error"

    async def _turns(self, conversation: Conversation) -> None:
        for turn in self.cell.asked.turns:
            conversation.say(turn)
            async for event in conversation.events():
                self.tally.see(event)
            if self.tally.outcome != "completed":
                break

    async def _close(
        self, conversation: Conversation, talking: asyncio.Future[None]
    ) -> Exception | None:
        """Let go of the session; what won't end is left behind, and this process with it."""
        if talking.done():
            closing = asyncio.ensure_future(conversation.close())
            await asyncio.wait([closing], timeout=GRACE)
            if closing.done():
                self.notices.extend(conversation.notices)
                ended = [each for each in (talking, closing) if not each.cancelled()]
                faults = [each.exception() for each in ended]
                return next((each for each in faults if isinstance(each, Exception)), None)
        self.spent = True
        conversation.abandon()
        return None

    def _left(self, begun: float) -> float:
        """Give the seconds that are left of the cell's time."""
        return max(self.around.timeout - (perf_counter() - begun), 0)

    def _cancel(self, why: str = "the matrix was stopped") -> None:
        if self._conversation is None:
            if self._opening is not None:
                self._opening.cancel()
        else:
            self._conversation.cancel({"kind": "matrix", "reason": why})

    # --- what came of it ---------------------------------------------------------------------

    async def _checks(self, cwd: Path) -> list[dict[str, Any]]:
        given = {
            **self.around.variables,
            "DSHLOOP_MATRIX_FOLDER": str(self.around.folder),
            "DSHLOOP_MATRIX_SESSION": self.cell.session(self.around.run),
        }
        answer = self.tally.text
        return [
            (await verdict(check, answer, cwd, given, self.stopping)).as_json()
            for check in self.cell.asked.checks
        ]

    def _late(self) -> dict[str, Any]:
        return {"code": "TIMEOUT", "message": f"it took more than {self.around.timeout:g} s"}

    def _given_up(self, outcome: str, fault: DshloopError, begun: float) -> dict[str, Any]:
        self.notices.extend(getattr(fault, "__notes__", ()))
        self.tally.failure = {"code": fault.code, "message": fault.message, "hint": fault.hint}
        return self._record(outcome, perf_counter() - begun)

    def _record(
        self, outcome: str, seconds: float, checks: list[dict[str, Any]] | None = None
    ) -> dict[str, Any]:
        stats, tally = Stats(), self.tally
        count(stats, tally.events)
        passed = outcome == "completed" and all(check["passed"] for check in checks or ())
        by = tally.answered_by
        other = _other_model(self.cell, by)
        if other is not None:
            self.notices.append(other)
        answered = None if by is None else {key: by.get(key) for key in ("provider", "model")}
        counted = stats.as_json()
        session = self.cell.session(self.around.run) if tally.events else None
        return {
            **blank(self.cell),
            "outcome": outcome,
            "passed": passed,
            "checks": checks or [],
            "turns": counted["turns"],
            "steps": counted["steps"],
            "tool_calls": counted["calls"],
            "tokens": counted["tokens"],
            "seconds": round(seconds, 3),
            "text": tally.text,
            "session": session,
            "ran_on": self.ran_on,
            "answered_by": answered,
            "failure": None if tally.failure is None else dict(tally.failure),
            "notices": list(dict.fromkeys(self.notices)),
            "finished_at": iso_time(self.clock()),
        }


def _other_model(cell: Cell, answered_by: Mapping[str, Any] | None) -> str | None:
    """Say when another model answered than the cell is for: a loop may be pinned to one."""
    asked = cell.asked.model
    if asked is None or answered_by is None or answered_by.get("provider") in LOCAL_PROVIDERS:
        return None
    model = answered_by.get("model")
    if asked == model or asked.endswith(f"/{model}"):
        return None
    who = f'loop "{cell.loop}"' if cell.loop else "a cell"
    return f"{who} asked {model} and not {cell.model}, which its column says"
