"""DSH's settings.yaml: read as it is now, written without touching another byte (loop-dock 15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshloop.errors import SpliceRefusedError
from dshloop.files import decode, read_bytes
from dshloop.host.hooks import Disposer
from dshloop.paths import Places

if TYPE_CHECKING:
    from dshloop.journal import Journal

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
        self._read: tuple[bytes, Mapping[str, Any]] | None = None

    def register(
        self, namespace: str, schema: Mapping[str, Any], base: Mapping[str, Any]
    ) -> Disposer:
        """Keep the schema of a namespace, and what holds until the user chooses."""
        self.namespaces[namespace] = (schema, base)
        return lambda: self.namespaces.pop(namespace, None) and None

    def get(self, namespace: str) -> Mapping[str, Any] | None:
        """Give what the file says of a namespace now, None when nothing.

        Raises UNREADABLE_FILE and DSH_YAML_INVALID.
        """
        values = self._values().get(namespace)
        return values if isinstance(values, Mapping) else None

    def update(self, namespace: str, patch: Mapping[str, Any]) -> None:
        """Write some values of a namespace; a missing file is made, for its owner only.

        Raises LOCK_HELD while dsh writes it, SPLICE_REFUSED, DSH_YAML_INVALID, WRITE_FAILED;
        nothing is changed then.
        """
        from dshloop.splice import set_value

        with self._journal().transaction(self._command) as tx:
            tx.lock(self.path)
            data = read_bytes(self.path)
            text = "" if data is None else _text(data, self)
            try:
                for key, value in patch.items():
                    text = set_value(text, [namespace, key], value)
            except SpliceRefusedError as error:
                said = f"{self.path}: {error.message}"
                details = {**error.details, "file": str(self.path)}
                raise SpliceRefusedError(said, hint=error.hint, **details) from None
            tx.write(
                self.path, text.encode("utf-8"), expected=data, mode=0o600 if data is None else None
            )

    def _values(self) -> Mapping[str, Any]:
        data = read_bytes(self.path)
        if data is None:
            return {}
        if self._read is None or self._read[0] != data:
            from dshloop.dsh_yaml import load

            value = load(data, source=str(self.path))
            self._read = data, value if isinstance(value, Mapping) else {}
        return self._read[1]

    def _own_journal(self) -> Journal:
        from dshloop.journal import Journal

        return Journal(self._places.journal)


def _text(data: bytes, settings: DshSettings) -> str:
    text = decode(data, settings.path)
    return ("\ufeff" if text.bom else "") + text.value
