"""Locks between processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dshloop import locks
from dshloop.errors import LockHeldError, WriteFailedError

HOLDER = """
import sys, time
from pathlib import Path
from dshloop import locks
with getattr(locks, sys.argv[1])(Path(sys.argv[2]), command="dshloop plugin add ./x"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def held_by_child(kind: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, kind, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "held\n"
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_refusal_names_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "web.lock"
    with held_by_child("hold", path) as child:
        with (
            pytest.raises(LockHeldError) as caught,
            locks.hold(path, command="dshloop x", what='profile "web"'),
        ):
            pass
        start = f'profile "web" is being changed by pid {child.pid} (dshloop plugin add ./x, since '
        assert caught.value.message.startswith(start)
        assert caught.value.details["pid"] == child.pid
        assert caught.value.details["command"] == "dshloop plugin add ./x"
        owner = locks.owner_of(path)
        assert owner is not None
        assert (owner.pid, owner.host) == (child.pid, os.uname().nodename)


def test_killed_owner_is_no_owner(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with held_by_child("hold", path) as child:
        child.kill()
        child.wait()
        assert json.loads(path.read_bytes())["pid"] == child.pid
        assert locks.owner_of(path) is None
        with locks.hold(path, command="dshloop x"):
            assert json.loads(path.read_bytes())["pid"] == os.getpid()
    assert path.read_bytes() == b""


def test_wait_gets_the_lock_when_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with held_by_child("hold", path) as child:
        assert child.stdin is not None
        threading.Timer(0.3, child.stdin.close).start()
        with locks.hold(path, command="dshloop x", wait=10):
            assert child.wait() == 0


def test_same_thread_twice_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    started = time.monotonic()
    with (
        locks.hold(path, command="dshloop x"),
        pytest.raises(LockHeldError, match="this same command already"),
        locks.hold(path, command="dshloop x", wait=60),
    ):
        pass
    assert time.monotonic() - started < 30


def test_other_thread_is_refused_and_may_wait(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    seen: list[str] = []

    def contend() -> None:
        with contextlib.suppress(LockHeldError), locks.hold(path, command="second"):
            seen.append("got it too early")
        with locks.hold(path, command="second", wait=10):
            seen.append("got it")

    thread = threading.Thread(target=contend)
    with locks.hold(path, command="first"):
        thread.start()
        time.sleep(0.3)
    thread.join()
    assert seen == ["got it"]


def test_reader_creates_nothing_and_disturbs_nobody(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    assert locks.owner_of(path) is None
    assert not path.exists()
    stop = threading.Event()
    path.touch()

    def watch() -> None:
        while not stop.is_set():
            locks.owner_of(path)

    readers = [threading.Thread(target=watch) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(50):
            with locks.hold(path, command="dshloop x"):
                pass
    finally:
        stop.set()
        for reader in readers:
            reader.join()


def test_lock_survives_its_file_being_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locks.hold(path, command="dshloop x"):
        path.unlink()
    with locks.hold(path, command="dshloop x"):
        assert locks.owner_of(path) is not None


def test_lock_path_is_one_for_all_names_of_a_thing(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    names = {locks.lock_path(tmp_path, tmp_path / name) for name in ("real", "link", "x/../real")}
    assert len(names) == 1
    assert locks.lock_path(tmp_path, tmp_path / "other") not in names


def test_owner_is_described_with_its_age_and_host() -> None:
    here = os.uname().nodename
    owner = locks.Owner(7, "dshloop session run", here, 1000.0)
    assert locks.describe(owner, now=1012) == "pid 7 (dshloop session run, since 12 s)"
    assert locks.describe(owner, now=1600) == "pid 7 (dshloop session run, since 10 min)"
    assert locks.describe(owner, now=90000) == "pid 7 (dshloop session run, since 24 h)"
    other = locks.Owner(7, "", "elsewhere", 1000.0)
    assert locks.describe(other, now=1000) == "pid 7 on elsewhere (since 0 s)"


# --- the lock of dsh -----------------------------------------------------------------------------


def test_dsh_lock_has_the_shape_of_dsh(tmp_path: Path) -> None:
    lock = tmp_path / "package.json.lock"
    with locks.hold_dsh(tmp_path / "package.json", command="dshloop x"):
        assert lock.read_bytes() == f"{os.getpid()}\n".encode()
        assert lock.stat().st_mode & 0o777 == 0o600
        assert list(tmp_path.iterdir()) == [lock]
    assert list(tmp_path.iterdir()) == []


def test_dsh_lock_is_released_on_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locks.hold_dsh(tmp_path / "settings.yaml", command="x"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_dsh_lock_of_a_live_process_is_waited_for_then_refused(tmp_path: Path) -> None:
    target = tmp_path / "package.json"
    with (
        held_by_child("hold_dsh", target) as child,
        pytest.raises(LockHeldError, match=f"being changed by pid {child.pid} ") as caught,
        locks.hold_dsh(target, command="dshloop x", wait=0.1),
    ):
        pass
    assert "package.json.lock" in (caught.value.hint or "")


def test_dsh_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    lock = tmp_path / "package.json.lock"
    lock.write_text(f"{dead_pid()}\n")
    with locks.hold_dsh(tmp_path / "package.json", command="dshloop x", wait=0):
        assert lock.read_text() == f"{os.getpid()}\n"
    assert list(tmp_path.iterdir()) == []


def test_what_a_taker_left_who_was_killed_late_goes_with_the_next_lock(tmp_path: Path) -> None:
    left = tmp_path / "package.json.lock.takeover-0123456789abcdef"
    left.write_text(f"{dead_pid()}\n")
    at_work = tmp_path / "package.json.lock.takeover-fedcba9876543210"
    at_work.write_text(f"{os.getppid()}\n")
    with locks.hold_dsh(tmp_path / "package.json", command="dshloop x", wait=0):
        pass
    assert not left.exists()
    assert at_work.exists()


def test_dsh_lock_of_a_killed_dshloop_is_stale(tmp_path: Path) -> None:
    target = tmp_path / "package.json"
    with held_by_child("hold_dsh", target) as child:
        child.kill()
        child.wait()
        assert (tmp_path / "package.json.lock").exists()
        with locks.hold_dsh(target, command="dshloop x", wait=0):
            pass


@pytest.mark.parametrize("record", [b"", b"123", b"abc\n", b"0\n", b"99999999999\n"])
def test_dsh_lock_without_a_pid_is_never_taken_over(tmp_path: Path, record: bytes) -> None:
    lock = tmp_path / "package.json.lock"
    lock.write_bytes(record)
    with (
        pytest.raises(LockHeldError, match="by another process"),
        locks.hold_dsh(tmp_path / "package.json", command="dshloop x", wait=0),
    ):
        pass
    assert lock.read_bytes() == record


def test_dsh_lock_claimed_by_another_taker_is_left_to_it(tmp_path: Path) -> None:
    lock = tmp_path / "package.json.lock"
    record = f"{dead_pid()}\n".encode()
    lock.write_bytes(record)
    claim = tmp_path / f"package.json.lock.takeover-{hashlib.sha256(record).hexdigest()[:16]}"
    claim.write_text("1\n")  # a process that lives
    with (
        pytest.raises(LockHeldError),
        locks.hold_dsh(tmp_path / "package.json", command="dshloop x", wait=0),
    ):
        pass
    assert lock.exists()


def test_dsh_lock_claimed_by_a_dead_taker_is_taken_over(tmp_path: Path) -> None:
    record = f"{dead_pid()}\n".encode()
    (tmp_path / "package.json.lock").write_bytes(record)
    claim = tmp_path / f"package.json.lock.takeover-{hashlib.sha256(record).hexdigest()[:16]}"
    claim.write_text(f"{dead_pid()}\n")
    with locks.hold_dsh(tmp_path / "package.json", command="dshloop x", wait=0):
        pass
    assert list(tmp_path.iterdir()) == []


def test_dsh_lock_nests_in_one_thread(tmp_path: Path) -> None:
    target = tmp_path / "package.json"
    with locks.hold_dsh(target, command="outer"):
        with locks.hold_dsh(target, command="inner", wait=0):
            pass
        assert (tmp_path / "package.json.lock").exists()


def test_dsh_lock_of_a_folder_to_come_is_none(tmp_path: Path) -> None:
    with locks.hold_dsh(tmp_path / "new" / "package.json", command="x"):
        assert not (tmp_path / "new").exists()


def test_dsh_locks_are_taken_only_for_the_files_dsh_locks(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("cordis.patch.yml", "settings.yaml", "package.json")]
    with locks.hold_dsh_files([*paths, *paths], command="x"):
        names = sorted(entry.name for entry in tmp_path.iterdir())
    assert names == ["package.json.lock", "settings.yaml.lock"]


def take_and_release(tmp_path: Path) -> None:
    with locks.hold_dsh(tmp_path / "package.json", command="x"):
        assert (tmp_path / "package.json.lock").read_text() == f"{os.getpid()}\n"
        assert (tmp_path / "package.json.lock").stat().st_mode & 0o777 == 0o600
        child = os.fork()
        if child == 0:
            try:
                with locks.hold_dsh(tmp_path / "package.json", command="y", wait=0):
                    os._exit(1)
            except LockHeldError:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert list(tmp_path.iterdir()) == []


def test_dsh_lock_works_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path, **_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    take_and_release(tmp_path)


def test_dsh_lock_works_without_nameless_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    take_and_release(tmp_path)


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file grow, as on a full disk; not even pytest's own output, so not for long."""
    resource = pytest.importorskip("resource", reason="the system has no limits of file sizes")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_dsh_lock_on_a_full_disk_leaves_nothing_that_blocks_dsh(tmp_path: Path) -> None:
    with full_disk(), pytest.raises(WriteFailedError):  # noqa: SIM117
        with locks.hold_dsh(tmp_path / "package.json", command="x"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_lock_is_held_on_a_full_disk_though_its_owner_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with full_disk(), locks.hold(path, command="x"):
        assert locks.owner_of(path) is not None
    assert locks.owner_of(path) is None
