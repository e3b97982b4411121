"""Making one record of two that have one id, or say the same: pure.

It can be done again without changing anything: counts are not added up.
"""

from __future__ import annotations

from dshloop.memory.answers import Document, Record
from dshloop.memory.entries import Memory, Observation, Session


def joined(old: Record, new: Record) -> Record:
    """Join a stored record and one of its kind that comes in; the id stays."""
    if isinstance(old, Memory) and isinstance(new, Memory):
        return _memory(old, new)
    if isinstance(old, Observation) and isinstance(new, Observation):
        return _observation(old, new)
    if isinstance(old, Session) and isinstance(new, Session):
        return _session(old, new)
    if isinstance(old, Document) and isinstance(new, Document):
        return new if new.updated_at > old.updated_at else old
    return old


def _session(old: Session, new: Session) -> Session:
    """Join two accounts of a session; whether it is active says the later one."""
    later = new if new.updated_at > old.updated_at else old
    return old._replace(
        project=old.project or new.project,
        cwd=old.cwd or new.cwd,
        agent=old.agent or new.agent,
        title=old.title or new.title,
        first_prompt=old.first_prompt or new.first_prompt,
        summary=old.summary if old.summary is not None else new.summary,
        started_at=min(old.started_at, new.started_at),
        updated_at=later.updated_at,
        ended_at=later.ended_at,
    )


def _memory(old: Memory, new: Memory) -> Memory:
    """What is said is what was said later; labels are those of both."""
    later = new if new.updated_at > old.updated_at else old
    return later._replace(
        id=old.id,
        concepts=_both(old.concepts, new.concepts),
        files=_both(old.files, new.files),
        agent=old.agent or new.agent,
        session=old.session or new.session,
        created_at=min(old.created_at, new.created_at),
        expires_at=_later(old.expires_at, new.expires_at),
        version=max(old.version, new.version),
        previous=old.previous or new.previous,
        latest=old.latest,
        repeats=max(old.repeats, new.repeats),
    )


def _observation(old: Observation, new: Observation) -> Observation:
    fuller = new if len(new.content) > len(old.content) else old
    return fuller._replace(
        id=old.id,
        concepts=_both(old.concepts, new.concepts),
        files=_both(old.files, new.files),
        agent=old.agent or new.agent,
        importance=max(old.importance, new.importance),
        repeats=max(old.repeats, new.repeats),
    )


def _both(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*ours, *theirs)))


def _later(one: float | None, other: float | None) -> float | None:
    """Give the later of two ends; None is never."""
    return None if one is None or other is None else max(one, other)
