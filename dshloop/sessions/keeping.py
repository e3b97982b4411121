"""What people do with sessions as a whole: name them, fork them."""

from __future__ import annotations

from pathlib import Path

from dshloop.errors import SessionExistsError, SessionIdError, UsageError
from dshloop.files import shown
from dshloop.paths import Places
from dshloop.sessions.catalog import Entry, find_id
from dshloop.sessions.fork import Forked, fork_log
from dshloop.sessions.locate import locate, require_ours
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import uuid7
from dshloop.sessions.session import Clock


def rename(entry: Entry, title: str, *, clock: Clock, command: str) -> str:
    """Give a session of ours a title, as an event of its log; gives the title as it is kept.

    Raises SESSION_READ_ONLY, LOCK_HELD, SESSION_UNREADABLE, WRITE_FAILED, USAGE for no title.
    """
    require_ours(entry, "renamed")
    kept = " ".join(title.split())
    if not kept:
        raise UsageError("a title can't be empty")
    log = SessionLog.open(entry.path, clock=clock, command=command)
    try:
        source = {"kind": "user"}
        log.append("session/title", {"title": kept, "messageSeqs": [], "source": source})
    finally:
        log.close()
    return kept


def fork(
    places: Places,
    name: str,
    cwd: Path,
    *,
    clock: Clock,
    at: str | None = None,
    session_id: str | None = None,
) -> Forked:
    """Fork a session of ours, one of dsh, or the file of a log, up to the end of a turn.

    Nobody has to let go of it for that. Raises what `locate` and `fork_log` raise,
    SESSION_EXISTS, SESSION_ID_INVALID.
    """
    found = locate(places, name, cwd)
    now = clock()
    new = uuid7(now) if session_id is None else session_id
    if new == "last":
        raise SessionIdError('"last" stands for the newest session and can\'t be an id')
    taken = find_id(places, new)
    if taken is not None:
        raise SessionExistsError(
            f'session "{new}" already exists', session=new, file=shown(taken.path)
        )
    return fork_log(found.path, places.sessions, new, at=at, now=int(now * 1000))
