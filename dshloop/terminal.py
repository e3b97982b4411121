"""Text that came from elsewhere, made harmless for a terminal: control characters are shown."""

from __future__ import annotations

import re

# C0 but tab and newline, DEL, C1, line and paragraph separators, bidirectional controls, lone
# surrogates: whatever moves the cursor, starts an escape sequence, reorders or can't be encoded.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Show control characters as escapes (``\x1b``, ``\u202e``); keep tab and newline."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int | None = None) -> str:
    """Give text as one visible line, runs of blanks folded, cut with … at ``limit`` characters."""
    line = visible(" ".join(text.split()))
    if limit is not None and len(line) > limit:
        return line[: max(limit - 1, 0)] + "…"
    return line


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
