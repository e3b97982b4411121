"""Who holds a lock, and how it is said."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple, TypeAlias

from dshloop.errors import LockHeldError
from dshloop.files import shown

Thread: TypeAlias = tuple[int, int]
"""A thread as pid and number: a forked child has its parent's memory, but not its locks."""


class Owner(NamedTuple):
    """Who holds a lock; `pid` is None when that can't be told, `since` is in epoch seconds."""

    pid: int | None
    command: str
    host: str
    since: float


def this_thread() -> Thread:
    """Name the thread that we are."""
    return os.getpid(), threading.get_ident()


def this_process(command: str) -> Owner:
    """Describe ourselves, as of now."""
    return Owner(os.getpid(), command, this_host(), time.time())


def this_host() -> str:
    """Give the name of this machine."""
    if sys.platform == "win32":
        return os.environ.get("COMPUTERNAME", "")
    return os.uname().nodename


def describe(owner: Owner, *, now: float | None = None) -> str:
    """Say who an owner is: ``pid 123 (dshloop plugin add ./x, since 12 s)``."""
    if owner.pid is None:
        return "another process"
    age = max(0, round((time.time() if now is None else now) - owner.since))
    where = f" on {owner.host}" if owner.host not in ("", this_host()) else ""
    inside = ", ".join(part for part in (owner.command, f"since {_age(age)}") if part)
    return f"pid {owner.pid}{where} ({inside})"


def held(subject: str, lock: Path, owner: Owner, hint: str | None = None) -> LockHeldError:
    """Make the error for whoever is refused."""
    return LockHeldError(
        f"{subject} is being changed by {describe(owner)}",
        hint=hint,
        lock=shown(lock),
        pid=owner.pid,
        command=owner.command,
        host=owner.host,
        since=owner.since,
    )


def process_exists(pid: int) -> bool:
    """Whether a process of this machine has that pid now."""
    if sys.platform == "win32":
        import ctypes

        # SYNCHRONIZE is the least right that tells a process from none.
        handle = ctypes.windll.kernel32.OpenProcess(0x00100000, False, pid)
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _age(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
