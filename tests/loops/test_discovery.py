"""What packages offer, and the file that remembers it."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.loops import discovery
from dshloop.loops.discovery import Offered, offered, remembered

OLD = 1_700_000_000
THEIRS = Offered("theirs", "pack:loop", "pack")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of packages, with one that offers a loop and a driver."""
    folder = tmp_path / "site"
    install(folder, "pack", "[dshloop.loops]\ntheirs = pack:loop\n[dshloop.drivers]\nd = pack:D\n")
    monkeypatch.setattr(sys, "path", [str(folder), str(tmp_path / "nowhere")])
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "data" / "cache" / "packages.json"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The groups for which the metadata of packages was read."""
    groups: list[str] = []
    real = discovery._entry_points

    def count(group: discovery.Group) -> Iterator[Offered]:
        groups.append(group)
        return real(group)

    monkeypatch.setattr(discovery, "_entry_points", count)
    return groups


def install(site: Path, name: str, points: str, changed: int = OLD) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    os.utime(site, (changed, changed))


def test_one_package_with_broken_entry_points_hides_no_other(site: Path) -> None:
    install(site, "aaa", "[dshloop.loops]\nno equals sign\n")
    assert offered("dshloop.loops") == [THEIRS]


def test_the_second_answer_comes_from_the_cache(site: Path, cache: Path, asked: list[str]) -> None:
    assert remembered("dshloop.loops", cache) == [THEIRS]
    assert remembered("dshloop.loops", cache) == [THEIRS]
    assert [one.id for one in remembered("dshloop.drivers", cache)] == ["d"]
    assert asked == ["dshloop.loops", "dshloop.drivers"]
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.parent.stat().st_mode) == 0o700
    assert [path.name for path in cache.parent.iterdir()] == ["packages.json"]


def test_a_new_package_is_seen_at_once(site: Path, cache: Path) -> None:
    remembered("dshloop.loops", cache)
    install(site, "more", "[dshloop.loops]\nmore = more:loop\n", OLD + 1)
    assert [one.id for one in remembered("dshloop.loops", cache)] == ["more", "theirs"]


def test_another_path_is_another_answer(
    site: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered("dshloop.loops", cache)
    monkeypatch.setattr(sys, "path", [])
    assert remembered("dshloop.loops", cache) == []


def test_nothing_is_kept_while_an_installer_may_be_at_work(site: Path, cache: Path) -> None:
    now = int(time.time())
    os.utime(site, (now, now))
    assert remembered("dshloop.loops", cache) == [THEIRS]
    assert not cache.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"\xff\xfe{",
        lambda _: b"[" * 100_000,
        lambda _: b"[]",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b'"dshloop.loops": [[', b'"dshloop.loops": [7, ['),
        lambda text: text.replace(b'["theirs", "pack:loop", "pack"]', b'["theirs", 1, 2]'),
        lambda text: text.replace(b'["theirs", "pack:loop", "pack"]', b'["theirs"]'),
    ],
)
def test_a_damaged_cache_is_none(site: Path, cache: Path, change: object) -> None:
    remembered("dshloop.loops", cache)
    whole = cache.read_bytes()
    cache.write_bytes(change(whole))  # type: ignore[operator]
    assert remembered("dshloop.loops", cache) == [THEIRS]
    assert json.loads(cache.read_bytes()) == json.loads(whole)


def test_a_cache_that_cannot_be_read_or_written_is_none(site: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    assert remembered("dshloop.loops", cache) == [THEIRS]
    blocked = cache.parent / "file"
    blocked.write_text("")
    assert remembered("dshloop.loops", blocked / "packages.json") == [THEIRS]
