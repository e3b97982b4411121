"""A loop author's package to begin with: names made of the loop's id, and the files of it."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dshloop.errors import LoopNameError, OutputExistsError
from dshloop.files import shown
from dshloop.journal import Change
from dshloop.loops.names import require_loop_id

Kind = Literal["strategy", "driver"]
_TEMPLATES = Path(__file__).parent / "templates"
_SUFFIX = ".txt"  # so that no tool takes a template for what it makes
_PLACE = re.compile(r"@(id|module|class|package)@")


@dataclass(frozen=True, slots=True)
class Names:
    """What a package and its parts are called."""

    id: str
    module: str
    class_name: str
    package: str

    def filled(self, text: str) -> str:
        """Put the names into a template's text."""
        values = {
            "id": self.id,
            "module": self.module,
            "class": self.class_name,
            "package": self.package,
        }
        return _PLACE.sub(lambda found: values[found[1]], text)


@dataclass(frozen=True, slots=True)
class NewPackage:
    """A package that can be written: its names, its folder, and every file as a change."""

    names: Names
    kind: Kind
    folder: Path
    changes: tuple[Change, ...]

    @property
    def files(self) -> list[str]:
        """The files, from the folder down."""
        return [change.path.relative_to(self.folder).as_posix() for change in self.changes]


def names_of(loop_id: str) -> Names:
    """Make module, class and package names of a loop's id.

    Raises INVALID_LOOP_ID, and LOOP_NAME for an id that gives no module a package may have.
    """
    require_loop_id(loop_id)
    words = [word for word in re.split(r"[._-]+", loop_id) if word]
    own = words if words[-1] == "loop" else [*words, "loop"]
    module = "_".join(own)
    if not module.isidentifier() or keyword.iskeyword(module) or module in _TAKEN:
        raise LoopNameError(
            f'no Python module can be called "{module}", which the loop "{loop_id}" would need',
            loop=loop_id,
            module=module,
        )
    return Names(loop_id, module, _class_name(words), "-".join(own))


_TAKEN = frozenset({*sys.stdlib_module_names, "dshloop"})


def _class_name(words: Sequence[str]) -> str:
    """Make a class name that is none of Python's own and none that a template uses itself."""
    name = "".join(word.capitalize() for word in words)
    return f"{name}Loop" if hasattr(builtins, name) or name in _used() else name


def _used() -> frozenset[str]:
    """Give the words of all modules and tests that packages are made of."""
    sources = (path.read_text(encoding="utf-8") for path in _TEMPLATES.rglob(f"*.py{_SUFFIX}"))
    return frozenset(word for source in sources for word in re.findall(r"\w+", source))


def plan_package(loop_id: str, kind: Kind, folder: Path) -> NewPackage:
    """Plan the files of a package in a folder that is not there yet.

    Raises OUTPUT_EXISTS when it is, and as `names_of`.
    """
    names = names_of(loop_id)
    if folder.exists() or folder.is_symlink():
        raise OutputExistsError(
            f"{shown(folder)} is there already, and a new package gets a folder of its own",
            hint="Choose another name, or another folder with --into.",
            file=shown(folder),
        )
    found = {**_texts("common", names), **_texts(kind, names)}
    changes = tuple(Change(folder / name, None, found[name].encode()) for name in sorted(found))
    return NewPackage(names, kind, folder, changes)


def _texts(name: str, names: Names) -> dict[str, str]:
    """Give the files of a template folder: path -> text, names filled in both."""
    root = _TEMPLATES / name
    return {
        names.filled(path.relative_to(root).as_posix().removesuffix(_SUFFIX)): names.filled(
            path.read_text(encoding="utf-8")
        )
        for path in root.rglob(f"*{_SUFFIX}")
    }
