"""Mends of what a check found, planned as changes of whole files and written as one entry.

Mends are made on contents in memory and checked anew, round by round, until none is left; so
what comes of several mends is what was judged. Files that a mend would leave unreadable stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dshloop.errors import DshloopError
from dshloop.files import shown
from dshloop.journal import Change, Content, Plan
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.check import Report, check_profile
from dshloop.profiles.checks.edits import yaml_edit
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.subject import Case, Files
from dshloop.profiles.layers import parse_layer
from dshloop.profiles.plugins.changing import content_at

_MOST_ROUNDS = 100
_MAY_STAY_BROKEN = (kinds.PATCH_ENCODING, kinds.PATCH_BOM)


@dataclass(frozen=True, slots=True)
class Repair:
    """What would be mended: the changes, what each is for, and what is left after them."""

    profile: str
    plan: Plan
    mended: tuple[Finding, ...]
    left: Report

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json; the caller adds whether it was written."""
        return {
            "profile": self.profile,
            "ok": self.left.ok,
            "mends": [_mend_json(finding) for finding in self.mended],
            "diff": self.plan.diff(),
            "left": [finding.as_json() for finding in self.left.findings],
        }


def plan_repair(case: Case, *, safe_only: bool = False) -> Repair:
    """Plan all mends, or those alone that are safe to do unasked; writes nothing."""
    files, mended, refused = case.files, list[Finding](), set[Any]()
    report = check_profile(case)
    for _ in range(_MOST_ROUNDS):
        chosen = list(_one_round(report.findings, safe_only, refused))
        if not chosen:
            break
        for group in _by_file(chosen):
            files, made = _mended(case, files, group)
            mended += made
            refused |= {finding.identity for finding in group if finding not in made}
        report = check_profile(replace(case, files=files))
    changes = [
        Change(path, _on_disk(case, path), content)
        for path, content in files.changed.items()
        if content != _on_disk(case, path)
    ]
    return Repair(case.profile.name, Plan(tuple(changes)), tuple(mended), report)


def _one_round(
    findings: Sequence[Finding], safe_only: bool, refused: set[Any]
) -> Iterator[Finding]:
    """Choose mends that don't disturb each other: in a file from its end, none around another.

    A mend of a whole file goes alone.
    """
    wanted = [
        finding
        for finding in findings
        if finding.mend is not None
        and finding.identity not in refused
        and (finding.kind.mends == "safe" or not safe_only)
    ]
    whole = {f.mend.path: f for f in reversed(wanted) if f.mend and not f.mend.at}
    taken: dict[Path, tuple[str | int, ...]] = {}
    for finding in sorted(wanted, key=_place_in_file, reverse=True):
        mend = finding.mend
        assert mend is not None
        if mend.path in whole:
            if whole[mend.path] is finding:
                yield finding
            continue
        # from the end of a file on, an edit moves only what is behind it or inside of it
        last = taken.get(mend.path, ())
        if not last or last[: len(mend.at)] != mend.at:
            taken[mend.path] = mend.at
            yield finding


def _place_in_file(finding: Finding) -> tuple[str, tuple[tuple[bool, Any], ...]]:
    assert finding.mend is not None
    steps = tuple((isinstance(step, str), step) for step in finding.mend.at)
    return str(finding.mend.path), steps


def _by_file(chosen: Sequence[Finding]) -> list[list[Finding]]:
    """Put together what is spliced into one file; every other mend stands alone."""
    groups: dict[Any, list[Finding]] = {}
    for finding in chosen:
        assert finding.mend is not None
        key = finding.mend.path if finding.mend.splices else id(finding)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _mended(case: Case, files: Files, group: Sequence[Finding]) -> tuple[Files, Sequence[Finding]]:
    """Give the files with the mends of one file made at once, and the mends that could be made.

    When they can't be made together, or it changes nothing, each half is tried by itself.
    """
    try:
        return _made(case, files, group), group
    except (DshloopError, LookupError):
        if len(group) == 1:
            return files, ()
    half = len(group) // 2
    files, first = _mended(case, files, group[:half])
    files, second = _mended(case, files, group[half:])
    return files, [*first, *second]


def _made(case: Case, files: Files, group: Sequence[Finding]) -> Files:
    mends = [finding.mend for finding in group if finding.mend is not None]
    path, before = mends[0].path, _now(case, files, mends[0].path)
    together = yaml_edit(path, [mend.splices for mend in mends if mend.splices])
    after = together(before) if mends[0].splices else mends[0].edit(before)
    if after == before:
        raise LookupError("the mends change nothing")
    if _is_patch_file(case, path) and group[0].kind not in _MAY_STAY_BROKEN:
        assert isinstance(after, bytes)
        parse_layer(after, shown(path), path=path)
    return files.with_content(path, after)


def _is_patch_file(case: Case, path: Path) -> bool:
    return path in (case.profile.patch, case.profile.home_patch)


def _now(case: Case, files: Files, path: Path) -> Content:
    if path in files.changed:
        return files.changed[path]
    return _on_disk(case, path)


def _on_disk(case: Case, path: Path) -> Content:
    """Give what is there; a link to a file of the user's is followed, as a write does."""
    if _is_patch_file(case, path) or path == case.profile.manifest:
        return Files().read(path)
    return content_at(path)


def _mend_json(finding: Finding) -> dict[str, Any]:
    assert finding.mend is not None
    return {
        "code": finding.code,
        "row": finding.row,
        "file": shown(finding.mend.path),
        "line": finding.place.line if finding.place else None,
        "why": finding.why,
        "what": finding.mend.what,
    }
