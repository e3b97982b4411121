"""The row `dsh-patchouli/cursor-store`: where subscriptions are, on disk (patchouli 8.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.host.mount import Mount
from dshloop.lossless_json import js_text
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.patchouli.config import Keys

SERVICE = "patchouliCursors"
DOMAIN, VERSION, TABLE = "patchouli_memory", 1, "cursors"


class Binding(NamedTuple):
    """Whose cursor it is; no part is trimmed."""

    consumer: str
    subscription: str
    scope: str
    plugin: str

    @property
    def key(self) -> str:
        """The key that it is stored under."""
        for name, value in (
            ("consumerId", self.consumer),
            ("subscriptionKey", self.subscription),
            ("scope", self.scope),
        ):
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"memory cursor {name} must be a non-empty string")
        return js_text([*self])


class CursorStore:
    """The service `patchouliCursors`: one JSON file; in memory where there is no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / f"{DOMAIN}.json"
        self._cursors: dict[str, str] | None = None

    def open(self) -> None:
        """Read what is stored. Raises ValueError for a file that is none of ours."""
        from dshloop.files import read_text, shown

        text = None if self._path is None else read_text(self._path)
        if text is None:
            self._cursors = {}
            return
        assert self._path is not None
        try:
            known = json.loads(text.value)
            table = known[TABLE] if known["version"] == VERSION else None
            self._cursors = {key: str(record["cursor"]) for key, record in (table or {}).items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            table = None
        if table is None:
            raise ValueError(f"{shown(self._path)} holds no cursors of version {VERSION}")

    def load(self, binding: Binding) -> str | None:
        """Give a cursor, None when there is none."""
        return self._opened().get(binding.key)

    def store(self, binding: Binding, cursor: str) -> None:
        """Keep a cursor; it is on disk when this returns. Raises WRITE_FAILED."""
        self._opened()[binding.key] = cursor
        self._write()

    def delete(self, binding: Binding) -> None:
        """Forget a cursor."""
        if self._opened().pop(binding.key, None) is not None:
            self._write()

    def close(self) -> None:
        """Be no longer initialised; closing twice is fine."""
        self._cursors = None

    def _opened(self) -> dict[str, str]:
        if self._cursors is None:
            raise ValueError("memory cursor store is not initialized")
        return self._cursors

    def _write(self) -> None:
        if self._path is None:
            return
        from dshloop.files import replace_file
        from dshloop.paths import private_folder

        records: Mapping[str, Any] = {key: {"cursor": at} for key, at in self._opened().items()}
        text = json.dumps({"version": VERSION, TABLE: records}, indent=1)
        private_folder(self._path.parent)
        replace_file(self._path, text.encode(), mode=0o600)


def _no_config(raw: Any) -> None:
    Keys(raw, "").finish()


class PatchouliCursors:
    """Offers the cursor store."""

    name = "dsh-patchouli/cursor-store"
    Config = staticmethod(_no_config)

    async def apply(self, host: Mount, config: None) -> None:  # noqa: ARG002
        """Open the store and offer it."""
        place = host.service(PLACE)
        cursors = CursorStore(None if place is None else place.data / "patchouli")
        cursors.open()
        host.undo(cursors.close)
        host.provide(SERVICE, cursors)
