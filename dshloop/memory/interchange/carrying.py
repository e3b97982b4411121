"""Records into a store: redacted, counted, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dshloop.errors import DshloopError, TransferUnsupportedError
from dshloop.memory.answers import Document, Filters, Put, Record
from dshloop.memory.entries import Memory, Observation, Session
from dshloop.memory.interchange.paging import Paged, Source
from dshloop.memory.interchange.report import Item, Report
from dshloop.memory.interchange.untimed import Untimed
from dshloop.memory.store import MemoryReader, MemoryStore, Transferable
from dshloop.redact import redact

Told = Callable[[int], None]
_TOLD_EVERY = 1_000
_DEEPEST = 100
_NESTING = (Mapping, list, tuple)


def source_of(store: MemoryReader) -> Source:
    """Give what a store's records are read from: as they are, or else page by page."""
    return store if isinstance(store, Source) else Paged(store)


def transferable(store: MemoryReader) -> Transferable:
    """Give the store as one that takes records as they are. Raises TRANSFER_UNSUPPORTED."""
    if isinstance(store, Transferable):
        return store
    raise TransferUnsupportedError(
        f'the store "{store.name}" can\'t take records with their ids, times and versions',
        store=store.name,
    )


def carry(
    store: MemoryStore,
    items: Iterable[Item],
    report: Report,
    *,
    on_conflict: str,
    dry_run: bool = False,
    allow_secrets: bool = False,
    now: float = 0.0,
    told: Told | None = None,
) -> Report:
    """Put items into a store. What was counted is stored, whatever happens later.

    What has expired by ``now`` is left out.
    """
    putting = put(
        store, items, report,
        on_conflict=on_conflict, dry_run=dry_run, allow_secrets=allow_secrets, now=now,
    )  # fmt: skip
    for count, _ in enumerate(putting, start=1):
        if told is not None and count % _TOLD_EVERY == 0:
            told(count)
    return report


def put(
    store: MemoryStore,
    items: Iterable[Item],
    report: Report,
    *,
    on_conflict: str,
    dry_run: bool = False,
    allow_secrets: bool = False,
    now: float = 0.0,
) -> Iterator[Put]:
    """As `carry`; yield what came of each."""
    target = transferable(store)
    records = _records(store, items, report, now, allow_secrets=allow_secrets)
    for done in target.put(records, on_conflict=on_conflict, dry_run=dry_run):
        report.put(done)
        yield done


def migrate(
    source: MemoryReader, target: MemoryStore, report: Report, where: Filters | None, **how: Any
) -> Report:
    """Carry records from store to store; `how` is as in `carry`."""
    found = source_of(source).rows(where)
    items = (Item(record, "") for record in found)
    return carry(target, items, report, **how)


def cleaned(record: Record) -> tuple[Record, int]:
    """Take the secrets out of a record; give how many there were."""
    names = _TEXTS[type(record)]
    done = redact([getattr(record, name) for name in names], private=True)
    if not done.found:
        return record, 0
    values = dict(zip(names, done.value, strict=True))
    for name in ("concepts", "files"):
        if name in values:
            values[name] = tuple(values[name])
    clean: Record = record._replace(**values)
    return clean, done.found


_TEXTS: dict[type[Any], tuple[str, ...]] = {
    Session: ("title", "first_prompt", "summary"),
    Memory: ("title", "content", "concepts", "files", "source"),
    Observation: ("title", "subtitle", "content", "concepts", "files", "source"),
    Document: ("value",),
}


def _records(
    store: MemoryStore, items: Iterable[Item], report: Report, now: float, *, allow_secrets: bool
) -> Iterator[Record]:
    for item in items:
        if item.fault:
            report.lose(item.fault, item.place)
            continue
        record = item.record
        reason = _unfit(record.memory if isinstance(record, Untimed) else record, now)
        if reason:
            report.lose(reason, item.place)
            continue
        if not allow_secrets:
            record, found = _clean(record)
            report.redacted += found
        yield record.as_known(_known(store, record)) if isinstance(record, Untimed) else record


def _unfit(record: Record, now: float) -> str:
    """Say why a record can't be stored, "" when it can."""
    if isinstance(record, Memory) and record.expires_at is not None and record.expires_at <= now:
        return "it has expired"
    if any("\ud800" <= one <= "\udfff" for name in _names(record) for one in name):
        return "its id is no Unicode"
    free = record.value if isinstance(record, Document) else None
    if isinstance(record, Session):
        free = record.summary
    elif isinstance(record, (Memory, Observation)):
        free = record.source
    return "its JSON is nested too deeply" if _is_deep(free) else ""


def _names(record: Record) -> tuple[str, ...]:
    """Give the names that a store can't keep as a blob, as it does other texts."""
    if isinstance(record, Memory):
        return (record.id, record.previous or "")
    if isinstance(record, Observation):
        return (record.id,)
    return (record.of,) if isinstance(record, Document) else ()


def _is_deep(value: Any) -> bool:
    """Tell a value that is nested deeper than what is stored, shown and redacted with ease."""
    level = [value]
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, Mapping):
                inner += (member for member in one.values() if isinstance(member, _NESTING))
            elif isinstance(one, (list, tuple)):
                inner += (member for member in one if isinstance(member, _NESTING))
        if not inner:
            return False
        level = inner
    return True


def _clean(record: Any) -> tuple[Any, int]:
    if not isinstance(record, Untimed):
        return cleaned(record)
    memory, found = cleaned(record.memory)
    assert isinstance(memory, Memory)
    return Untimed(memory), found


def _known(store: MemoryStore, record: Untimed) -> Memory | None:
    try:
        found = store.get(record.memory.id)
    except DshloopError:
        return None
    return found if isinstance(found, Memory) else None
