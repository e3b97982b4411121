"""Reading entries by what they are: lists, single rows, neighbours, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dshloop.errors import AmbiguousIdError, MemoryNotFoundError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import KINDS, Entry
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.filters import LIVE, labels, where
from dshloop.memory.sqlite.rows import COLUMNS, Row, entry_of, packed, unpacked

_SHOWN_CANDIDATES = 10
_MOST_ROWS = 1 << 62  # SQLite's integers end a little later
_PREFIXES = ("mem_", "obs_")
_ENTRY = f"seq, {COLUMNS}"


def newest(
    connection: Connection,
    filters: Filters,
    now: float,
    limit: int | None,
    offset: int = 0,
    *,
    oldest_first: bool = False,
) -> list[Row]:
    """List entries, the last one stored first.

    One branch for each combination of kind, version and project, each in the order of an index:
    SQLite merges them and stops at the limit, however many rows there are.
    """
    conditions, values = labels(filters)
    rest = "".join(f" AND {condition}" for condition in (LIVE, *conditions))
    projects = [None] if filters.project is None else list(dict.fromkeys([filters.project, ""]))
    branches: list[str] = []
    bound: list[Any] = []
    for project in projects:
        for kind in dict.fromkeys(kind for kind in KINDS if kind in filters.kinds):
            for latest in (1, 0) if filters.old else (1,):
                by = "" if project is None else " AND m.project = ?"
                branches.append(
                    f"SELECT {_ENTRY} FROM entries AS m WHERE m.kind = ? AND m.latest = ?{by}{rest}"
                )
                bound += [kind, latest, *([] if project is None else [packed(project)])]
                bound += [now, *values]
    if not branches:
        return []
    order = "ASC" if oldest_first else "DESC"
    most = _MOST_ROWS if limit is None else min(limit, _MOST_ROWS)
    rows = connection.execute(
        f"{' UNION ALL '.join(branches)} ORDER BY seq {order} LIMIT ? OFFSET ?",
        (*bound, most, min(offset, _MOST_ROWS)),
    )
    return [row(found) for found in rows]


def count(connection: Connection, filters: Filters, now: float) -> int:
    """Count the entries that pass."""
    conditions, values = where(filters, now)
    (number,) = connection.execute(
        f"SELECT count(*) FROM entries AS m WHERE {conditions}", values
    ).fetchone()
    return int(number)


def find(connection: Connection | None, id_: str, now: float, table: str = "entries") -> Row:
    """Give the entry with this id or beginning, ``mem_`` or ``obs_`` left out or not.

    Raises MEMORY_NOT_FOUND, AMBIGUOUS_ID.
    """
    starts = [id_] if id_.startswith(_PREFIXES) else [prefix + id_ for prefix in _PREFIXES]
    rows: list[Any] = []
    for start in starts if connection is not None and id_ else ():
        assert connection is not None
        rows += connection.execute(
            f"SELECT {_ENTRY} FROM {table} AS m "
            f"WHERE m.id >= ? AND m.id < ? AND {LIVE} ORDER BY m.id LIMIT ?",
            (packed(start), packed(start + "\uffff"), now, _SHOWN_CANDIDATES),
        ).fetchall()
    if not rows:
        raise MemoryNotFoundError(f"no memory has the id {id_}", id=id_)
    exact = [found for found in rows if found[1] in starts]
    if len(rows) > 1 and len(exact) != 1:
        raise AmbiguousIdError(
            f"{id_} begins the ids of several memories",
            id=id_,
            candidates=[found[1] for found in rows],
        )
    return row((exact or rows)[0])


def by_id(connection: Connection, id_: str | None) -> Row | None:
    """Give the entry of a whole id, expired or not."""
    found = connection.execute(f"SELECT {_ENTRY} FROM entries WHERE id = ?", (id_,)).fetchone()
    return None if found is None else row(found)


def around(connection: Connection, one: Row, now: float, before: int, after: int) -> list[Entry]:
    """Give an entry with its neighbours in its session, else in its project and of its agent."""
    if one.entry.session:
        beside, values = "m.session = ?", [packed(one.entry.session)]
    else:
        # All observations have a session; the kind leads to an index.
        beside = "m.session = '' AND m.kind = 'memory' AND m.project = ? AND m.agent = ?"
        values = [packed(one.entry.project), packed(one.entry.agent or "")]
    query = f"SELECT {_ENTRY} FROM entries AS m WHERE {beside} AND m.latest = 1 AND {LIVE} AND "
    earlier = connection.execute(
        f"{query} m.seq < ? ORDER BY m.seq DESC LIMIT ?",
        (*values, now, one.seq, min(max(before, 0), _MOST_ROWS)),
    )
    later = connection.execute(
        f"{query} m.seq > ? ORDER BY m.seq LIMIT ?",
        (*values, now, one.seq, min(max(after, 0), _MOST_ROWS)),
    )
    found = [*reversed([row(each) for each in earlier]), one, *map(row, later)]
    return [each.entry for each in found]


def load(connection: Connection, seqs: Sequence[int]) -> dict[int, Entry]:
    """Give the entries of rows by number."""
    # One JSON parameter: the number of parameters is limited.
    rows = connection.execute(
        f"SELECT {_ENTRY} FROM entries WHERE seq IN (SELECT value FROM json_each(?))",
        (str(list(seqs)),),
    )
    return {found[0]: entry_of(found[1:]) for found in rows}


def counts(connection: Connection, now: float) -> list[tuple[str, str, int]]:
    """Count latest memories by project and type."""
    rows = connection.execute(
        "SELECT project, type, count(*) FROM entries AS m "
        f"WHERE m.kind = 'memory' AND m.latest = 1 AND {LIVE} GROUP BY 1, 2",
        (now,),
    )
    return [(unpacked(project), type_, number) for project, type_, number in rows]


def row(found: Sequence[Any]) -> Row:
    """Read a row's number and ``COLUMNS``."""
    return Row(found[0], entry_of(found[1:]))
