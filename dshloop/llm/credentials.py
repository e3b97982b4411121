"""The keys of model providers: from a variable, else from DSH's own file (dsh-profiles 1).

A key is held in a value that doesn't show it, and is never written anywhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dshloop.errors import CredentialsInvalidError, DshYamlInvalidError

FILE = ".credentials.yaml"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Key:
    """A secret, and where it was found: ``$NAME``, or the file."""

    value: str = field(repr=False)
    source: str


@dataclass(frozen=True, slots=True)
class Keyring:
    """Where keys are looked for: variables first, then the file in DSH's home."""

    variables: Mapping[str, str] = field(repr=False)
    dsh_home: Path

    def find(self, name: str) -> Key | None:
        """Give the key of a name such as DEEPSEEK_API_KEY, None when nobody has it.

        Raises CREDENTIALS_INVALID when the file must be read and can't.
        """
        value = self.variables.get(name, "").strip()
        if value:
            return Key(value, f"${name}")
        from dshloop.files import shown

        path = self.dsh_home / FILE
        stored = read_credentials(path).get(name)
        return None if stored is None else Key(stored, shown(path))


def read_credentials(path: Path) -> Mapping[str, str]:
    """Read ``refs`` of DSH's credentials, a missing file as an empty one.

    Raises CREDENTIALS_INVALID, never with a line of the file. Records, which hold grants that
    only DSH can use, are passed over.
    """
    from dshloop.files import read_text, shown

    text = read_text(path)
    if text is None:
        return {}
    _require_private(path)
    from dshloop.dsh_yaml import load

    try:
        found = load(text.value, source=shown(path))
    except DshYamlInvalidError as fault:
        place = {key: fault.details[key] for key in ("line", "column") if key in fault.details}
        at = f":{place['line']}" if "line" in place else ""
        raise _invalid(path, f"is no YAML{at and f' (line {at[1:]})'}", **place) from None
    return _refs(path, {} if found is None else found)


def _refs(path: Path, found: Any) -> Mapping[str, str]:
    if not isinstance(found, dict):
        raise _invalid(path, "must hold a mapping")
    if not found:
        return {}
    if found.get("version") != 1:
        raise _invalid(path, "is not of version 1, the only one that is known")
    refs = found.get("refs")
    refs = {} if refs is None else refs
    if not isinstance(refs, dict):
        raise _invalid(path, "has `refs` that are no mapping")
    for name, value in refs.items():
        if not isinstance(value, str) or not value:
            raise _invalid(path, f"has a value for {name} that is no text")
    return refs


def _require_private(path: Path) -> None:
    """Refuse, as DSH does, a file that other users can read."""
    if os.name == "posix" and path.stat().st_mode & _OTHERS:
        raise _invalid(path, "can be read by others", hint=f"chmod 600 {path}")


def _invalid(
    path: Path, what: str, *, hint: str | None = None, **place: Any
) -> CredentialsInvalidError:
    from dshloop.files import shown

    file = shown(path)
    return CredentialsInvalidError(
        f"{file} {what}",
        hint=hint or "Mend the file, or set the variable of the key instead.",
        file=file,
        **place,
    )
