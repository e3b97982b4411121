"""Entities from Patchouli's SQLite file, read beside a running daemon (patchouli 10).

The file is opened with ``mode=ro`` and never ``immutable``, which would miss what is only in its
log. Nothing of it is written, and the daemon's lock is not taken.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dshloop.errors import (
    PatchouliSchemaError,
    StoreBusyError,
    StoreCorruptError,
    StoreUnknownError,
    UnreadableFileError,
)
from dshloop.files import shown
from dshloop.memory.patchouli.found import Found, Head, Scope
from dshloop.memory.patchouli_socket.wire import Change

VERSION = 12
_POLL = 0.25
_HEADS = """
SELECT v.scope_json, v.entity_type, v.entity_id, v.version, v.state, v.value_json,
       v.recorded_at_unix_ms
FROM patchouli_entity_head AS h
JOIN patchouli_entity_version AS v USING (scope_json, entity_type, entity_id, version)
"""
_ONE = "v.entity_type = ? AND v.entity_id = ?"


class FileSource:
    """Reads the file; without a scope all that are in it."""

    def __init__(self, path: Path, scope: Scope | None = None) -> None:
        self.path = path
        self.where = shown(path)
        self._scope = None if scope is None else scope_text(scope)
        self._database = _opened(path)

    def entities(
        self, *, text: str | None = None, ids: Sequence[str] = (), oldest_first: bool = False
    ) -> Iterator[Found]:
        """Give active entities by when they were recorded."""
        wanted = None if text is None else text.strip().casefold()
        direction = "" if oldest_first else " DESC"
        for scope, type_, id_ in self._rows(
            "SELECT scope_json, entity_type, entity_id FROM patchouli_entity_version AS v JOIN "
            "patchouli_entity_head AS h USING (scope_json, entity_type, entity_id, version) WHERE "
            "v.state = 'active' AND (? IS NULL OR scope_json = ?) GROUP BY 1, 2, 3 "
            f"ORDER BY max(v.recorded_at_unix_ms){direction}, 2, 3",
            self._scope, self._scope,
        ):  # fmt: skip
            if ids and id_ not in ids:
                continue
            rows = self._rows(f"{_HEADS} WHERE v.scope_json = ? AND {_ONE}", scope, type_, id_)
            if wanted is None or any(wanted in (row[5] or "").casefold() for row in rows):
                yield Found(type_, id_, [_head(row) for row in rows], json.loads(scope))

    def versions(self, type_: str, id_: str) -> Sequence[Head]:
        """Give all versions that were published."""
        rows = self._rows(
            "SELECT v.scope_json, v.entity_type, v.entity_id, v.version, v.state, v.value_json, "
            "v.recorded_at_unix_ms FROM patchouli_entity_version AS v "
            f"WHERE {_ONE} AND v.published_cursor IS NOT NULL AND (? IS NULL OR v.scope_json = ?) "
            "ORDER BY v.published_cursor, v.rowid",
            type_, id_, self._scope, self._scope,
        )  # fmt: skip
        return [_head(row) for row in rows]

    def changes(self, after: str | None, *, follow: bool) -> Iterator[Change]:
        """Read the table of changes; unlike a subscription that prunes nothing."""
        (newest,) = self._rows("SELECT coalesce(max(cursor), 0) FROM patchouli_change")[0]
        last = newest if after is None else _cursor(after)
        while True:
            for row in self._rows(
                "SELECT cursor, kind, entity_type, entity_id, head_versions_json, event_meta_json "
                "FROM patchouli_change WHERE cursor > ? AND (? IS NULL OR scope_json = ?) "
                "ORDER BY cursor",
                last, self._scope, self._scope,
            ):  # fmt: skip
                last = row[0]
                heads = tuple(json.loads(row[4]))
                yield Change("", str(row[0]), row[1], row[2], row[3], heads, json.loads(row[5]))
            if not follow:
                return
            time.sleep(_POLL)

    def artifact(self, id_: str) -> Iterator[bytes]:
        """Read an artifact's bytes from the folder beside the file."""
        import hashlib

        found = next((each for each in self.entities(ids=[id_]) if each.type == "artifact"), None)
        value = next((head.value for head in found.heads if head.value), {}) if found else {}
        digest = str((value or {}).get("digest") or "").removeprefix("sha256:")
        folder = self.path.parent / "artifacts" / "objects" / "sha256"
        path = folder / digest[:2] / digest[2:]
        if not digest or not path.is_file():
            raise StoreUnknownError(
                f"the bytes of artifact {id_} are not in {shown(folder)}",
                hint="Ask the daemon: --store patchouli:SOCKET.",
                artifact=id_,
            )
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoreCorruptError(f"the bytes of artifact {id_} are damaged", path=shown(path))
        yield content

    def scopes(self) -> Sequence[Scope]:
        """Give the scopes that have entities."""
        rows = self._rows(
            "SELECT DISTINCT scope_json FROM patchouli_entity_head "
            "WHERE ? IS NULL OR scope_json = ? ORDER BY 1",
            self._scope, self._scope,
        )  # fmt: skip
        return [json.loads(row[0]) for row in rows]

    def version(self, seconds: float) -> str:  # noqa: ARG002 - it is known since it was opened
        """Tell the schema, the only one that is opened."""
        return f"schema {VERSION}"

    def size(self) -> int | None:
        """Give the bytes of the file and its log."""
        paths = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        try:
            return self._database.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise _told(error, self.path) from None


def scope_text(scope: Scope) -> str:
    """Write a scope as the file has it: compact, keys sorted."""
    return json.dumps(dict(scope), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file. Raises STORE_UNKNOWN, PATCHOULI_SCHEMA, STORE_CORRUPT, UNREADABLE_FILE."""
    if not path.is_file():
        raise StoreUnknownError(f"there is no Patchouli database {shown(path)}", store=str(path))
    before = os.umask(0o077)  # a reader may make the file's -shm, which the daemon wants private
    try:
        uri = f"file:{quote(str(path))}?mode=ro"
        database = sqlite3.connect(uri, uri=True, timeout=5, check_same_thread=False)
        try:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except BaseException:
            database.close()
            raise
    except sqlite3.Error as error:
        raise _told(error, path) from None
    finally:
        os.umask(before)
    if version != VERSION:
        database.close()
        what = "is not initialised" if version == 0 else f"has schema {version}"
        raise PatchouliSchemaError(f"{shown(path)} {what}; only schema {VERSION} can be read",
                                   file=shown(path), schema=version)  # fmt: skip
    return database


def _told(error: sqlite3.Error, path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    file = shown(path)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusyError(f"{file} is locked", file=file)
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY):
        return UnreadableFileError(f"{file} can't be opened: {error}", file=file)
    return StoreCorruptError(f"{file} is damaged or no Patchouli database: {error}", path=file)


def _head(row: Sequence[Any]) -> Head:
    value = None if row[5] is None else json.loads(row[5])
    return Head(row[3], row[4], value, row[6] / 1000)


def _cursor(text: str) -> int:
    from dshloop.errors import PatchouliFailedError

    if not text.isascii() or not text.isdigit():
        raise PatchouliFailedError(
            f'"{text}" is no cursor: it is a number', reason="INVALID_REQUEST"
        )
    return int(text)
