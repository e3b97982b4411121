"""The layers of bundles that only dsh can read, told from its dumps (design 3).

A bundle alone shows the rows it inserts, and its warnings name the rows of others that it would
change. A second dump, above a probe with just these rows, shows what it does to them. So a learned
layer holds wherever it stands. Each list of bundles that a profile has is then compared with dsh's
own dump of it; where a difference is left, the layers of that very list are the differences of
the dumps of its prefixes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dshloop.dsh_yaml.values import Value, identity
from dshloop.errors import DshloopError, ProgramFailedError
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.inbox.ask import NOT_THERE, PROBE, Answer, Ask
from dshloop.profiles.inbox.difference import (
    InexpressibleError,
    difference,
    from_json,
    insertion,
    same,
)
from dshloop.profiles.inbox.learned import Learned, Patches, learned_layer, list_key
from dshloop.profiles.patch import Row

_ROUNDS = 4  # of probing; a name and a group are one round each
_NOT_FOUND = "patch: entry "
_NOT_FOUND_INSERT = "patch insert: entry "
_MISMATCH = "patch: name mismatch for "
_NO_ID = "patch: id is required"
_DECODER = json.JSONDecoder(object_hook=from_json)


def learn(known: Learned, bundles: Sequence[str], ask: Ask) -> None:
    """Add all that a bundle list needs to what is known.

    Raises ProgramFailedError (PROGRAM_FAILED) when dsh doesn't answer, or does with these bundles
    what no patches do.
    """
    new = list(dict.fromkeys(name for name in bundles if name not in known.bundles))
    reasons = ask(new).skipped if new else {}
    for name in new:
        reason = reasons.get(name)
        if reason is None:
            known.bundles[name] = _bundle_or_nothing(name, ask)
        else:
            known.bundles[name] = None if reason.startswith(NOT_THERE) else reason
    usable = known.usable(bundles)
    key = list_key(usable)
    if usable and key not in known.lists:
        fits = _fits(usable, known.patches(usable), ask(usable))
        known.lists[key] = None if fits else learn_prefixes(usable, ask)


def _bundle_or_nothing(name: str, ask: Ask) -> Patches:
    """Give a bundle's patches; none, which no list accepts, when only lists can be learned."""
    try:
        return learn_bundle(name, ask)
    except InexpressibleError:
        return []


def learn_bundle(name: str, ask: Ask) -> Patches:
    """Give the patches of one bundle, whatever stands below it."""
    alone = ask([name])
    remarks = [Remark.read(warned.message) for warned in alone.warnings]
    strangers = [remark for remark in remarks if remark.missing]
    done = _Effects(*_probed(name, strangers, ask)) if strangers else _Effects((), ())
    items = [done.take(remark) if remark.missing else remark.patch for remark in remarks]
    return _among(items, remarks, insertion(alone.rows))


def learn_prefixes(bundles: Sequence[str], ask: Ask) -> list[Patches]:
    """Give the patches of each member of one list, which hold in this list only.

    Raises ProgramFailedError (PROGRAM_FAILED) when dsh does there what no patches do.
    """
    try:
        return _prefixes(bundles, ask)
    except InexpressibleError as fault:
        raise ProgramFailedError(
            f"what {', '.join(bundles)} do can't be told from dsh's dumps: {fault}"
        ) from fault


def _prefixes(bundles: Sequence[str], ask: Ask) -> list[Patches]:
    found: list[Patches] = []
    below = Answer("", [], [], {})
    for count in range(1, len(bundles) + 1):
        answer = ask(bundles[:count])
        warned = answer.warnings[len(below.warnings) :]
        remarks = [Remark.read(one.message) for one in warned]
        items = [remark.patch for remark in remarks]
        found.append(_among(items, remarks, difference(below.rows, answer.rows)))
        below = answer
    if not _fits(bundles, found, below):
        raise InexpressibleError("composing them again gives another result")
    return found


def _among(items: Patches, remarks: Sequence[Remark], made: Patches) -> Patches:
    """Put what a bundle inserts before its first remark on a row of its own."""
    own = set(map(_key, _inserted(made)))
    speaks_of_own = (not remark.missing and _key(remark.patch) in own for remark in remarks)
    start = next((n for n, speaks in enumerate(speaks_of_own) if speaks), len(items))
    return [*items[:start], *made, *items[start:]]


def _inserted(patches: Sequence[Row]) -> Iterator[Row]:
    for patch in patches:
        for row in patch.get("insert", ()):
            if isinstance(row, dict):
                yield row
                children = row.get("config")
                if isinstance(children, list):
                    yield from _inserted([{"insert": children}])


