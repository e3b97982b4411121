"""The embedded store for those who only take down what happens: opened in half the time."""

from __future__ import annotations

from dshloop.memory.clean import clean_observation
from dshloop.memory.entries import NewObservation, NewSession, Session
from dshloop.memory.sqlite import observe, sessions
from dshloop.memory.sqlite.reader import SqliteReader
from dshloop.memory.store import Observed


class SqliteRecorder(SqliteReader):
    """A reader that also records; with ``semantic`` what is stored gets its vector at once."""

    def observe(self, new: NewObservation, *, allow_secrets: bool = False) -> Observed:
        redacted = new.redacted
        if not allow_secrets:
            new, redacted = clean_observation(new)
        one = observe.prepare(new, self._clock())
        usual = self._meaning.usual
        written = self._meaning.before_writing(self._database, [one.observation]) if usual else None
        with self._database.writing() as connection:
            done = observe.observe(connection, one)
            self._meaning.write(connection, written, [done.observation])
        return done._replace(redacted=redacted)

    def start_session(self, new: NewSession) -> Session:
        with self._database.writing() as connection:
            return sessions.start(connection, new, self._clock())

    def end_session(self, id: str) -> Session | None:  # noqa: A002
        if self.get_session(id) is None:
            return None
        with self._database.writing() as connection:
            return sessions.end(connection, id, self._clock())
