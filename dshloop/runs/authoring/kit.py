"""What tests of a loop are written with: sessions of it on the fake driver, and all checks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.drivers.script import Script, parse_script
from dshloop.errors import UsageError
from dshloop.llm.messages import plain_text
from dshloop.loops.names import is_object
from dshloop.runs.authoring.report import LoopReport
from dshloop.runs.authoring.subjects import Subject, subject_of
from dshloop.runs.authoring.trial import SAYING, outcome_of, trial, turn
from dshloop.runs.authoring.trying import PATIENCE, check_loop, in_time
from dshloop.transcripts.vocabulary import Event


@dataclass(frozen=True, slots=True)
class SessionRan:
    """A session that has run: its whole log, and what tests mostly ask of it."""

    events: Sequence[Event]

    @property
    def outcome(self) -> str:
        """How the last turn ended: completed, blocked, aborted, max-tokens or error."""
        return outcome_of(self.events)

    @property
    def texts(self) -> list[str]:
        """What was answered, message by message; one that only calls tools says nothing."""
        said = (plain_text(data["message"]["content"]) for data in self._data("assistant/message"))
        return [text for text in said if text]

    @property
    def text(self) -> str:
        """The last answer, "" without any."""
        return self.texts[-1] if self.texts else ""

    @property
    def tool_calls(self) -> list[str]:
        """The names of the tools that were called, in order."""
        return [data["name"] for data in self._data("tool/call")]

    @property
    def tool_results(self) -> list[str]:
        """What the tools answered, as the model reads it."""
        blocks = [data["message"]["content"][0] for data in self._data("tool/result")]
        return [plain_text(block["content"]) for block in blocks]

    @property
    def system_prompt(self) -> str:
        """The system prompt of the last request that told one."""
        return str(self._header.get("system", ""))

    @property
    def tools(self) -> list[str]:
        """The tools that the model was offered last."""
        return [tool["name"] for tool in self._header.get("tools", ())]

    def of_type(self, kind: str) -> list[Event]:
        """Give the events of a type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def _header(self) -> dict[str, Any]:
        headers = [data.get("header") for data in self._data("request/header")]
        last = headers[-1] if headers else None
        return dict(last) if is_object(last) else {}

    def _data(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.of_type(kind)]


@dataclass(slots=True)
class LoopKit:
    """Tries loops in a folder; nothing of the person who runs the tests is read or written.

    A loop is given as an object, a class, a function that makes one, or a mapping.
    """

    folder: Path
    patience: float = PATIENCE
    _runs: int = 0

    def check(
        self,
        loop: Any,
        *,
        id: str | None = None,  # noqa: A002
        only: str | Sequence[str] = (),
    ) -> LoopReport:
        """Do what `dshloop loop test` does; ``require_passed()`` of the report fails a test."""
        return check_loop(subject_of(loop, id), patience=self.patience, only=only)

    def run(
        self,
        loop: Any,
        *prompts: str,
        script: str | Script | None = None,
        id: str | None = None,  # noqa: A002
    ) -> SessionRan:
        """Run a session with these prompts, a turn each, and give what came of it.

        ``script`` is what the fake driver says, as YAML (docs/fake-driver.md). Raises what the
        loop's setup raises, SCRIPT_INVALID, USAGE without a prompt, and LOOP_CHECKS_FAILED for a
        turn that never ends.
        """
        if not prompts:
            raise UsageError("a session needs a prompt", hint='kit.run(loop, "hello")')
        said = parse_script(script) if isinstance(script, str) else script or SAYING
        self._runs += 1
        folder = self.folder / f"run-{self._runs}"
        folder.mkdir(parents=True)
        work = _session(subject_of(loop, id), folder, prompts, said)
        return SessionRan(in_time(lambda: asyncio.run(work), self.patience, "the session"))


async def _session(
    subject: Subject, folder: Path, prompts: Sequence[str], script: Script
) -> list[Event]:
    async with trial(subject, folder, script) as at:
        handle = await at.create("session")
        for prompt in prompts:
            await turn(handle.agent, prompt)
        events = list(handle.agent.session.events)
        await handle.dispose()
        return events
