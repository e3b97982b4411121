"""Keeping an observation: its session is made or touched, a repeat within minutes is counted."""

from __future__ import annotations

from typing import NamedTuple

from dshloop.memory.answers import Observed
from dshloop.memory.entries import NewObservation, Observation, distinct
from dshloop.memory.sqlite import index, sessions, write
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.index import Indexed
from dshloop.memory.sqlite.lookup import row
from dshloop.memory.sqlite.rows import COLUMNS, observation_digest
from dshloop.times import uuid7_digits

REPEAT_SECONDS = 300.0
"""Within it the same observation is a repeat, whatever it says of its time; later it is one only
when it says the same time: then somebody didn't hear that it had arrived, and sent it again."""

_REPEATED = (
    f"SELECT seq, {COLUMNS} FROM entries "
    "WHERE digest = ? AND (updated_at BETWEEN ? AND ? OR created_at = ?) "
    "ORDER BY seq DESC LIMIT 1"
)


class Prepared(NamedTuple):
    """An observation with all that can be made of it before the store is locked."""

    new: NewObservation
    observation: Observation
    digest: bytes
    indexed: Indexed
    arrived: float


def prepare(new: NewObservation, now: float) -> Prepared:
    """Make the observation that a newcomer becomes."""
    at = now if new.at is None else new.at
    observation = Observation(
        id=f"obs_{uuid7_digits(now)}",
        session=new.session,
        hook=new.hook,
        type=new.type,
        title=new.title,
        subtitle=new.subtitle,
        content=new.content,
        concepts=distinct(new.concepts),
        files=distinct(new.files),
        project=new.project,
        agent=new.agent,
        source=new.source,
        created_at=at,
        importance=new.importance,
    )
    digest = observation_digest(new.session, new.key)
    return Prepared(new, observation, digest, index.index_of(observation), now)


def observe(connection: Connection, one: Prepared) -> Observed:
    """Store an observation, findable; or count it when it is a repeat. No key, no repeat."""
    connection.alone(sessions.key_of(one.new.session))
    if one.new.key:
        window = (one.arrived - REPEAT_SECONDS, one.arrived + REPEAT_SECONDS)
        at = one.observation.created_at
        found = connection.execute(_REPEATED, (one.digest, *window, at)).fetchone()
        if found is not None:
            return _repeated(connection, found)
    session = sessions.touch(connection, one.new, one.observation.created_at, one.arrived)
    observation = one.observation._replace(agent=one.observation.agent or session.agent)
    write.insert(connection, observation, one.digest, one.indexed, one.arrived)
    return Observed(observation)


def _repeated(connection: Connection, found: tuple[object, ...]) -> Observed:
    seq, entry = row(found)
    assert isinstance(entry, Observation)
    connection.execute("UPDATE entries SET repeats = repeats + 1 WHERE seq = ?", (seq,))
    return Observed(entry._replace(repeats=entry.repeats + 1), duplicate=True)
