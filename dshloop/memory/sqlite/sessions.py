"""Sessions: they begin, go on and end; forgotten ones can come back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.memory.entries import NewObservation, NewSession, Observation, Session
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.rows import packed, unpacked
from dshloop.redact import redact_text

COLUMNS = (
    "id, project, cwd, agent, title, first_prompt, summary, started_at, updated_at, ended_at, "
    "observations"
)
PROMPT = 200
"""Characters of the first prompt that name a session (agentmemory 5)."""

_INSERT = f"INSERT INTO sessions ({COLUMNS}) VALUES ({', '.join('?' * (COLUMNS.count(',') + 1))})"
_MOST_ROWS = 1 << 62
_CONDITIONS = {
    "project": "project = ?",
    "agent": "agent = ?",
    "since": "started_at >= ?",
    "until": "started_at < ?",
}


def start(connection: Connection, new: NewSession, now: float) -> Session:
    """Begin a session, or make a known one active again (agentmemory 13, D1).

    Secrets are taken out of its title.
    """
    new = new._replace(title=None if new.title is None else redact_text(new.title))
    connection.alone(key_of(new.id))
    known = get(connection, new.id)
    if known is None:
        session = Session(
            new.id, new.project, new.cwd, new.agent, new.title, None, None, now, now, None
        )
        connection.execute(_INSERT, _row(session))
        return session
    session = known._replace(
        project=known.project or new.project,
        cwd=known.cwd or new.cwd,
        agent=known.agent or new.agent,
        title=known.title or new.title,
        updated_at=max(now, known.updated_at),
        ended_at=None,
    )
    _write(connection, session)
    return session


def touch(connection: Connection, new: NewObservation, at: float, now: float) -> Session:
    """Make or touch the session of an observation, and count it."""
    known = get(connection, new.session)
    prompt = None if new.prompt is None else " ".join(new.prompt.split())[:PROMPT] or None
    if known is None:
        session = Session(
            new.session, new.project, new.cwd, new.agent, None, prompt, None, at, now, None, 1
        )
        connection.execute(_INSERT, _row(session))
        return session
    session = known._replace(
        first_prompt=known.first_prompt or prompt,
        updated_at=max(now, known.updated_at),
        observations=known.observations + 1,
    )
    _write(connection, session)
    return session


def end(connection: Connection, id_: str, now: float) -> Session | None:
    """Mark a session as completed; an unknown one makes no row (agentmemory 13, D2)."""
    connection.alone(key_of(id_))
    known = get(connection, id_)
    if known is None:
        return None
    session = known._replace(updated_at=max(now, known.updated_at), ended_at=now)
    _write(connection, session)
    return session


def key_of(id_: str) -> str:
    """Name a session among all that a transaction may want for itself alone."""
    return f"session {id_}"


def get(connection: Connection, id_: str) -> Session | None:
    """Give a session by its whole id."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM sessions WHERE id = ?", (packed(id_),)
    ).fetchone()
    return None if found is None else session_of(found)


def newest(
    connection: Connection,
    where: Mapping[str, Any],
    limit: int | None,
    offset: int,
    oldest_first: bool,
) -> list[Session]:
    """List sessions, the last started first; ``where`` has the names of ``_CONDITIONS``."""
    asked = {name: value for name, value in where.items() if value is not None}
    conditions = ["1 = 1", *(_CONDITIONS[name] for name in asked)]
    values = [packed(value) if isinstance(value, str) else value for value in asked.values()]
    order = "ASC" if oldest_first else "DESC"
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM sessions WHERE {' AND '.join(conditions)} "
        f"ORDER BY started_at {order}, rowid {order} LIMIT ? OFFSET ?",
        (*values, _MOST_ROWS if limit is None else min(limit, _MOST_ROWS), min(offset, _MOST_ROWS)),
    )
    return [session_of(found) for found in rows]


def add(connection: Connection, session: Session) -> None:
    """Store a new session as it is."""
    connection.execute(_INSERT, _row(session))


def rewrite(connection: Connection, session: Session) -> None:
    """Write a session over the one that has its id, but for the count of its observations."""
    known = get(connection, session.id)
    _write(
        connection, session if known is None else session._replace(observations=known.observations)
    )


