"""What a running server knows beside its store; it is gone when the server ends."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dshloop.memory.server.settings import Settings
from dshloop.times import iso_time

AUDITED = 1000
"""Changes that the audit list remembers."""

PROFILE_SECONDS = 3600.0
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


class State:
    """Audit list, project profiles, the searches of the last moments; for several threads."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self.clock = clock
        self.started = clock()
        self._lock = threading.Lock()
        self._audit: deque[dict[str, Any]] = deque(maxlen=AUDITED)
        self._profiles: dict[str, tuple[float, Mapping[str, Any]]] = {}
        self._searches: dict[str, float] = {}
        self._asked = 0
        self._followed = 0
        self._metrics: dict[str, list[float]] = {}

    def now(self) -> str:
        """Give this moment as rows write it."""
        return iso_time(self.clock())

    def new_id(self, prefix: str) -> str:
        """Make an id such as ``rel_mb1k2x3y_0123456789ab`` (agentmemory 1)."""
        return f"{prefix}_{base36(int(self.clock() * 1000))}_{os.urandom(6).hex()}"

    def audit(self, operation: str, targets: Sequence[str], **details: Any) -> None:
        """Note a change."""
        entry = {
            "id": self.new_id("aud"),
            "timestamp": self.now(),
            "operation": operation,
            "functionId": f"mem::{operation.replace('_', '-')}",
            "targetIds": list(targets),
            "details": details,
        }
        with self._lock:
            self._audit.append(entry)

    def audited(self, operation: str | None, limit: int) -> list[dict[str, Any]]:
        """Give the newest changes first."""
        with self._lock:
            entries = list(self._audit)
        chosen = [one for one in reversed(entries) if operation in (None, one["operation"])]
        return chosen[:limit]

    def keep_profile(self, project: str, profile: Mapping[str, Any]) -> None:
        """Keep a project's profile for an hour."""
        with self._lock:
            if len(self._profiles) >= AUDITED:
                self._profiles.clear()
            self._profiles[project] = (self.clock(), profile)

    def profile(self, project: str) -> Mapping[str, Any] | None:
        """Give the profile that was asked for within the hour."""
        with self._lock:
            at, profile = self._profiles.get(project, (0.0, None))
        return profile if self.clock() - at < PROFILE_SECONDS else None

    def searched(self, session: str | None) -> None:
        """Count a search, and whether it follows another one of its session."""
        now = self.clock()
        with self._lock:
            self._asked += 1
            before = self._searches.get(session or "")
            if before is not None and now - before <= self.settings.followup_seconds:
                self._followed += 1
            if len(self._searches) >= AUDITED:
                self._searches.clear()
            self._searches[session or ""] = now

    def followups(self) -> tuple[int, int]:
        """Give how many searches there were, and how many of them followed another one."""
        with self._lock:
            return self._asked, self._followed

    def measured(self, name: str, seconds: float, *, failed: bool) -> None:
        """Count a call of an endpoint."""
        with self._lock:
            counts = self._metrics.setdefault(name, [0, 0, 0.0])
            counts[0] += 1
            counts[1] += failed
            counts[2] += seconds

    def metrics(self) -> list[dict[str, Any]]:
        """Give the counts of calls as /health shows them."""
        with self._lock:
            found = {name: tuple(counts) for name, counts in self._metrics.items()}
        return [
            {
                "functionId": name,
                "totalCalls": int(calls),
                "successCount": int(calls - failures),
                "failureCount": int(failures),
                "avgLatencyMs": round(1000 * seconds / calls, 3),
                "avgQualityScore": 0,
            }
            for name, (calls, failures, seconds) in sorted(found.items())
        ]


def base36(number: int) -> str:
    """Write a number as ids do."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _ALPHABET[digit] + digits
    return digits or "0"
