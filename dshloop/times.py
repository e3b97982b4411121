"""Moments as text, and ids that sort by the moment they were made at."""

from __future__ import annotations

import os


def iso_time(seconds: float) -> str:
    """Write Unix seconds as ``2026-01-31T12:00:00.000Z``; what no calendar has as the year 1970."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def uuid7_digits(now: float) -> str:
    """Make the 32 hexadecimal digits of a UUID (RFC 9562) of 48 bits of milliseconds, 74 random."""
    value = (int(now * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76  # version
    value = value & ~(0x3 << 62) | 2 << 62  # variant
    return f"{value:032x}"
