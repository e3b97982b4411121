"""Reading files that a model names, never outside the session's workspace (patchouli 8.6)."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = ("source", "attachment")
_CHUNK = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for its other end


@dataclass(frozen=True, slots=True)
class Resource:
    """A workspace file that is to be stored."""

    path: str
    media_type: str
    name: str
    role: str


def resources_of(data: Mapping[str, Any]) -> list[Resource]:
    """Read the resources of an update. Raises ValueError for one that is wrong."""
    given = data.get("resources")
    if given is None:
        return []
    if not isinstance(given, list):
        raise ValueError("resources must be an array")
    return [_resource(each) for each in given]


def _resource(given: Any) -> Resource:
    fields = given if isinstance(given, Mapping) else {}
    path = fields.get("path")
    if not isinstance(path, str) or not path.strip():
        raise ValueError("workspace-file resources require a non-empty path")
    media_type = _text(fields, "mediaType") or "application/octet-stream"
    name = _text(fields, "name") or Path(path).name or path
    role = fields.get("role", "attachment")
    if role not in ROLES:
        raise ValueError("workspace-file role must be source or attachment")
    return Resource(path, media_type, name, role)


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ValueError(f"workspace-file {key} must be a non-empty string")
    return value


def read_inside(root: str | None, path: str, limit: int) -> tuple[bytes, str]:
    """Give a file's bytes, and its path within the workspace; links are followed inside only.

    Raises ValueError for what is outside, is no regular file, or has more than ``limit`` bytes.
    """
    if not root:
        raise ValueError("workspace-file ingestion requires the Agent session cwd")
    try:
        top = os.path.realpath(root)
        target = os.path.realpath(os.path.join(top, path))  # noqa: PTH118 - bytes as they are
        inside = os.path.commonpath([top, target]) == top
    except ValueError:  # a NUL, or another drive
        inside = False
    if not inside:
        raise ValueError(f"workspace-file path is outside the session workspace: {path}")
    steps = Path(target).relative_to(top).parts
    if not steps:
        raise ValueError(f"workspace-file path is not a regular file: {path}")
    try:
        descriptor = _opened(top, steps)
    except OSError:
        raise ValueError(f"workspace-file path is not a regular file: {path}") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"workspace-file path is not a regular file: {path}")
        content = _read(descriptor, limit) if found.st_size <= limit else None
    finally:
        os.close(descriptor)
    if content is None:
        raise ValueError(f"workspace-file exceeds the {limit} byte limit: {path}")
    return content, "/".join(steps)


def _opened(top: str, steps: tuple[str, ...]) -> int:
    """Open a resolved path step by step, so that a link put in meanwhile is not followed."""
    if os.open not in os.supports_dir_fd:
        return os.open(Path(top, *steps), _FLAGS | _NO_WAIT | getattr(os, "O_BINARY", 0))
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for step in steps[:-1]:
            inner = os.open(step, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(steps[-1], _FLAGS | _NO_WAIT, dir_fd=folder)
    finally:
        os.close(folder)


def _read(descriptor: int, limit: int) -> bytes | None:
    """Read up to the limit; None when there is more, because the file grows."""
    content = bytearray()
    while chunk := os.read(descriptor, min(_CHUNK, limit + 1 - len(content))):
        content += chunk
        if len(content) > limit:
            return None
    return bytes(content)
