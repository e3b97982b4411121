"""From a log file to its text: plain, or Zstandard frames one after the other (dsh-sessions 1).

A compressed log is one frame for the header and one for each written batch, with checksums and
without content sizes; the last frame of a killed writer is cut anywhere.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

from dshloop.transcripts.findings import Finding, Report

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
CHUNK = 1 << 16


def text_of(file: BinaryIO, report: Report) -> tuple[BinaryIO, bool]:
    """Give the decoded byte stream of a log and whether it is compressed, told by its content.

    Iterating the stream splits on LF only. Faults of frames are reported, and reading goes on at
    the next frame.
    """
    start = file.read(len(ZSTD_MAGIC))
    file.seek(0)
    if start != ZSTD_MAGIC:
        return file, False
    return io.BufferedReader(FrameReader(file, report), CHUNK), True


class FrameReader(io.RawIOBase):
    """The decoded bytes of a seekable file of Zstandard frames, in constant memory."""

    def __init__(self, file: BinaryIO, report: Report) -> None:
        import zstandard

        self._file = file
        self._report = report
        self._library = zstandard
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._frame_start = 0
        self._input = b""
        self._read_to = 0  # offset in the file of the end of _input
        self._output = b""
        self._midline = False
        self._lost = False  # looking for the next good frame behind a corrupt one

    def readable(self) -> bool:
        """Say that this stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with what comes next; 0 at the end."""
        while not self._output:
            if not self._advance():
                return 0
        count = min(len(buffer), len(self._output))
        buffer[:count] = self._output[:count]
        self._output = self._output[count:]
        return count

    def _advance(self) -> bool:
        """Decode one piece of input; False at the end of the file."""
        if not self._input and not self._refill():
            return self._end()
        if self._frame is None:
            self._frame_start = self._read_to - len(self._input)
            self._frame = self._decompressor.decompressobj()
        try:
            self._take(self._frame.decompress(self._input))
        except self._library.ZstdError as error:
            return self._skip_frame(str(error))
        if self._frame.eof:
            self._input = self._frame.unused_data
            self._frame = None
            self._lost = False
        else:
            self._input = b""
        return True

    def _take(self, data: bytes) -> None:
        self._output = data
        if data:
            self._midline = not data.endswith(b"\n")

    def _refill(self) -> bool:
        self._input = self._file.read(CHUNK)
        self._read_to += len(self._input)
        return bool(self._input)

    def _end(self) -> bool:
        if self._frame is not None:
            self._frame = None
            if not self._lost:
                message = "the last Zstandard frame is incomplete"
                self._report(Finding("TORN_FRAME", "error", message, byte=self._frame_start))
        return False

    def _skip_frame(self, reason: str) -> bool:
        """Report a corrupt frame once and go to the next place that looks like a frame."""
        if not self._lost:
            message = f"corrupt session log: a Zstandard frame can't be decoded ({reason})"
            place = self._frame_start
            self._report(Finding("CORRUPT_FRAME", "error", message, byte=place, refuses=True))
        self._lost = True
        self._frame = None
        if self._midline:  # what was begun before the damage is not the start of what follows
            self._take(b"\n")
        return self._seek_magic(self._frame_start + 1)

    def _seek_magic(self, start: int) -> bool:
        self._file.seek(start)
        self._read_to, tail = start, b""
        while self._refill():
            found = (tail + self._input).find(ZSTD_MAGIC)
            if found >= 0:
                place = self._read_to - len(self._input) - len(tail) + found
                self._file.seek(place)
                self._read_to, self._input = place, b""
                return True
            tail = (tail + self._input)[-len(ZSTD_MAGIC) + 1 :]
        return bool(self._output)
