"""The lock that dsh takes while it writes `package.json` or `settings.yaml`.

It is a file ``<target>.lock`` of mode 0600 that holds ``<pid>\\n`` and exists as long as the
lock is held; a lock is stale when no process has its pid. dsh waits 2 s for it, for a profile's
package.json 120 s (seen in dsh 0.2.1-rc.2; 0.1.2 takes none; dsh-profiles 12).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from dshloop.errors import LockHeldError
from dshloop.files import shown, writing
from dshloop.locks.kernel import FIRST_PAUSE, LONGEST_PAUSE
from dshloop.locks.owner import Owner, Thread, held, process_exists, this_host, this_thread

LOCKED_FILES = frozenset({"package.json", "settings.yaml"})
"""The names of the files that dsh takes its lock for."""

_ours: dict[Path, tuple[Thread, str]] = {}  # lock file -> the thread that holds it, its command


@contextlib.contextmanager
def hold_dsh(
    target: Path, *, command: str, wait: float = 2.0, what: str | None = None
) -> Iterator[None]:
    """Hold dsh's lock beside `target` for the time of the block.

    A nested use by the same thread is part of the outer one. Where the folder isn't there yet
    nobody can be writing in it, and no lock is taken. Raises LOCK_HELD after `wait` seconds and
    WRITE_FAILED when the lock can't be made.
    """
    folder = target.parent.resolve()
    lock = folder / f"{target.name}.lock"
    if (lock in _ours and _ours[lock][0] == this_thread()) or not folder.is_dir():
        yield
        return
    with writing(lock):
        taken = _acquire(lock, wait)
    if not taken:
        raise _refusal(what or shown(target), lock)
    _ours[lock] = (this_thread(), command)
    try:
        yield
    finally:
        del _ours[lock]
        lock.unlink(missing_ok=True)


@contextlib.contextmanager
def hold_dsh_files(paths: Iterable[Path], *, command: str, wait: float = 2.0) -> Iterator[None]:
    """Hold dsh's lock for each of `paths` that dsh takes one for, in an order all agree on."""
    with contextlib.ExitStack() as stack:
        for path in sorted({path for path in paths if path.name in LOCKED_FILES}):
            stack.enter_context(hold_dsh(path, command=command, wait=wait))
        yield


def remove_stale_locks(folder: Path) -> None:
    """Remove the locks of dsh in a folder whose processes are gone, so that it can go too."""
    for name in LOCKED_FILES:
        while _remove_stale(folder / f"{name}.lock"):
            pass


def _acquire(lock: Path, wait: float) -> bool:
    deadline = time.monotonic() + wait
    pause = FIRST_PAUSE
    while True:
        if _create_whole(lock, f"{os.getpid()}\n".encode()):
            _remove_stale_claims(lock)
            return True
        if _remove_stale(lock):
            continue
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


def _create_whole(path: Path, data: bytes) -> bool:
    """Create a file that is never seen empty; False when the name is taken.

    dsh waits in vain for a lock without a pid in it, so being killed halfway must leave none.
    """
    try:
        return _create_nameless(path, data) if hasattr(os, "O_TMPFILE") else _by_draft(path, data)
    except FileExistsError:
        return False
    except OSError:  # a file system without such files, or without hard links
        with contextlib.suppress(FileExistsError):
            _create(path, data)
            return True
        return False


def _create_nameless(path: Path, data: bytes) -> bool:
    """Write a file that has no name yet (Linux), then give it one: a crash leaves nothing."""
    descriptor = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, data)
        # with a descriptor for the folder, Python links what the path leads to, not the link
        os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor)
    finally:
        os.close(descriptor)
    return True


def _by_draft(path: Path, data: bytes) -> bool:
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    draft.unlink(missing_ok=True)
    _create(draft, data)
    try:
        os.link(draft, path)
    finally:
        draft.unlink()
    return True


def _create(path: Path, data: bytes) -> None:
    """Create a file; a full disk leaves none, since an empty lock would block dsh for good."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _remove_stale(lock: Path) -> bool:
    """Remove a lock whose process is gone; True when it is worth trying for the lock at once.

    As dsh does it: under a claim named after the lock's content, which keeps two takers apart;
    the second look keeps them from removing a lock that somebody took in between.
    """
    record = _record(lock)
    if record is None or not _has_exited(record):
        return False
    claim = lock.with_name(f"{lock.name}.takeover-{hashlib.sha256(record).hexdigest()[:16]}")
    if not _create_whole(claim, f"{os.getpid()}\n".encode()):
        return _remove_stale_claim(claim)
    try:
        if _record(lock) != record or not _has_exited(record):
            return False
        lock.unlink(missing_ok=True)
        return True
    finally:
        claim.unlink(missing_ok=True)


def _remove_stale_claims(lock: Path) -> None:
    """Remove what takers left who were killed when the lock that they took over was gone."""
    with contextlib.suppress(OSError):
        for name in os.listdir(lock.parent):  # noqa: PTH208 - every edit comes by here
            if name.startswith(f"{lock.name}.takeover-"):
                _remove_stale_claim(lock.with_name(name))


def _remove_stale_claim(claim: Path) -> bool:
    """Remove the claim of a taker that was killed; True when there is none any more.

    It is renamed first, so that only one of us removes it and never the claim of a live one.
    """
    record = _record(claim)
    if record is None or not _has_exited(record):
        return not os.path.lexists(claim)
    aside = claim.with_name(f".{claim.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        claim.rename(aside)
    except FileNotFoundError:
        return True
    if _record(aside) != record:
        with contextlib.suppress(OSError):
            os.link(aside, claim)
    aside.unlink(missing_ok=True)
    return True


def _record(lock: Path) -> bytes | None:
    try:
        return lock.read_bytes()
    except OSError:
        return None


def _pid_in(record: bytes | None) -> int | None:
    if record is None or not record.endswith(b"\n") or not record[:-1].isdigit():
        return None
    pid = int(record)
    return pid if 0 < pid <= 0x7FFFFFFF else None


def _has_exited(record: bytes) -> bool:
    pid = _pid_in(record)
    return pid is not None and pid != os.getpid() and not process_exists(pid)


def _refusal(subject: str, lock: Path) -> LockHeldError:
    pid = _pid_in(_record(lock))
    try:
        since = lock.stat().st_mtime
    except OSError:
        since = time.time()
    owner = Owner(pid, _command(lock, pid), this_host() if pid else "", since)
    return held(subject, lock, owner, hint=f"Wait; if no dsh is running, delete {shown(lock)}.")


def _command(lock: Path, pid: int | None) -> str:
    """Name the holder: our own command, or the program where the system tells its name."""
    if lock in _ours and pid == os.getpid():
        return _ours[lock][1]
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
