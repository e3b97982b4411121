"""Logs of agents as observations, made as a hook's data would make them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from dshloop.errors import DshloopError
from dshloop.files import shown
from dshloop.memory.entries import NewObservation, Observation, Session
from dshloop.memory.interchange.ids import made_id
from dshloop.memory.interchange.report import Item, Report
from dshloop.memory.observing import observed
from dshloop.memory.sources import TRANSCRIPT, is_memory_tool
from dshloop.memory.store import MemoryStore
from dshloop.transcripts.happenings import Happening, Outline
from dshloop.transcripts.programs import Reader, logs_in, reader_of

ANSWER = "assistant_message"
_PROMPT = 200


def items(
    store: MemoryStore,
    paths: list[Path],
    report: Report,
    *,
    project: str | None = None,
    again: bool = False,
    allow_secrets: bool = False,
) -> Iterator[Item]:
    """Give the sessions and observations of logs, and of all logs in folders.

    A session that a plugin has observed as it happened is left out unless ``again``.
    """
    for path in paths:
        for log in logs_in(path):
            try:
                yield from _log(store, log, report, project, again=again, allow=allow_secrets)
            except DshloopError as error:
                yield Item(None, shown(log), f"it can't be read ({error.code})")


def _log(
    store: MemoryStore, path: Path, report: Report, project: str | None, *, again: bool, allow: bool
) -> Iterator[Item]:
    reader = reader_of(path)
    if reader is None:
        yield Item(None, shown(path), "it is no log that is read")
        return
    head = reader.outline(path)
    for line, fault in head.faults:
        report.lose(f"a line can't be read: {fault}", f"{shown(path)}:{line}")
    making = _Making(reader, head, project, allow_secrets=allow)
    if not again and making.was_observed(store):
        yield Item(
            None, head.id, "it was observed as it happened (--again ingests it all the same)"
        )
        return
    yield Item(making.session(), shown(path))
    for observation in making.observations():
        yield Item(observation, shown(path))
    report.redacted += making.redacted
    for reason, count in making.left_out.items():
        report.lose(reason, head.id, count)


class _Making:
    """The records of one log."""

    def __init__(
        self, reader: Reader, head: Outline, project: str | None, *, allow_secrets: bool
    ) -> None:
        self._reader = reader
        self._head = head
        self._project = project if project is not None else folder_name(head.cwd)
        self._allow_secrets = allow_secrets
        self.left_out: Counter[str] = Counter()
        self.redacted = 0

    def was_observed(self, store: MemoryStore) -> bool:
        """Tell whether the store has observations of this session that are not from here."""
        known = store.get_session(self._head.id)
        if known is None or not known.observations:
            return False
        first = next((one for one in self._happenings() if self._is_kept(one)), None)
        if first is None:
            return False
        try:
            store.get(self._id(first))
        except DshloopError:
            return True
        return False

    def session(self) -> Session:
        """Make the session; it has ended when its log did."""
        head = self._head
        prompt = next((one.text for one in self._happenings() if one.kind == "prompt"), "")
        started = head.started_at or 0.0
        updated = head.updated_at or started
        return Session(
            id=head.id,
            project=self._project,
            cwd=head.cwd,
            agent=None,
            title=head.title or None,
            first_prompt=" ".join(prompt.split())[:_PROMPT] or None,
            summary=None,
            started_at=started,
            updated_at=updated,
            ended_at=updated,
        )

    def observations(self) -> Iterator[Observation]:
        """Make the observations, in order."""
        last = self._head.started_at or 0.0
        for one in self._happenings():
            last = one.at if one.at is not None else last
            if self._is_kept(one):
                yield self._observation(one, last)
            else:
                self.left_out["calls of memory tools: what they recalled is stored already"] += 1

    def _happenings(self) -> Iterator[Happening]:
        return self._reader.happenings(self._head.path)

    def _is_kept(self, one: Happening) -> bool:
        return one.kind != "call" or not is_memory_tool(one.tool)

    def _id(self, one: Happening) -> str:
        return made_id("obs_", self._head.program, one.id)

    def _observation(self, one: Happening, at: float) -> Observation:
        new = observed(
            *hook_of(one),
            session=self._head.id,
            project=self._project,
            cwd=self._head.cwd,
            at=at,
            allow_secrets=self._allow_secrets,
        )
        self.redacted += new.redacted
        return _stored(new, self._id(one), at, {"program": self._head.program, "event": one.id})


def hook_of(one: Happening) -> tuple[str, Any]:
    """Give the hook and the data by which a plugin would have reported it."""
    if one.kind == "prompt":
        return "prompt_submit", {"prompt": one.text}
    if one.kind == "answer":
        return ANSWER, {"message": one.text}
    call = {"tool_name": one.tool, "tool_input": one.input}
    if one.failed:
        return "post_tool_failure", {**call, "error": one.output}
    return "post_tool_use", {**call, "tool_output": one.output}


def folder_name(cwd: str) -> str:
    """Name the project of a working directory that may be another machine's."""
    windows = "\\" in cwd and not cwd.startswith("/")
    return (PureWindowsPath(cwd) if windows else PurePosixPath(cwd)).name or cwd


def _stored(new: NewObservation, id_: str, at: float, source: dict[str, str]) -> Observation:
    return Observation(
        id=id_,
        session=new.session,
        hook=new.hook,
        type="conversation" if new.hook == ANSWER else new.type,
        title=new.title,
        subtitle=new.subtitle,
        content=new.content,
        concepts=tuple(new.concepts),
        files=tuple(new.files),
        project=new.project,
        agent=new.agent,
        source={**new.source, "kind": TRANSCRIPT, **source},
        created_at=at,
        importance=new.importance,
    )
