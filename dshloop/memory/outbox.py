"""The outbox: what is on its way to a store, on disk until the store has it.

One SQLite file a store. Entries of a session go out in their order; a failed one is tried again
later and later, and given up after a stated limit, but stays to be seen. Several processes may
share it: who delivers a session's entries has claimed the session.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dshloop.memory.outbox_entries import GIVEN_UP, PENDING, Entry, Item, Policy, State
from dshloop.memory.outbox_file import OutboxFile, unusable
from dshloop.memory.outbox_rows import add, count, make_room, raised

__all__ = ["GIVEN_UP", "PENDING", "Entry", "Item", "Outbox", "Policy", "State"]

SUFFIX = ".db"
_NOTHING: Mapping[str, Any] = {}
_USER = re.compile(r"(?<=://)[^/?#]*@")


class Outbox(OutboxFile):
    """The outbox of one store in a folder; nothing is created before something is put in.

    May be used by several threads. Raises OUTBOX_UNUSABLE when its file can't be read or written.
    """

    def __init__(
        self,
        folder: Path,
        store: str,
        *,
        clock: Callable[[], float] = time.time,
        policy: Policy = Policy(),  # noqa: B008 - it never changes
    ) -> None:
        super().__init__(folder / f"{_file_name(store)}{SUFFIX}")
        self.store = store
        self.policy = policy
        self._clock = clock
        self._owner = f"{platform.node()} {os.getpid()} {os.urandom(4).hex()}"

    # --- putting in ----------------------------------------------------------------------------

    def put(
        self,
        session: str,
        items: Sequence[Item],
        *,
        target: Mapping[str, Any] = _NOTHING,
        mark: int | None = None,
    ) -> list[Entry]:
        """Add items of a session behind those that wait, all or none, on disk when this returns.

        ``mark`` grows within a session (an event's seq); what is not above the last one was put in
        before, and nothing is added then.
        """
        now = self._clock()
        goal = json.dumps(_without_user(target))
        with self._changing() as connection:
            if mark is not None and not raised(connection, session, mark):
                return []
            added = [add(connection, session, item, goal, now) for item in items]
            make_room(connection, self.policy)
        return [self._entry(row) for row in added]

    def mark(self, session: str) -> int | None:
        """Give the last mark of a session, None when nothing of it was ever put in."""
        with self._reading() as connection:
            row = (
                connection
                and connection.execute(
                    "SELECT mark FROM sessions WHERE session = ?", (session,)
                ).fetchone()
            )
        return None if not row or row[0] < 0 else int(row[0])

    # --- taking out ----------------------------------------------------------------------------

    def due(self, session: str | None = None, *, all: bool = False) -> list[Entry]:  # noqa: A002
        """Give the first entry of each session whose time has come; with ``all`` before it too."""
        named = () if session is None else (session,)
        where = "state = ?" + " AND session = ?" * len(named)
        with self._reading() as connection:
            if connection is None:
                return []
            rows = connection.execute(
                f"SELECT * FROM entries WHERE id IN (SELECT min(id) FROM entries WHERE {where} "
                "GROUP BY session) AND (? OR next_at <= ?) ORDER BY id",
                (PENDING, *named, all, self._clock()),
            ).fetchall()
        return [self._entry(row) for row in rows]

    def next_at(self) -> float | None:
        """Give when the next entry is due, None when nothing waits."""
        with self._reading() as connection:
            row = connection and connection.execute(
                "SELECT min(next_at) FROM entries WHERE id IN "
                "(SELECT min(id) FROM entries WHERE state = ? GROUP BY session)", (PENDING,)
            ).fetchone()  # fmt: skip
        return row[0] if row else None

    def claim(self, session: str, seconds: float = 120.0) -> bool:
        """Become the one who delivers a session's entries; False while another one is.

        A claim ends with `release`, with its process, and after so many ``seconds``.
        """
        now = self._clock()
        with self._changing(lasting=False) as connection:
            row = connection.execute(
                "SELECT owner, claimed_until FROM sessions WHERE session = ?", (session,)
            ).fetchone()
            if row is not None and row[1] >= now and _is_held(row[0], self._owner):
                return False
            connection.execute(
                "INSERT INTO sessions VALUES (?, -1, ?, ?) ON CONFLICT (session) DO UPDATE "
                "SET owner = excluded.owner, claimed_until = excluded.claimed_until",
                (session, self._owner, now + seconds),
            )
        return True

    def release(self, session: str) -> None:
        """Let others deliver a session's entries."""
        with self._changing(lasting=False) as connection:
            connection.execute(
                "UPDATE sessions SET owner = NULL WHERE session = ? AND owner = ?",
                (session, self._owner),
            )

    def done(self, entry: Entry) -> None:
        """Take out an entry that the store has; a loss of power may bring it back."""
        with self._changing(lasting=False) as connection:
            connection.execute("DELETE FROM entries WHERE id = ?", (entry.id,))
            count(connection, "last_success", self._clock())

    def changed(self, entry: Entry, body: Any) -> None:
        """Replace an entry's body: a part of it has arrived."""
        text = json.dumps(body)
        with self._changing() as connection:
            connection.execute(
                "UPDATE entries SET body = ?, bytes = ? WHERE id = ?", (text, len(text), entry.id)
            )

    def failed(self, entry: Entry, error: str, *, final: bool = False) -> bool:
        """Note a failed attempt; tell whether the entry is given up (``final``: at once)."""
        now, attempts = self._clock(), entry.attempts + 1
        old = now - entry.created_at >= self.policy.age
        ends = final or (attempts >= self.policy.attempts and old)
        after = now + self.policy.pause_after(attempts)
        with self._changing() as connection:
            connection.execute(
                "UPDATE entries SET attempts = ?, next_at = ?, error = ?, state = ? WHERE id = ?",
                (attempts, after, error, GIVEN_UP if ends else PENDING, entry.id),
            )
            count(connection, "last_error", now, error)
        return ends

    # --- looking and keeping -------------------------------------------------------------------

    def list(self, session: str | None = None) -> list[Entry]:
        """Give all entries, the oldest first."""
        with self._reading() as connection:
            rows = [] if connection is None else connection.execute(
                "SELECT * FROM entries WHERE ? IS NULL OR session = ? ORDER BY id",
                (session, session),
            ).fetchall()  # fmt: skip
        return [self._entry(row) for row in rows]

    def state(self) -> State:
        """Tell how it stands."""
        with self._reading() as connection:
            if connection is None:
                return State(self.store, 0, 0, 0, 0, None, None, None)
            held = dict(connection.execute("SELECT state, count(*) FROM entries GROUP BY state"))
            size, oldest = connection.execute(
                "SELECT coalesce(sum(bytes), 0), min(created_at) FROM entries"
            ).fetchone()
            counts = {
                name: (value, text)
                for name, value, text in connection.execute("SELECT * FROM counts")
            }
        return State(
            store=self.store,
            pending=held.get(PENDING, 0),
            given_up=held.get(GIVEN_UP, 0),
            bytes=size,
            dropped=int(counts.get("dropped", (0, None))[0]),
            oldest=oldest,
            last_success=counts.get("last_success", (None, None))[0],
            last_error=counts.get("last_error", (None, None))[1],
        )

    def drop(self, session: str | None = None, ids: Sequence[int] = ()) -> int:
        """Throw entries away, of a session or with some ids or all; tell how many."""
        with self._reading() as connection:
            if connection is None:
                return 0
        with self._changing() as connection:
            if ids:
                marks = ",".join("?" * len(ids))
                done = connection.execute(f"DELETE FROM entries WHERE id IN ({marks})", [*ids])
            else:
                done = connection.execute(
                    "DELETE FROM entries WHERE ? IS NULL OR session = ?", (session, session)
                )
        return done.rowcount

    def replay(self, session: str | None = None) -> int:
        """Let entries be tried again at once, given-up ones too; tell how many."""
        with self._reading() as connection:
            if connection is None:
                return 0
        with self._changing() as connection:
            done = connection.execute(
                "UPDATE entries SET state = ?, attempts = 0, next_at = 0 "
                "WHERE ? IS NULL OR session = ?",
                (PENDING, session, session),
            )
        return done.rowcount

    def _entry(self, row: Sequence[Any]) -> Entry:
        id_, session, kind, target, body, size, state, created, attempts, next_at, error = row
        try:
            goal, said = json.loads(target), json.loads(body)
        except ValueError:
            raise unusable(self.path, f"its entry {id_} is damaged") from None
        return Entry(
            id_, self.store, session, kind, goal, said, state, created, attempts, next_at, error,
            size,
        )  # fmt: skip


def _is_held(owner: str | None, ours: str) -> bool:
    """Whether a claim is another one's who is still there, as far as this machine can tell."""
    if owner is None or owner == ours:
        return False
    from dshloop.locks import process_exists

    host, pid, _ = owner.rsplit(" ", 2)
    return host != ours.rsplit(" ", 2)[0] or process_exists(int(pid))


def _file_name(store: str) -> str:
    from urllib.parse import quote

    return quote(store, safe="").replace(".", "%2E")


def _without_user(target: Mapping[str, Any]) -> dict[str, Any]:
    """Take user and password out of a target's addresses."""
    return {
        key: _USER.sub("", value) if isinstance(value, str) else value
        for key, value in target.items()
    }
