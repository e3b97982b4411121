from __future__ import annotations

import pytest

from dshloop.profiles.plugins.ranges import accepts, is_exact, newer, newest

# what npm's own semver answers with prereleases included, checked against it
ACCEPTED = [
    ("0.2.1-rc.2", ["*", "x", ">=0.2.0", "^0.2.0", "~0.2", "0.2.x", "<0.2.1", ">=0.2.1-rc.1"]),
    ("0.2.1-rc.2", ["0.2.1 - 0.3", "^0.1.0 || ^0.2.0", "v0.2.1-rc.2", ">0.2.0-rc.9", "||"]),
    ("0.2.0-rc.1", ["~0.2", "0.2", "^0.2", "0.2.0 - 0.3.0", "~0.2.x"]),
    ("0.3.0-rc.1", [">0.2"]),
    ("1.0.0-beta", ["1 - 2", ">0", "~1", ">=1.x", "=1"]),
    ("20.20.2", [">=18", "^20 || >=22", ">= 20"]),
]
REFUSED = [
    ("0.2.1-rc.2", ["^0.2.1", "~0.2.1", ">0.2", "<0.2", "latest", "workspace:*", "not a range"]),
    ("0.2.1-rc.2", ["", "  "]),
    ("0.2.1", ["0.2.1-rc.2", "=0.2.1-rc.2"]),
    ("0.2.0-rc.1", ["^0.1.0 || ^0.2.0", "<0.2", "0.1.x", ">=0.2.0"]),
    ("0.3.0-rc.1", ["^0.2.1", "~0.2", ">=0.1 <0.3", "<=0.2", "^0.2.1-rc.1"]),
    ("2.0.0-0", ["~1", "<2.x", "^1.2.3+build"]),
    ("no version", ["*"]),
]


def _cases(rows: list[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    return [(version, text) for version, ranges in rows for text in ranges]


@pytest.mark.parametrize(("version", "text"), _cases(ACCEPTED))
def test_a_version_in_a_range(version: str, text: str) -> None:
    assert accepts(text, version)


@pytest.mark.parametrize(("version", "text"), _cases(REFUSED))
def test_a_version_outside_a_range(version: str, text: str) -> None:
    assert not accepts(text, version)


def test_the_newest_in_range_is_what_npm_installs() -> None:
    versions = ["1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1", "odd"]
    assert newest(versions, "^1.0.0") == "1.10.0"
    assert newest(versions) == "1.10.0"
    assert newest(versions, "^3") is None
    assert newest(versions, "latest") is None


def test_order_and_exactness() -> None:
    assert newer("1.10.0", "1.9.0")
    assert newer("1.0.0", "1.0.0-rc.1")
    assert not newer("1.0.0", "1.0.0")
    assert not newer("odd", "1.0.0")
    assert [is_exact(text) for text in ("1.0.0", "=1.0.0", "^1.0.0", "1.0", "*")] == [
        True, True, False, False, False,
    ]  # fmt: skip
