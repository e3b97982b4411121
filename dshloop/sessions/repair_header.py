"""A header that dsh takes, from what is left of a log's own one."""

from __future__ import annotations

from typing import Any

from dshloop.sessions.naming import decode_id
from dshloop.transcripts.header import HEADER_KEYS, RETIRED, is_absolute
from dshloop.transcripts.scan import Scan, open_scan
from dshloop.transcripts.vocabulary import V4, is_count


def mended_header(scan: Scan) -> dict[str, Any] | None:
    """Make a header that has no faults; None when the log's own has none."""
    faulty = scan.damaged or scan.counts["HEADER"] or scan.counts["VERSION"]
    if scan.header is not None and not faulty:
        return None
    raw = dict(scan.header.raw) if scan.header is not None else {}
    folder, given = scan.path.parent.name, raw.get("id")
    known = {
        "type": "session",
        "version": scan.version,
        "id": given if isinstance(given, str) and given else decode_id(folder),
        "createdAt": raw["createdAt"] if is_count(raw.get("createdAt")) else _first_time(scan),
        **_optional(raw),
    }
    if scan.version == V4:
        known["isSeeded"] = raw.get("isSeeded") is True
    depth = raw.get("delegationDepth")
    known["delegationDepth"] = depth if is_count(depth) else 0
    known.update({} if scan.version == V4 else _more(raw))
    return known


def _optional(raw: dict[str, Any]) -> dict[str, Any]:
    names = ("cwd", "parentSession", "origin", "agentPreset")
    found = {name: raw[name] for name in names if name in raw}
    if not is_absolute(found.get("cwd")):
        found.pop("cwd", None)
    if found.get("origin") != "subagent":
        found.pop("origin", None)
    return found


def _more(raw: dict[str, Any]) -> dict[str, Any]:
    """Give the keys of a v0 header that DSH doesn't know and doesn't mind."""
    return {name: raw[name] for name in raw if name not in HEADER_KEYS and name not in RETIRED}


def _first_time(scan: Scan) -> int:
    with open_scan(scan.path) as again:
        return next((max(0, event["time"]) for event in again), 0)
