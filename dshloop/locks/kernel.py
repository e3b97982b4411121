"""Our lock: the kernel's, on a file that is never deleted and names its owner for people.

The text means nothing once the kernel has released the lock, so a killed owner leaves no trace
that anybody would have to clean up.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dshloop.errors import LockHeldError
from dshloop.files import shown, writing
from dshloop.locks.owner import Owner, Thread, held, this_process, this_thread
from dshloop.paths import private_folder

# A reader that asks who holds a lock takes it for a moment; nobody is refused because of that.
_READERS_MOMENT = 0.1
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.2
# Windows locks bytes, and nobody may read locked ones: lock one far behind the owner's text.
_WINDOWS_OFFSET = 1 << 30

_ours: dict[Path, Thread] = {}  # lock file -> the thread of this process that holds it


def lock_path(folder: Path, subject: Path) -> Path:
    """Give the lock file, in our folder of locks, that stands for a user's file or folder."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(subject))).hexdigest()[:24]
    return folder / f"{name}.lock"


@contextlib.contextmanager
def hold(path: Path, *, command: str, wait: float = 0.0, what: str | None = None) -> Iterator[None]:
    """Hold the lock on `path` (made with its folder when absent) for the time of the block.

    `command` is what others are told we do; `what` names the thing that is locked, for the
    message; `wait` seconds are spent trying. Raises LOCK_HELD with the owner in its details, at
    once when this very thread holds the lock already; WRITE_FAILED when the file can't be made.
    """
    subject = what or shown(path)
    if _ours.get(path) == this_thread():
        raise LockHeldError(
            f"{subject} is being changed by this same command already",
            hint="This is a fault of dshloop: please report it.",
            lock=shown(path),
            pid=os.getpid(),
        )
    with writing(path):
        private_folder(path.parent)
        descriptor = _acquire(path, wait)
    if descriptor is None:
        raise held(subject, path, _read_owner(path))
    _ours[path] = this_thread()
    try:
        with contextlib.suppress(OSError):  # on a full disk: it is only there to be shown
            _write_owner(descriptor, this_process(command))
        yield
    finally:
        del _ours[path]
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


def owner_of(path: Path) -> Owner | None:
    """Tell who holds the lock on `path` now; None when nobody does. Creates nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        free = _try_lock(descriptor, shared=True)
        if free:
            _unlock(descriptor)
    finally:
        os.close(descriptor)
    return None if free else _read_owner(path)


def _acquire(path: Path, wait: float) -> int | None:
    """Give a descriptor that holds the lock, or None when `wait` is over."""
    deadline = time.monotonic() + max(wait, _READERS_MOMENT)
    pause = FIRST_PAUSE
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if _try_lock(descriptor) and _still_there(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() >= deadline:
            return None
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)


def _still_there(descriptor: int, path: Path) -> bool:
    """Whether the locked file is the one that others will find under its name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, *, shared: bool = False) -> bool:  # noqa: ARG001
        os.lseek(descriptor, _WINDOWS_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _WINDOWS_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _write_owner(descriptor: int, owner: Owner) -> None:
    text = json.dumps(owner._asdict()).encode() + b"\n"
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text)


def _read_owner(path: Path) -> Owner:
    """Read the owner's line; it may lag behind the lock for a moment."""
    for _ in range(5):
        try:
            values: Any = json.loads(path.read_bytes())
            return Owner(
                int(values["pid"]),
                str(values["command"]),
                str(values["host"]),
                float(values["since"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            time.sleep(0.01)
    return Owner(None, "", "", time.time())
