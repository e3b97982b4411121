"""Telling repeats from news where the daemon looks at names and the first 500 units of an input.

The daemon drops a row whose session, name and beginning of the input it has seen in the last five
minutes, whatever came of the call (agentmemory 13, D4). Pure.
"""

from __future__ import annotations

from hashlib import blake2b

COMPARED = 500
"""UTF-16 units of an input that the daemon compares."""

_PLACE = 460
_MOST = 5000


class Repeats:
    """The inputs of one session, and what came of each."""

    def __init__(self) -> None:
        self._seen: dict[bytes, dict[bytes, int]] = {}

    def told(self, name: str, text: str, outcome: str) -> str:
        """Give an input as it is to be sent.

        Exact the first time and whenever the same came of it, which the daemon may fold; with a
        number of its own, among what the daemon compares, when something else came of it.
        """
        key = _digest(f"{name}\0{_head(text, COMPARED)}")
        outcomes = self._seen.setdefault(key, {})
        if len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]
        number = outcomes.setdefault(_digest(f"{text}\0{outcome}"), len(outcomes))
        if not number:
            return text
        head = _head(text, _PLACE)
        return f"{head} #{number + 1}{text[len(head) :]}"


def _head(text: str, units: int) -> str:
    head = text[:units]
    if head.isascii():
        return head
    return head.encode("utf-16-le", "replace")[: 2 * units].decode("utf-16-le", "ignore")


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