def count(connection: Connection, id_: str, change: int) -> None:
    """Correct how many observations a session has, when it is there."""
    connection.execute(
        "UPDATE sessions SET observations = CASE WHEN observations + ? > 0 THEN observations + ? "
        "ELSE 0 END WHERE id = ?",
        (change, change, packed(id_)),
    )


def put_away(connection: Connection, id_: str, operation: int) -> None:
    """Move a session to what can be restored, its observations yet to be counted again."""
    connection.execute("DELETE FROM forgotten_sessions WHERE id = ?", (packed(id_),))
    connection.execute(
        f"INSERT INTO forgotten_sessions ({COLUMNS}, operation) "
        f"SELECT {COLUMNS}, ? FROM sessions WHERE id = ?",
        (operation, packed(id_)),
    )
    connection.execute(
        "UPDATE forgotten_sessions SET observations = 0 WHERE id = ?", (packed(id_),)
    )
    connection.execute("DELETE FROM sessions WHERE id = ?", (packed(id_),))


def bring_back(connection: Connection, operation: int) -> None:
    """Bring back the sessions that an operation has put away."""
    _bring_back(connection, "operation = ?", operation)


def bring_back_of(connection: Connection, one: Observation) -> None:
    """See to it that an observation which comes back has its session, whatever took that away."""
    if get(connection, one.session) is not None:
        return
    _bring_back(connection, "id = ?", packed(one.session))
    if get(connection, one.session) is None:
        at = one.created_at
        session = Session(
            one.session, one.project, "", one.agent, None, None, None, at, at, None, 0
        )
        connection.execute(_INSERT, _row(session))


def _bring_back(connection: Connection, chosen: str, value: int | str | bytes) -> None:
    connection.execute(
        f"INSERT INTO sessions ({COLUMNS}) "
        f"SELECT {COLUMNS} FROM forgotten_sessions WHERE {chosen} ON CONFLICT DO NOTHING",
        (value,),
    )
    connection.execute(f"DELETE FROM forgotten_sessions WHERE {chosen}", (value,))


def purge(connection: Connection, one: Observation) -> None:
    """Delete what a session keeps of a purged observation: the words that name it."""
    known = get(connection, one.session)
    if known is None or known.first_prompt is None:
        return
    if not known.observations or known.first_prompt in " ".join(one.content.split()):
        _write(connection, known._replace(first_prompt=None))


def sweep(connection: Connection) -> None:
    """Delete sessions whose operation can neither be undone nor has anything left to restore."""
    connection.execute(
        "DELETE FROM forgotten_sessions WHERE operation NOT IN (SELECT number FROM operations) "
        "AND operation NOT IN (SELECT operation FROM forgotten)"
    )


def _write(connection: Connection, session: Session) -> None:
    id_, *rest = _row(session)
    columns = ", ".join(f"{name} = ?" for name in COLUMNS.split(", ")[1:])
    connection.execute(f"UPDATE sessions SET {columns} WHERE id = ?", (*rest, id_))


def _row(session: Session) -> tuple[Any, ...]:
    return (
        packed(session.id),
        packed(session.project),
        packed(session.cwd),
        packed(session.agent or ""),
        None if session.title is None else packed(session.title),
        None if session.first_prompt is None else packed(session.first_prompt),
        None if session.summary is None else json.dumps(session.summary),
        session.started_at,
        session.updated_at,
        session.ended_at,
        session.observations,
    )


def session_of(found: Sequence[Any]) -> Session:
    """Read the values of ``COLUMNS``."""
    return Session(
        id=unpacked(found[0]),
        project=unpacked(found[1]),
        cwd=unpacked(found[2]),
        agent=unpacked(found[3]) or None,
        title=None if found[4] is None else unpacked(found[4]),
        first_prompt=None if found[5] is None else unpacked(found[5]),
        summary=None if found[6] is None else json.loads(found[6]),
        started_at=found[7],
        updated_at=found[8],
        ended_at=found[9],
        observations=found[10],
    )
