"""Reading the configs of rows: camelCase keys, each checked, unknown ones named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshloop.host.rows import ABSENT


class Keys:
    """The keys of a mapping as they are taken; `finish` refuses those that nobody took."""

    def __init__(self, raw: Any, path: str) -> None:
        if raw is ABSENT or raw is None:
            raw = {}
        if not isinstance(raw, Mapping):
            raise ValueError(f"{path.removesuffix('.') or 'it'} must be a mapping")
        self.path = path
        self._raw = raw
        self._taken: set[str] = set()

    @property
    def names(self) -> list[str]:
        """All keys that are there, all of them taken."""
        self._taken |= set(self._raw)
        return list(self._raw)

    def any(self, name: str) -> Any:
        """Take a value as it is, None when it is absent."""
        self._taken.add(name)
        return self._raw.get(name)

    def group(self, name: str) -> Keys:
        """Take a mapping; an absent one is empty."""
        return Keys(self.any(name), f"{self.path}{name}.")

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Take a mapping whose keys are the user's."""
        group = self.group(name)
        return {key: group.any(key) for key in group.names}

    def flag(self, name: str, default: bool) -> bool:
        """Take true or false."""
        value = self.any(name)
        if value is None and name not in self._raw:
            return default
        if not isinstance(value, bool):
            raise ValueError(f"{self.path}{name} must be true or false")
        return value

    def number(self, name: str, default: float, *, least: float) -> float:
        """Take a finite number that is not below ``least``."""
        value = self.any(name)
        if value is None:
            return default
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not least <= value < float("inf"):
            raise ValueError(f"{self.path}{name} must be a number from {least:g}")
        number: float = value
        return number

    def count(self, name: str, default: int, *, least: int) -> int:
        """Take a whole number that is not below ``least``."""
        value = self.number(name, default, least=least)
        if value != int(value):
            raise ValueError(f"{self.path}{name} must be a whole number")
        return int(value)

    def text(self, name: str, default: str) -> str:
        """Take a text that isn't blank."""
        value = self.any(name)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{self.path}{name} must be a text that is not empty")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Take a list of texts; an absent one is empty."""
        value = self.any(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError(f"{self.path}{name} must be a list of texts")
        return tuple(value)

    def finish(self) -> None:
        """Refuse keys that mean nothing here."""
        for key in self._raw:
            if key not in self._taken:
                from difflib import get_close_matches

                near = get_close_matches(str(key), sorted(self._taken), n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise ValueError(f'there is no key "{self.path}{key}"{hint}')
