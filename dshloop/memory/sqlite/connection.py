"""What the statements of a store are given to, so that more than one database can have them.

SQLite's own connection is one (connect.py), PostgreSQL's another (postgres/connection.py). The
statements beside this file are written in the SQL that both understand: ``?`` stands for a value,
flags are 0 and 1, and a list of numbers is one JSON value that ``json_each`` takes apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Answer(Protocol):
    """The rows that a statement gave."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    def fetchone(self) -> Any:
        """Give the next row, None after the last."""

    def fetchall(self) -> list[Any]:
        """Give all rows that are left."""

    def fetchmany(self, size: int) -> list[Any]:
        """Give some of the rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows that are left."""


class Connection(Protocol):
    """One database, and what differs between databases."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Answer:
        """Run a statement."""

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run a statement once for each row of values."""

    def findable(self) -> int:
        """Count the entries that can be found, as far as that is known without looking at each."""

    def new_seq(self, count: int = 1) -> int:
        """Give the first of so many numbers in a row that no entry has or had."""

    def new_operation(self) -> int:
        """Give a number that neither a change nor what it has put away has."""

    def alone(self, key: str) -> bool:
        """Keep others from what has this key until the transaction ends; tell whether somebody
        may have been at it since the transaction began."""

    def add_words(self, seq: int, indexed: tuple[str, ...]) -> None:
        """Make an entry findable by its words (index.py)."""

    def drop_words(self, seq: int) -> None:
        """Make an entry no longer findable."""

    def scrub_words(self) -> None:
        """Leave no words of entries that are gone."""

    def rows_with(self, forms: Sequence[str], most: int) -> Iterable[int]:
        """Count for each word the entries whose content has it, no further than ``most``."""

    def with_all(self, groups: Sequence[Sequence[str]], most: int) -> tuple[str, Sequence[Any]]:
        """Give a sub-select of the newest rows whose content has all words of one of some groups,
        and its values, so that all that is asked of them is asked at one moment."""


class Database(Protocol):
    """Where a store's connections come from."""

    def reading(self) -> AbstractContextManager[Connection | None]:
        """Lend a connection that shows one moment's state, None while there is no database."""

    def looking(self) -> AbstractContextManager[Connection | None]:
        """Lend a connection for an answer that may be of several moments close together."""

    def reading_apart(self) -> AbstractContextManager[Connection | None]:
        """Lend a connection of its own, for answers that come piece by piece."""

    def writing(self, *, beside: bool = False) -> AbstractContextManager[Connection]:
        """Lend a connection inside a transaction that is on disk when the outermost block is done.

        ``beside``: others of that kind may go on at once, as far as the database can do that; what
        it touches it asks to have `alone`. Without it the whole store is its own.
        """

    def scrub(self) -> None:
        """Leave no bytes of what was deleted, as far as that is for us to do."""

    def close(self) -> None:
        """Let go of files and connections."""
