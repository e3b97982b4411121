"""Plugins that are switched off for good, and where they stood.

A disabled plugin is off the bundle list, and its dependency is moved to ``devDependencies``:
pnpm keeps it installed there, and dsh activates nothing from there, while every plugin command of
dsh 0.1.2 puts a bundle under ``dependencies`` back on the list (dsh-profiles 12). Why it is off,
and what stood before it, is kept in the profile's package.json under ``dshloop``, a key that dsh
and pnpm leave alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dshloop.profiles.layout import Manifest

_KEY = "dshloop"
SHELF = "devDependencies"


@dataclass(frozen=True, slots=True)
class Disabled:
    """One plugin that is off.

    ``after`` are the bundles that stood before it, disabled ones included; ``group`` is where its
    dependency was, None when it is no dependency of the profile; ``at`` is an ISO time in UTC.
    """

    name: str
    after: tuple[str, ...] = ()
    group: str | None = None
    reason: str | None = None
    at: str | None = None

    @property
    def why(self) -> str:
        """Say why it is off."""
        when = f" on {self.at[:10]}" if self.at else ""
        said = f": {self.reason}" if self.reason else ""
        return f"disabled by dshloop{when}{said}"

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json, which is also what is kept."""
        return {
            "after": list(self.after),
            "group": self.group,
            "reason": self.reason,
            "at": self.at,
        }


def disabled_plugins(manifest: Manifest) -> dict[str, Disabled]:
    """Read which plugins are off; entries that aren't ours to understand are left out."""
    return {
        name: Disabled(
            name,
            tuple(text for text in _items(entry.get("after")) if isinstance(text, str)),
            _text(entry.get("group")),
            _text(entry.get("reason")),
            _text(entry.get("at")),
        )
        for name, entry in _kept(manifest).items()
        if isinstance(entry, dict)
    }


def with_disabled(manifest: Manifest, name: str, *, reason: str | None, at: str) -> Manifest:
    """Give the manifest with a plugin off: list, dependency group and record."""
    order = full_order(manifest)
    place = order.index(name) if name in order else len(order)
    group = next((one for one in _groups(manifest) if name in _groups(manifest)[one]), None)
    known = disabled_plugins(manifest).get(name)
    kept = known.after if known and name not in manifest.bundles else tuple(order[:place])
    origin = known.group if known and group == SHELF and known.group else group
    record = Disabled(name, kept, origin, reason, at)
    bundles = [bundle for bundle in manifest.bundles if bundle != name]
    after = _with_record(manifest.with_bundles(bundles), name, record.as_json())
    return _regrouped(after, name, group, SHELF) if group == "dependencies" else after


def with_enabled(manifest: Manifest, name: str) -> Manifest:
    """Give the manifest with a plugin back where it stood, and the record gone.

    One that is off without a record goes to the end, as a new one would.
    """
    record = disabled_plugins(manifest).get(name)
    bundles = list(manifest.bundles)
    if name not in bundles:
        bundles.insert(_place(bundles, record), name)
    after = forget(manifest.with_bundles(bundles), [name])
    target = record.group if record and record.group else "dependencies"
    current = next((one for one in _groups(manifest) if name in _groups(manifest)[one]), None)
    return after if current in (None, target) else _regrouped(after, name, current, target)


def forget(manifest: Manifest, names: Sequence[str]) -> Manifest:
    """Give the manifest without the records of these plugins."""
    for name in names:
        if name in _kept(manifest):
            manifest = _with_record(manifest, name, None)
    return manifest


def full_order(manifest: Manifest) -> list[Any]:
    """Give the bundle list with the disabled ones where they would come back."""
    order = list(manifest.bundles)
    waiting = [one for one in disabled_plugins(manifest).values() if one.name not in order]
    for record in sorted(waiting, key=lambda one: len(one.after)):
        order.insert(_place(order, record), record.name)
    return order


def _place(bundles: Sequence[Any], record: Disabled | None) -> int:
    if record is None:
        return len(bundles)
    places = [place for place, bundle in enumerate(bundles) if bundle in record.after]
    return max(places) + 1 if places else 0


def _groups(manifest: Manifest) -> dict[str, Mapping[str, Any]]:
    names = ("dependencies", "optionalDependencies", SHELF)
    found = {name: manifest.value.get(name) for name in names}
    return {name: members for name, members in found.items() if isinstance(members, dict)}


def _regrouped(manifest: Manifest, name: str, source: str | None, target: str) -> Manifest:
    value = dict(manifest.value)
    source = source or target
    spec = value[source][name]
    left = {other: text for other, text in value[source].items() if other != name}
    members = value.get(target)
    value[source] = left
    value[target] = dict(
        sorted({**(members if isinstance(members, dict) else {}), name: spec}.items())
    )
    if not left and source != "dependencies":
        del value[source]
    return replace(manifest, value=value)


def _kept(manifest: Manifest) -> Mapping[str, Any]:
    own = manifest.value.get(_KEY)
    found = own.get("disabled") if isinstance(own, dict) else None
    return found if isinstance(found, dict) else {}


def _with_record(manifest: Manifest, name: str, record: Mapping[str, Any] | None) -> Manifest:
    """Write or take out one record; a key of ours with nothing in it goes."""
    value = dict(manifest.value)
    own = value.get(_KEY)
    own = dict(own) if isinstance(own, dict) else {}
    kept = {other: entry for other, entry in _kept(manifest).items() if other != name}
    if record is not None:
        kept[name] = dict(record)
    own["disabled"] = kept
    if not kept:
        del own["disabled"]
    value[_KEY] = own
    if not own:
        del value[_KEY]
    return replace(manifest, value=value)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
