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
        self._numbers: dict[bytes, int] = {}  # by name, input and what came of it
        self._taken: set[bytes] = set()  # what the daemon has seen
        self._next: dict[bytes, int] = {}

    def told(self, name: str, text: str, outcome: str) -> str:
        """Give an input as it is to be sent.

        Exact the first time and whenever the same came of it, which the daemon may fold; with a
        number of its own, among what the daemon compares, when something else came of it.
        """
        whole = _digest(f"{name}\0{text}\0{outcome}")
        if whole not in self._numbers:
            self._numbers[whole] = self._free(name, text)
        return _numbered(text, self._numbers[whole])

    def _free(self, name: str, text: str) -> int:
        if len(self._taken) > _MOST:  # minutes ago: the daemon has forgotten them too
            for each in (self._numbers, self._taken, self._next):
                each.clear()
        seen = _seen(name, text)
        number = self._next.get(seen, 1)
        while (other := _seen(name, _numbered(text, number))) in self._taken:
            number += 1
        self._taken.add(other)
        self._next[seen] = number + 1
        return number


def _numbered(text: str, number: int) -> str:
    if number == 1:
        return text
    head = _head(text, _PLACE)
    return f"{head} #{number}{text[len(head) :]}"


def _seen(name: str, text: str) -> bytes:
    return _digest(f"{name}\0{_head(text, COMPARED)}")


def _head(text: str, units: int) -> str:
    head = text[:units]
    if head.isascii():
        return head
    return head.encode("utf-16-le", "replace")[: 2 * units].decode("utf-16-le", "ignore")


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
