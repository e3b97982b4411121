"""Locks between processes: ours, which the kernel releases, and the one that dsh itself takes."""

from dshloop.locks.dsh import hold_dsh, hold_dsh_files, remove_stale_locks
from dshloop.locks.kernel import hold, lock_path, owner_of
from dshloop.locks.owner import Owner, describe, process_exists

__all__ = [
    "Owner",
    "describe",
    "hold",
    "hold_dsh",
    "hold_dsh_files",
    "lock_path",
    "owner_of",
    "process_exists",
    "remove_stale_locks",
]
