"""Version ranges as npm reads them, prereleases taking part, which is how dsh reads them.

The library node-semver parses; two things npm does with prereleases it doesn't do, and they are
done here: prereleases are compared whatever the range, and a bound that npm works out by itself
(``~0.2`` is ``>=0.2.0-0 <0.3.0-0``) has the lowest prerelease of its version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

_OPERATOR_BLANKS = re.compile(r"([<>=~^])\s+")


def accepts(range_text: str, version: str) -> bool:
    """Whether a version is in a range; an empty range never matches (dsh-profiles 12).

    A range or version that npm can't read matches nothing.
    """
    wanted = _version(version)
    if wanted is None or not range_text.strip():
        return False
    return any(_within(part, wanted) for part in re.split(r"\s*\|\|\s*", range_text))


def newest(versions: Iterable[str], range_text: str = "*") -> str | None:
    """Give the newest version in a range as npm installs it: a prerelease only where asked for."""
    from nodesemver import max_satisfying

    known = [version for version in versions if _version(version) is not None]
    try:
        found: str | None = max_satisfying(known, range_text, loose=False)
    except ValueError:
        return None
    return found


def newer(one: str, other: str) -> bool:
    """Whether one version comes after the other; versions npm can't read are never newer."""
    first, second = _version(one), _version(other)
    return first is not None and second is not None and first.compare(second) > 0


def is_exact(range_text: str) -> bool:
    """Whether a range is one version and no other."""
    return _version(range_text.strip().removeprefix("=").strip()) is not None


def is_range(text: str) -> bool:
    """Whether npm reads a text as a range; else it is the name of a tag."""
    from nodesemver import valid_range

    return valid_range(text, loose=False) is not None


def _version(text: str) -> Any | None:
    from nodesemver import semver

    try:
        return semver(text, loose=False)
    except ValueError:
        return None


def _within(part: str, version: Any) -> bool:
    from nodesemver import make_range

    try:
        comparators = make_range(part, loose=False).set[0]
    except ValueError:
        return False
    written = _OPERATOR_BLANKS.sub(r"\1", part)
    return all(_holds(version, *bound) for bound in _bounds(comparators, written))


def _bounds(comparators: Iterable[Any], written: str) -> Iterator[tuple[str, Any]]:
    """Yield operator and version of each bound that is one, computed ones with ``-0``."""
    for comparator in comparators:
        bound = getattr(comparator.semver, "version", None)
        if bound is None:
            continue
        operator = comparator.operator
        plain = not comparator.semver.prerelease
        if plain and operator in ("<", ">=") and _computed(operator, bound, written):
            bound += "-0"
        yield operator, bound


def _computed(operator: str, bound: str, written: str) -> bool:
    before = "<v?" if operator == "<" else r"(?<![\d.])"
    literal = re.search(rf"{before}{re.escape(bound)}(?![\d.])", written) is not None
    return not literal or (operator == ">=" and " - " in written)


def _holds(version: Any, operator: str, bound: str) -> bool:
    from nodesemver import cmp

    return bool(cmp(version, operator, bound, False))
