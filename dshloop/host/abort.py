"""How a running turn is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Cause = Mapping[str, Any]

USER: Cause = {"kind": "user"}
DISPOSED: Cause = {"kind": "disposed"}


class AbortSignal:
    """Set once, by the first cause; calls what was registered to stop."""

    def __init__(self) -> None:
        self.cause: Cause | None = None
        self._callbacks: list[Callable[[], object]] = []

    @property
    def aborted(self) -> bool:
        """Whether the turn is to stop."""
        return self.cause is not None

    def abort(self, cause: Cause) -> None:
        """Stop the turn; later causes are ignored."""
        if self.cause is None:
            self.cause = cause
            for callback in self._callbacks:
                callback()

    def on_abort(self, callback: Callable[[], object]) -> None:
        """Have something called on abort, at once when that has happened already."""
        if self.aborted:
            callback()
        self._callbacks.append(callback)

    def forget(self, callback: Callable[[], object]) -> None:
        """Have something no longer called on abort."""
        self._callbacks = [other for other in self._callbacks if other != callback]
