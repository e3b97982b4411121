"""Why a session would run on its loop and driver, and what its log records of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dshloop.errors import (
    DshloopError,
    SessionUnreadableError,
)
from dshloop.files import shown
from dshloop.loops.binding import EVENT, Binding, Recorded, binding_data, read_log
from dshloop.loops.config import AgentEntry
from dshloop.loops.explanation import Explanation, explain_create, explain_recorded
from dshloop.paths import Places
from dshloop.runs.docks.docking import Docking
from dshloop.runs.docks.hints import mend
from dshloop.runs.stored import StoredSessions, unreadable, whole_of
from dshloop.sessions.catalog import Entry, find, find_id
from dshloop.sessions.log import require_writable
from dshloop.sessions.session import Session
from dshloop.transcripts.dsh import read_transcript


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for, as `session run` would be; None where nothing is said."""

    session: str | None = None
    preset: str | None = None
    loop: str | None = None
    driver: str | None = None
    resume: bool = False
    force_rebind: bool = False

    def options(self, session: str | None) -> dict[str, Any]:
        """Give the options of the create or resume."""
        asked: dict[str, Any] = {"loop": self.loop, "driver": self.driver}
        if self.resume:
            asked["resumeSessionId"] = session
        else:
            asked["sessionId"] = session
            asked["meta"] = {"agentPreset": self.preset} if self.preset is not None else None
        return {key: value for key, value in asked.items() if value is not None}


def explain(docking: Docking, question: Question, places: Places, cwd: Path) -> Explanation:
    """Explain what would be selected.

    Raises the fault of the dock's row, and for a resume SESSION_NOT_FOUND, SESSION_AMBIGUOUS and
    SESSION_UNREADABLE.
    """
    if docking.fault is not None:
        raise docking.fault
    if not question.resume:
        options = question.options(question.session)
        found = explain_create(docking.dock, options, docking.places)
        found = replace(found, notices=(*_stored(places, question.session), *found.notices))
    else:
        name = question.session or "last"
        session, recorded, noted = recorded_in(places, name, cwd, force=question.force_rebind)
        options = question.options(session)
        changed = _changed_at(docking)
        found = explain_recorded(
            docking.dock, options, recorded, docking.places, config_changed_at=changed
        )
        found = replace(found, notices=(*noted, *found.notices))
    if found.conflict is not None:
        mend(found.conflict, docking.rows)
    return found


def _stored(places: Places, session: str | None) -> tuple[str, ...]:
    """Tell that a session is there, so that another question was probably meant."""
    if session is None or (session != "last" and find_id(places, session) is None):
        return ()
    return (f'this is how a new session is selected; with --resume it is how "{session}" goes on',)


def keeps_waiting(docking: Docking, entry: AgentEntry, places: Places) -> str | None:
    """Say what keeps a configured agent from starting, as its real selection finds it."""
    resumed, dock = entry.resume_session_id, docking.dock
    try:
        if docking.fault is not None:
            raise docking.fault
        if entry.session_id is not None and find_id(places, entry.session_id) is not None:
            resumed = entry.session_id
        asked = Question(None, None, entry.loop, entry.driver, resume=resumed is not None)
        if resumed is None:
            selection = dock.select_create(asked.options(entry.session_id))
        else:
            session, recorded, _ = recorded_in(places, resumed, places.data)
            selection = dock.select_resume(asked.options(session), recorded)
        dock.resolve(selection)
    except DshloopError as fault:
        return fault.message.split("\n")[0]
    return None


def recorded_in(
    places: Places, name: str, cwd: Path, *, force: bool = False
) -> tuple[str, Recorded, tuple[str, ...]]:
    """Read what a stored session records, and what is to be told; raises as `explain`.

    With ``force`` a log that can't be read records no binding.
    """
    entry = find(places, name, cwd)
    try:
        return entry.id, _recorded(entry), ()
    except SessionUnreadableError as fault:
        if not force:
            raise unreadable(entry, fault) from None
        whole = whole_of(entry)
        told = f"the log can't be read, so it is bound anew: {fault.message}"
        meta = {"agentPreset": whole.preset, "cwd": whole.cwd}
        return entry.id, read_log({"meta": meta, "events": whole.events}), (told,)


def _recorded(entry: Entry) -> Recorded:
    read = read_transcript(entry.path)
    if entry.home == "dshloop":
        require_writable(read)
    if read.header is None:
        raise SessionUnreadableError(
            f"the header of {shown(entry.path)} can't be read", file=shown(entry.path)
        )
    meta = {"agentPreset": read.header.agent_preset, "cwd": read.header.cwd}
    return read_log({"meta": meta, "events": read.events})


@dataclass(frozen=True, slots=True)
class Bound:
    """What a session is bound to; ``recorded`` before, or only now if ``written``."""

    session: str
    binding: Binding
    before: bool
    written: bool

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "session": self.session,
            "loop": self.binding.loop,
            "driver": self.binding.driver,
            "recorded_before": self.before,
            "written": self.written,
        }


def bind(docking: Docking, sessions: StoredSessions, name: str, *, dry_run: bool) -> Bound:
    """Record on purpose what a session would be inferred to run on (loop-dock 18.3).

    Raises what `explain` of its resume finds as a conflict, LOCK_HELD, SESSION_READ_ONLY.
    """
    if docking.fault is not None:
        raise docking.fault
    try:
        return _bound(docking, sessions.inspect(name), dry_run)
    finally:
        sessions.close()


def _bound(docking: Docking, log: Session, dry_run: bool) -> Bound:
    recorded = read_log({"meta": {"agentPreset": log.header.agent_preset}, "events": log.events})
    if recorded.binding is not None:
        return Bound(log.header.id, recorded.binding, True, False)
    asked = {"resumeSessionId": log.header.id}
    binding = docking.dock.resolve(docking.dock.select_resume(asked, recorded)).binding
    if not dry_run:
        log.append(EVENT, binding_data(binding, recorded.preset))
        log.flush()
    return Bound(log.header.id, binding, False, not dry_run)


def _changed_at(docking: Docking) -> float | None:
    """Say when the file that holds the routes was last written."""
    rows = docking.rows
    place = None if rows is None or rows.dock is None else rows.composition.inserted(rows.dock)
    routes = None if rows is None else rows.where("presetLoops")
    file = routes.rpartition(":")[0] if routes else place.file if place else None
    try:
        return Path(file).stat().st_mtime if file else None
    except OSError:
        return None
