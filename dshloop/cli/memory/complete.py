"""What completion offers for the words of `dshloop memory`; imported with it, so light."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshloop.memory.entries import Entry
    from dshloop.memory.store import MemoryReader

NEWEST = 50
_LOOKED_AT = 300  # newest entries whose labels are offered

Offered = list[tuple[str, str]]


def known_types(kinds: Sequence[str]) -> tuple[str, ...]:
    """Give the types that entries of some kinds may have."""
    from dshloop.memory.entries import MEMORY, OBSERVATION, TYPES
    from dshloop.memory.vocabulary import OBSERVATION_TYPES

    memory = TYPES if MEMORY in kinds else ()
    return (*memory, *(OBSERVATION_TYPES if OBSERVATION in kinds else ()))


def types(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the types of the entries that a verb is about."""
    from dshloop.memory.entries import KINDS, MEMORY, OBSERVATION

    about = {"list": (MEMORY,), "observations": (OBSERVATION,)}.get(ctx.info_name, KINDS)
    return _fitting(((name, "type") for name in known_types(about)), incomplete)


def memory_types(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the types of memories."""
    from dshloop.memory.entries import TYPES

    return _fitting(((name, "type") for name in TYPES), incomplete)


def formats(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the formats of answers."""
    from dshloop.cli.memory.common import FORMATS

    return _fitting(((name, "format") for name in FORMATS), incomplete)


def exports(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the formats of export."""
    known = (("dshloop", "lossless"), ("agentmemory", "its export"), ("markdown", "a folder"))
    return _fitting(known, incomplete)


def imports(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the formats of import."""
    from dshloop.memory.interchange.sources import AUTO, FORMATS

    return _fitting(((name, "format") for name in (AUTO, *FORMATS)), incomplete)


def conflicts(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer what becomes of what is there already."""
    from dshloop.memory.answers import CONFLICTS

    return _fitting(((name, "") for name in CONFLICTS), incomplete)


def moments(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer ages; dates are typed."""
    ages = (("1h", "an hour ago"), ("24h", "a day ago"), ("7d", "a week ago"), ("30d", ""))
    return _fitting(ages, incomplete)


def stores(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the names of stores."""
    from dshloop.memory.stores import STORES

    return _fitting(((name, "store") for name in STORES), incomplete)


def hooks(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the hooks that observations come from."""
    from dshloop.memory.vocabulary import HOOKS

    return _fitting(((name, "hook") for name in HOOKS), incomplete)


def projects(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the projects that have memories, then those of sessions."""
    with _store(ctx) as store:
        counted = [(name, f"{count} memories") for name, count in store.stats().projects.items()]
        seen = [(one.project, "sessions") for one in store.sessions(limit=NEWEST)]
    return _fitting(_once([*counted, *seen]), incomplete)


def sessions(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the newest sessions."""
    with _store(ctx) as store:
        found = store.sessions(limit=NEWEST)
    rows = [(one.id, one.title or one.first_prompt or one.project) for one in found]
    return _fitting(rows, incomplete)


def ids(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the newest entries."""
    from dshloop.memory.answers import Filters
    from dshloop.memory.entries import KINDS, MEMORY

    kinds = (MEMORY,) if ctx.info_name in ("edit", "history") else KINDS
    with _store(ctx) as store:
        entries = store.list(Filters(kinds=kinds), limit=NEWEST)
    return _fitting([(one.id, one.title) for one in entries], incomplete)


def agents(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the agents of the newest entries."""
    return _labels(ctx, incomplete, "agent", lambda entry: [entry.agent or ""])


def concepts(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the concepts of the newest entries."""
    return _labels(ctx, incomplete, "concept", lambda entry: entry.concepts)


def files(ctx: Any, args: list[str], incomplete: str) -> Offered:
    """Offer the files that the newest entries are about."""
    return _labels(ctx, incomplete, "file", lambda entry: entry.files)


def _labels(
    ctx: Any, incomplete: str, what: str, labels: Callable[[Entry], Iterable[str]]
) -> Offered:
    with _store(ctx) as store:
        entries = store.list(limit=_LOOKED_AT)
    found = ((label, what) for entry in entries for label in labels(entry) if label)
    return _fitting(_once(found), incomplete)


def _once(rows: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    kept: dict[str, str] = {}
    for value, text in rows:
        if value:
            kept.setdefault(value, text)
    return kept.items()


def _fitting(rows: Iterable[tuple[str, str]], incomplete: str) -> Offered:
    return [row for row in rows if row[0].startswith(incomplete)]


@contextmanager
def _store(ctx: Any) -> Iterator[MemoryReader]:
    """Lend the store that the words so far mean."""
    from dshloop.cli.memory.opening import opened_to_read

    with opened_to_read(ctx) as store:
        yield store