@dataclass(frozen=True, slots=True)
class Remark:
    """One of dsh's warnings, as the patch that causes it and nothing else."""

    patch: Row
    missing: bool = False
    """Whether it would have an effect on a row that isn't there."""

    @classmethod
    def read(cls, message: str) -> Remark:
        """Read the message. Raises InexpressibleError for one that no dsh we know gives."""
        if message.startswith(_NO_ID):
            return cls({})
        inserts = message.startswith(_NOT_FOUND_INSERT)
        if inserts or message.startswith(_NOT_FOUND):
            row_id, rest = _leading(message, _NOT_FOUND_INSERT if inserts else _NOT_FOUND)
            nameable = isinstance(row_id, str | int | float)
            patch = {"id": row_id, "insert": []} if inserts else {"id": row_id}
            return cls(patch, nameable and rest == " not found")
        if message.startswith(_MISMATCH):
            row_id, rest = _leading(message, _MISMATCH)
            name = rest.rpartition(", got ")[2].removesuffix("), skipping")
            return cls({"id": row_id, "name": _value(name)})
        raise InexpressibleError(f"unknown warning: {message}")


class _Effects:
    """What a bundle did to the rows of a probe, handed out once each."""

    def __init__(self, before: Sequence[Row], after: Sequence[Row]) -> None:
        self._names: dict[Any, Value] = {}
        self._done: dict[tuple[Any, bool], Row] = {}
        for old, new in zip(before, after, strict=False):
            key = _key(old)
            if "name" in old:
                self._names[key] = old["name"]
            for patch in _effects(old, new):
                self._done[key, "insert" in patch] = patch

    def take(self, remark: Remark) -> Row:
        """Give the patch that a bundle has where it warned of a missing row."""
        key, inserts = _key(remark.patch), "insert" in remark.patch
        patch = self._done.pop((key, inserts), remark.patch)
        if not inserts and key in self._names:
            return {"id": patch["id"], "name": self._names[key], **patch}
        return patch


def _effects(old: Row, new: Row) -> Iterator[Row]:
    """Give what was assigned to a row of the probe, and what was inserted into it."""
    assigned = {k: v for k, v in new.items() if k not in old or not same(old[k], v)}
    children = assigned.get("config")
    if "group" in old and isinstance(children, list) and children[:1] == old["config"]:
        del assigned["config"]
        yield {"id": old["id"], "insert": children[1:]}
    if assigned:
        yield {"id": old["id"], **assigned}


def _probed(name: str, strangers: Sequence[Remark], ask: Ask) -> tuple[list[Row], list[Row]]:
    """Give the rows that a bundle looks for, and what it makes of them."""
    rows: dict[Any, Row] = {}
    for remark in strangers:
        row = rows.setdefault(_key(remark.patch), {"id": remark.patch["id"]})
        if "insert" in remark.patch:
            row.update(_group())
    for _ in range(_ROUNDS):
        answer = ask([name], probe=list(rows.values()))
        met = [_meet(rows, Remark.read(warned.message)) for warned in answer.warnings]
        if not any(met):
            break
    return list(rows.values()), answer.rows


def _meet(rows: Mapping[Any, Row], remark: Remark) -> bool:
    """Give a row what a warning says it lacks; False when it lacks nothing."""
    row = rows.get(_key(remark.patch))
    wanted = {"name": remark.patch["name"]} if "name" in remark.patch else _group()
    if row is None or remark.missing or wanted.keys() <= row.keys():
        return False
    row.update(wanted)
    return True


def _key(row: Row) -> Any:
    return identity(row.get("id"))


def _group() -> Row:
    """Give the keys of a group, with values that no bundle assigns."""
    return {"group": PROBE, "config": [{"id": PROBE}]}


def _fits(bundles: Sequence[str], patches: Sequence[Patches], answer: Answer) -> bool:
    """Tell whether layers give dsh's dump of them, and its warnings."""
    try:
        composition = compose(list(map(learned_layer, bundles, patches)))
        text = dump_text(composition)
    except DshloopError:
        return False
    return text == answer.text and composition.warnings == answer.warnings


def _leading(message: str, start: str) -> tuple[Value, str]:
    """Give the JSON value behind a start, and the rest."""
    try:
        value, end = _DECODER.raw_decode(message, len(start))
    except ValueError:
        raise InexpressibleError(f"unknown warning: {message}") from None
    return value, message[end:]


def _value(text: str) -> Value:
    return _leading(text, "")[0]
