"""Server-sent events: bytes in, events out, wherever the pieces are cut (HTML standard, 9.2)."""

from __future__ import annotations

from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
LARGEST = 64 * 1024 * 1024  # bytes of one event; what is larger is no answer of a model


class ServerEvent(NamedTuple):
    """One event: its name, empty when none was given, and its data lines joined by LF."""

    name: str
    data: str


class EventTooLargeError(ValueError):
    """One event is larger than `LARGEST`: told to the adapter, never to people."""

    code = "EVENT_TOO_LARGE"


class EventParser:
    """Feed it bytes as they come; every call gives the events that they complete.

    Lines end with CR, LF or CRLF, a CRLF may be cut in two. What stands after the last empty line
    when the stream ends is no event. Comments, ids, retries and unknown fields are passed over.
    """

    def __init__(self) -> None:
        self._begun = False
        self._open: list[bytes] = []  # pieces of the line that has not ended
        self._open_size = 0
        self._after_cr = False  # an LF at the beginning of the next piece belongs to a CR
        self._name = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Take the next bytes in. Raises EventTooLargeError."""
        if not self._begun:
            piece = self._without_bom(piece)
        if self._after_cr and piece:
            self._after_cr = False
            piece = piece.removeprefix(b"\n")
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *rest = piece.split(b"\n")
        if not rest:
            self._keep(first)
            return []
        if self._open:
            first = b"".join([*self._open, first])
            self._open, self._open_size = [], 0
        last = rest.pop()
        events = self._read([first, *rest])
        self._keep(last)
        return events

    def _without_bom(self, piece: bytes) -> bytes:
        """Give the bytes behind a byte order mark, none until it is clear whether there is one."""
        start = b"".join([*self._open, piece])
        self._open, self._open_size = [], 0
        if len(start) < len(BOM) and BOM.startswith(start):
            self._keep(start)
            return b""
        self._begun = True
        return start.removeprefix(BOM)

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._open.append(piece)
            self._open_size += len(piece)
            if self._open_size + self._size > LARGEST:
                raise EventTooLargeError(f"an event of the stream is larger than {LARGEST} bytes")

    def _read(self, lines: list[bytes]) -> list[ServerEvent]:
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                start = 6 if line.startswith(b" ", 5) else 5
                self._data.append(line[start:].decode("utf-8", "replace"))
                self._size += len(line)
                if self._size > LARGEST:
                    raise EventTooLargeError(f"an event is larger than {LARGEST} bytes")
            elif not line:
                if self._data:
                    events.append(ServerEvent(self._name, "\n".join(self._data)))
                self._name, self._data, self._size = "", [], 0
            elif line.startswith(b"event:"):
                self._name = line[6:].decode("utf-8", "replace").removeprefix(" ")
            elif line == b"data":
                self._data.append("")
            elif line == b"event":
                self._name = ""
        return events
