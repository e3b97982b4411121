"""Whose child a session is: said in its header, whatever driver makes the agent."""

from __future__ import annotations

from typing import NamedTuple

from dshloop.host.host import SessionSource
from dshloop.sessions.log import SessionLog
from dshloop.sessions.session import Session
from dshloop.transcripts.header import Header

ORIGIN = "subagent"


class Descent(NamedTuple):
    """The parent's session, and how deep the child is in teams of teams."""

    parent: str
    depth: int

    @classmethod
    def of(cls, parent: Header) -> Descent:
        """Give that of a child of a session."""
        return cls(parent.id, parent.delegation_depth + 1)


class Descending:
    """The sessions of a host; one that was announced as a child says so in its header."""

    def __init__(self, inner: SessionSource) -> None:
        self._inner = inner
        self._announced: dict[str, Descent] = {}

    def announce(self, session_id: str, descent: Descent) -> None:
        """Have the next session of this id be a child."""
        self._announced[session_id] = descent

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> Session:
        """Begin a session. Raises SESSION_EXISTS."""
        session = self._inner.create(session_id, cwd=cwd, agent_preset=agent_preset)
        descent = self._announced.pop(session_id, None)
        if descent is not None and isinstance(session, SessionLog):
            session.descend(descent.parent, descent.depth, ORIGIN)
        return session

    def resume(self, session_id: str) -> Session:
        """Open a session to go on with it; raises what opening raises."""
        return self._inner.resume(session_id)
