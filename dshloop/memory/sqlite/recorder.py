"""Taking down what happens in a store that keeps entries in rows, and in the embedded one.

A command that only records opens it so: it loads half the code of the whole store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dshloop.memory.answers import Observed
from dshloop.memory.clean import clean_observation
from dshloop.memory.entries import Entry, NewObservation, NewSession, Session
from dshloop.memory.sqlite import observe, sessions
from dshloop.memory.sqlite.reader import RowReader, SqliteReader

if TYPE_CHECKING:
    from dshloop.memory.sqlite.meaning.model import Written


class RowRecorder(RowReader):
    """A reader that also records; with ``semantic`` what is stored gets its vector at once."""

    def observe(self, new: NewObservation, *, allow_secrets: bool = False) -> Observed:
        redacted = new.redacted
        if not allow_secrets:
            new, redacted = clean_observation(new)
        one = observe.prepare(new, self._clock())
        written = self._embedded(lambda: one.observation)
        with self._database.writing(beside=True) as connection:
            done = observe.observe(connection, one)
            self._meaning.write(connection, written, [done.observation])
        return done._replace(redacted=redacted)

    def start_session(self, new: NewSession) -> Session:
        with self._database.writing(beside=True) as connection:
            return sessions.start(connection, new, self._clock())

    def end_session(self, id: str) -> Session | None:  # noqa: A002
        if self.get_session(id) is None:
            return None
        with self._database.writing(beside=True) as connection:
            return sessions.end(connection, id, self._clock())

    def _embedded(self, entry: Callable[[], Entry]) -> Written | None:
        """Make the vector of what is about to be stored."""
        if not self._meaning.usual:
            return None
        return self._meaning.before_writing(self._database, [entry()])


class SqliteRecorder(RowRecorder, SqliteReader):
    """The embedded store for those who record."""
