"""DSH's settings.yaml: read as it is now, written without touching another byte (loop-dock 15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshloop.errors import SettingsInvalidError
from dshloop.files import decode, read_bytes, shown
from dshloop.host.hooks import Disposer
from dshloop.paths import Places

if TYPE_CHECKING:
    from pathlib import Path

    from dshloop.dsh_yaml import Document
    from dshloop.journal import Change, Journal

FILE = "settings.yaml"


class DshSettings:
    """The settings of a DSH home, a mapping a namespace.

    Writing takes dsh's own lock and makes one entry in the journal; readers never create the
    file. `register` only keeps what a plugin says of its namespace: `get` gives what the user
    chose, so that whoever asks can tell a choice from a default.
    """

    def __init__(
        self,
        places: Places,
        *,
        command: str = "dshloop",
        journal: Callable[[], Journal] | None = None,
    ) -> None:
        self.path = places.dsh_home / FILE
        self.namespaces: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        self._places = places
        self._command = command
        self._journal = journal or self._own_journal
        self._read: tuple[bytes, Document] | None = None

    def register(
        self, namespace: str, schema: Mapping[str, Any], base: Mapping[str, Any]
    ) -> Disposer:
        """Keep the schema of a namespace, and what holds until the user chooses."""
        self.namespaces[namespace] = (schema, base)
        return lambda: self.namespaces.pop(namespace, None) and None

    def get(self, namespace: str) -> Mapping[str, Any] | None:
        """Give what the file says of a namespace now, None when nothing.

        Raises UNREADABLE_FILE, DSH_YAML_INVALID and SETTINGS_INVALID.
        """
        document = self._document()
        whole = document.value if document is not None else None
        if document is None or whole is None:
            return None
        file = shown(self.path)
        if not isinstance(whole, Mapping):
            raise SettingsInvalidError(f"{file} is no mapping of namespaces", file=file)
        values = whole.get(namespace)
        if values is None or isinstance(values, Mapping):
            return values
        at = document.position(whole, namespace)
        line = None if at is None else at.line
        raise SettingsInvalidError(
            f"{file}:{line}: {namespace} must be a mapping", file=file, line=line
        )

    def place(self, namespace: str, key: str) -> str:
        """Say where a value is set, or would be: the file, with the line if it is.

        Raises UNREADABLE_FILE and DSH_YAML_INVALID.
        """
        file, document = shown(self.path), self._document()
        whole = document.value if document is not None else None
        section = whole.get(namespace) if isinstance(whole, Mapping) else None
        if document is None or not isinstance(section, Mapping) or key not in section:
            return file
        at = document.position(section, key)
        return file if at is None else f"{file}:{at.line}"

    def plan(self, namespace: str, patch: Mapping[str, Any]) -> Change:
        """Plan other values in a namespace; every other byte stays, a new file is its owner's.

        Raises UNREADABLE_FILE, and DSH_YAML_INVALID or SPLICE_REFUSED for what can't be edited.
        """
        from dshloop.journal import Change

        before, after = self._edited(namespace, patch)
        return Change(self.path, before, after, _mode(before))

    def update(self, namespace: str, patch: Mapping[str, Any]) -> None:
        """Write some values of a namespace; a missing file is made, for its owner only.

        Raises LOCK_HELD while dsh writes it, WRITE_FAILED and what `plan` raises; nothing is
        changed then.
        """
        with self._journal().transaction(self._command) as tx:
            tx.lock(self.path)
            before, after = self._edited(namespace, patch)
            tx.write(self.path, after, expected=before, mode=_mode(before))

    def _edited(self, namespace: str, patch: Mapping[str, Any]) -> tuple[bytes | None, bytes]:
        """Give the file as it is and as it would be."""
        from dshloop.splice import YamlText

        data = read_bytes(self.path)
        text = YamlText(_text(data, self.path), source=shown(self.path), portable=True)
        for key, value in patch.items():
            text = text.set([namespace, key], value)
        return data, text.text.encode("utf-8")

    def _document(self) -> Document | None:
        """Read the file unless it is still what was read last; None when there is none."""
        data = read_bytes(self.path)
        if data is None:
            return None
        if self._read is None or self._read[0] != data:
            from dshloop.dsh_yaml import load_document

            self._read = data, load_document(data, source=shown(self.path))
        return self._read[1]

    def _own_journal(self) -> Journal:
        from dshloop.journal import Journal

        return Journal(self._places.journal)


def _mode(before: bytes | None) -> int | None:
    return 0o600 if before is None else None


def _text(data: bytes | None, path: Path) -> str:
    text = decode(b"" if data is None else data, path)
    return ("\ufeff" if text.bom else "") + text.value
