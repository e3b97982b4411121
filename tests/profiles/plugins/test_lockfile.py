from __future__ import annotations

from pathlib import Path

from dshloop.profiles.plugins.lockfile import integrity_of, moved, read_lock

LOCK = b"""\
lockfileVersion: '9.0'

settings:
  autoInstallPeers: false

importers:

  .:
    dependencies:
      '@s/beta':
        specifier: 1.0.0
        version: 1.0.0
      alpha:
        specifier: ^1.1.0
        version: 1.1.0(react@18.0.0)
      gamma:
        specifier: file:/x/gamma-1.0.0.tgz
        version: file:../../../gamma-1.0.0.tgz
      x:
        specifier: npm:alpha@~1.0.0
        version: alpha@1.0.0

packages:

  '@s/beta@1.0.0':
    resolution: {integrity: sha512-b}

  alpha@1.0.0:
    resolution: {integrity: sha512-old}

  alpha@1.1.0:
    resolution: {integrity: sha512-a}

  gamma@file:../../../gamma-1.0.0.tgz:
    resolution: {integrity: sha512-g, tarball: file:../../../gamma-1.0.0.tgz}
    version: 1.0.0
"""


def test_what_is_locked() -> None:
    locked = read_lock(LOCK)
    assert {name: (one.key, one.integrity) for name, one in locked.items()} == {
        "@s/beta": ("@s/beta@1.0.0", "sha512-b"),
        "alpha": ("alpha@1.1.0", "sha512-a"),
        "gamma": ("gamma@file:../../../gamma-1.0.0.tgz", "sha512-g"),
        "x": ("alpha@1.0.0", "sha512-old"),
    }
    assert {one.group for one in locked.values()} == {"dependencies"}
    assert locked["alpha"].specifier == "^1.1.0"


def test_a_lock_that_cant_be_read_says_nothing() -> None:
    assert read_lock(b"") == {}
    assert read_lock(b"a: [") == {}
    assert read_lock(b"importers: 1\n") == {}


def test_moving_there_and_back_gives_the_same_bytes() -> None:
    names = ["@s/beta", "x"]
    there = moved(LOCK, names, "dependencies", "devDependencies")
    groups = {name: one.group for name, one in read_lock(there).items()}
    assert groups == {
        "alpha": "dependencies",
        "gamma": "dependencies",
        "@s/beta": "devDependencies",
        "x": "devDependencies",
    }
    assert b"    devDependencies:\n      '@s/beta':\n        specifier: 1.0.0\n" in there
    assert moved(there, names, "devDependencies", "dependencies") == LOCK


def test_the_last_one_takes_its_group_with_it() -> None:
    all_gone = moved(LOCK, list(read_lock(LOCK)), "dependencies", "devDependencies")
    assert b"    dependencies:" not in all_gone
    assert len(read_lock(all_gone)) == 4


def test_what_isnt_there_moves_nothing() -> None:
    assert moved(LOCK, ["nobody"], "dependencies", "devDependencies") == LOCK
    assert moved(b"odd: 1\n", ["alpha"], "dependencies", "devDependencies") == b"odd: 1\n"


def test_integrity_as_npm_writes_it(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_bytes(b"abc")
    assert integrity_of(tmp_path / "a.tgz") == (
        "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
    )
    assert integrity_of(tmp_path / "none.tgz") is None
