"""Values that an edit of ours repeated from a lower layer, which has other values now."""

from __future__ import annotations

from collections.abc import Iterator

from dshloop.files import shown
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.edits.pins import Pin, fingerprint
from dshloop.profiles.explain_text import shown_value
from dshloop.profiles.masking import masked
from dshloop.profiles.patch import Assignment
from dshloop.profiles.row_names import id_text


def check_pins(case: Case) -> Iterator[Finding]:
    """Find repeated values that are still as they were repeated though their origin moved on."""
    if not case.pins:
        return
    for change in case.composition.assignments:
        file = case.user_file(change.patch.layer)
        if change.key != "config" or file is None:
            continue
        row, path = id_text(change.row.get("id")), shown(file.path)
        for pin in case.pins:
            if (pin.file, pin.row) == (path, row):
                yield from _outdated(case, change, pin)


def _outdated(case: Case, change: Assignment, pin: Pin) -> Iterator[Finding]:
    after, before = change.after, change.before
    if not isinstance(after, dict) or not isinstance(before, dict):
        return
    for key, value in pin.values.items():
        if key not in after or fingerprint(after[key]) != value:
            continue
        if key in before and fingerprint(before[key]) == value:
            continue
        here = shown_value(masked(after[key], (key,)))
        there = shown_value(masked(before[key], (key,))) if key in before else "nothing"
        why = f"config.{key} repeats {here}; the layers below say {there} now"
        place = case.composition.place(after, key) or change.place
        fix = f"dshloop profile set {pin.row}.{key} VALUE, or take the patch out and set it anew"
        yield Finding(kinds.PIN_OUTDATED, why, place, pin.row, fix=fix)
