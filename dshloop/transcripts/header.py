"""Line 1 of a DSH log (dsh-sessions 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dshloop.transcripts.vocabulary import V0, V4, VERSIONS, is_count

HEADER_KEYS = frozenset(
    "type version id createdAt cwd parentSession origin delegationDepth agentPreset".split()  # noqa: SIM905
)
RETIRED = ("sandboxMode", "approvalPolicy")


class Header(NamedTuple):
    """Who and where a session is; ``raw`` is the line as it stands. Times are epoch ms."""

    version: int
    id: str
    created_at: int
    cwd: str | None
    agent_preset: str | None
    parent_session: str | None
    origin: str | None
    delegation_depth: int
    raw: Mapping[str, Any]


def read_header(raw: Mapping[str, Any]) -> Header:
    """Take what is usable out of a header object; `header_faults` says what is not."""
    return Header(
        version=raw["version"] if is_count(raw.get("version")) else -1,
        id=_text(raw, "id") or "",
        created_at=raw["createdAt"] if is_count(raw.get("createdAt")) else 0,
        cwd=_text(raw, "cwd"),
        agent_preset=_text(raw, "agentPreset"),
        parent_session=_text(raw, "parentSession"),
        origin=_text(raw, "origin"),
        delegation_depth=raw["delegationDepth"] if is_count(raw.get("delegationDepth")) else 0,
        raw=raw,
    )


def version_fault(header: Header) -> str | None:
    """Give DSH's sentence about a format that can't be read; None for v0 and v4."""
    if header.version in VERSIONS:
        return None
    start = f'session "{header.id}" uses log format v{header.version}'
    if header.version > V4:
        return (
            f"{start}, but this harness reads only v{V4}: the log was written by a newer "
            "harness — upgrade the harness to open it"
        )
    return (
        f"{start}, older than the supported v{V4}, and this build ships no upgrade path for it"
        if header.version > V0
        else f'session "{header.id}" has no log format version'
    )


def header_faults(header: Header) -> Iterator[str]:
    """Yield what DSH refuses in a header of a known version."""
    raw = header.raw
    if not header.id:
        yield "header: id is missing"
    for name in ("createdAt", "delegationDepth"):
        if not is_count(raw.get(name)):
            yield f"header: {name} must be an integer from 0"
    if "cwd" in raw and not is_absolute(raw["cwd"]):
        yield "header: cwd must be an absolute path"
    if raw.get("origin", "subagent") != "subagent":
        yield 'header: origin can only be "subagent"'
    for name in RETIRED:
        if name in raw:
            yield f"header: {name} is retired"
    if header.version == V4:
        yield from _v4_faults(raw)


def _v4_faults(raw: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(raw.get("isSeeded"), bool):
        yield "header: isSeeded must be true or false"
    for name in sorted(raw.keys() - HEADER_KEYS - {"isSeeded"} - set(RETIRED)):
        yield f"header: unknown key {name}"


def _text(raw: Mapping[str, Any], name: str) -> str | None:
    value = raw.get(name)
    return value if isinstance(value, str) and value else None


def is_absolute(cwd: object) -> bool:
    """Whether a path is absolute on the system it was written on: POSIX, drive or UNC."""
    if not isinstance(cwd, str):
        return False
    drive = len(cwd) > 2 and cwd[0].isalpha() and cwd[1] == ":" and cwd[2] in "\\/"
    return cwd.startswith(("/", "\\\\")) or drive
