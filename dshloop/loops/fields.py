"""Checked reading of the mappings of a YAML file of ours: what is wrong is named with its line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from sys import float_info
from typing import Any, NoReturn, TypeGuard

from dshloop.dsh_yaml import Document, load_document
from dshloop.errors import DshloopError, DshYamlInvalidError
from dshloop.loops.names import is_name, is_text, listed

_MOST = float_info.max
Test = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Page:
    """A file that is being read, and the error that is raised for what is wrong in it."""

    document: Document
    file: str
    error: type[DshloopError]

    @classmethod
    def read(cls, text: str, file: str, error: type[DshloopError]) -> Page:
        """Read a text as DSH reads YAML; what is no YAML raises `error` with the reason."""
        try:
            return cls(load_document(text, source=file), file, error)
        except DshYamlInvalidError as fault:
            raise error(fault.message, **fault.details) from None

    def line(self, container: Any, key: str | int | None = None) -> int | None:
        """Give the line of an entry, or of the map or list that would hold it."""
        found = self.document.position(container, key) or self.document.position(container)
        return None if found is None else found.line

    def refuse(
        self, message: str, container: Any, key: str | int | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise the page's error for an entry of a map or list."""
        found = self.document.position(container, key) or self.document.position(container)
        line, column = found or (1, 1)
        raise self.error(
            f"{self.file}:{line}:{column}: {message}",
            hint=hint,
            file=self.file,
            line=line,
            column=column,
        )

    def fields(self, container: Any, key: str | int | None, path: str) -> Fields:
        """Give an entry that must be a mapping, or with no key the whole document."""
        value = container if key is None else container[key]
        if not isinstance(value, dict):
            self.refuse(f"{path or 'the file'} must be a mapping", container, key)
        return Fields(self, value, path)


@dataclass(frozen=True, slots=True)
class Fields:
    """One mapping of a page; ``path`` is how messages call it."""

    page: Page
    value: Mapping[str, Any]
    path: str

    def only(self, known: Collection[str]) -> None:
        """Refuse keys that mean nothing here, naming the one that was probably meant."""
        for key in self.value:
            if key not in known:
                near = near_match(key, known)
                hint = f'Did you mean "{near}"?' if near else f"Keys: {listed(list(known))}."
                self.refuse(f"{self.at(key)} is no key", key, hint)

    def get(self, key: str, test: Test, wanted: str) -> Any:
        """Give a value that passes `test`; None when the key is not there."""
        if key not in self.value:
            return None
        if not test(self.value[key]):
            self.refuse(f"{self.at(key)} must be {wanted}", key)
        return self.value[key]

    def text(self, key: str) -> str | None:
        """Give a text with something in it."""
        found: str | None = self.get(key, is_text, "a non-empty string")
        return found

    def name(self, key: str, wanted: str) -> str | None:
        """Give a loop id or a driver name."""
        found: str | None = self.get(key, is_name, wanted)
        return found

    def whole(self, key: str, least: int = 1) -> int | None:
        """Give a whole number of at least `least`."""
        found: int | None = self.get(
            key, lambda value: type(value) is int and value >= least, f"a whole number >= {least}"
        )
        return found

    def number(self, key: str, least: float | None = 0) -> float | None:
        """Give a finite number of at least `least`; any with None."""
        wanted = "a number" if least is None else f"a number >= {least:g}"

        def test(value: Any) -> bool:
            return is_number(value) and (least is None or value >= least)

        found: float | None = self.get(key, test, wanted)
        return found

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Give a list of texts; one alone counts as a list of it."""
        value = self.value.get(key)
        if isinstance(value, str) and value:
            return (value,)
        items = self.items(key, "a non-empty string, or a list of them")
        for index, item in enumerate(items or ()):
            if not is_text(item):
                self.page.refuse(
                    f"{self.at(key)}[{index}] must be a non-empty string", items, index
                )
        return None if items is None else tuple(items)

    def items(self, key: str, wanted: str = "a list") -> Sequence[Any] | None:
        """Give a list."""
        found: Sequence[Any] | None = self.get(key, lambda value: isinstance(value, list), wanted)
        return found

    def inner(self, key: str) -> Fields | None:
        """Give a mapping inside this one."""
        return self.page.fields(self.value, key, self.at(key)) if key in self.value else None

    def at(self, key: str) -> str:
        """Say how a message calls a key."""
        return f"{self.path}.{key}" if self.path else key

    def refuse(self, message: str, key: str | None = None, hint: str | None = None) -> NoReturn:
        """Raise the page's error for a key of this mapping."""
        self.page.refuse(message, self.value, key, hint)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number that a double holds, and neither infinite nor NaN."""
    return isinstance(value, int | float) and type(value) is not bool and abs(value) <= _MOST


def near_match(name: str, known: Collection[str]) -> str | None:
    """Give the name that was probably meant."""
    from difflib import get_close_matches

    folded = {word.casefold(): word for word in known}
    found = get_close_matches(name.casefold(), folded, n=1)
    return folded[found[0]] if found else None
