"""What is to be tried: the loops that a module, an installed package or a folder has."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from dshloop.errors import LoopTargetError
from dshloop.files import require_text, shown
from dshloop.loops.harness import PresetMounts
from dshloop.loops.importing import import_object, load_object, make_driver, make_loop
from dshloop.loops.names import is_name, is_object, listed
from dshloop.loops.registry import Loop
from dshloop.loops.strategy import is_target
from dshloop.loops.strategy_setup import strategy_as_loop
from dshloop.loops.wrapping import driver_loop

Group = Literal["dshloop.loops", "dshloop.drivers"]
GROUP: Final = "dshloop.loops"
DRIVERS: Final = "dshloop.drivers"
GROUPS: tuple[Group, ...] = (GROUP, DRIVERS)
KINDS = ("strategy", "driver")


@dataclass(frozen=True, slots=True)
class Subject:
    """A loop by its id; `make` gives it as a new process would.

    A driver is tried as the loop that does nothing but run on it.
    """

    id: str
    target: str
    load: Callable[[PresetMounts | None], Loop]

    def make(self, presets: PresetMounts | None = None) -> Loop:
        """Load the loop for a process with these presets; raises what its code raises."""
        return self.load(presets)


def subject_of(found: Any, loop_id: str | None = None, called: str | None = None) -> Subject:
    """Make a subject of a loop, a class of one, or a function that gives one.

    Without an id it gets its own, or one that is made of its name.
    """
    called = called or getattr(found, "__name__", None) or type(found).__name__
    name = loop_id or _own_id(found, called)
    target = f"{getattr(found, '__module__', '')}:{called}".removeprefix(":")
    return Subject(name, target, lambda _presets: make_loop(name, target, found))


@contextmanager
def subjects(target: str, cwd: Path) -> Iterator[Sequence[Subject]]:
    """Give the loops of MODULE:OBJECT, a module, an installed package, a folder, or a file.

    A file is a module or a loops.yml. What lies in a folder, or beside a file, can be imported as
    long as the block lasts. Raises LOOP_TARGET_NOT_FOUND where no loop is, and LOOP_IMPORT_FAILED
    for a module that can't be imported.
    """
    folder = cwd / Path(target).expanduser()
    if target.endswith((".yml", ".yaml")):
        yield _of_file(folder)
        return
    if target.endswith(".py"):
        root, module = _module_in(folder)
        with _importable(root):
            yield _defined_in(module, import_object)
        return
    is_path = target.startswith((".", "~")) or any(mark in target for mark in "/\\")
    if is_path:
        with _importable(folder):
            yield _of_folder(folder)
    elif is_target(target):
        yield [_of_target(target)]
    elif found := _of_package(target):
        yield found
    elif not _is_module(target) and folder.is_dir():
        with _importable(folder):
            yield _of_folder(folder)
    else:
        yield _of_module(target)


# --- a folder --------------------------------------------------------------------------------


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Have a project's modules found before all others."""
    before = list(sys.path)
    sys.path[:0] = [str(each) for each in (folder / "src", folder) if each.is_dir()]
    try:
        yield
    finally:
        sys.path[:] = before


def _of_folder(folder: Path) -> list[Subject]:
    import tomllib

    from dshloop.loops.discovery import target_of

    manifest = folder / "pyproject.toml"
    if not manifest.is_file():
        lacks = "has no pyproject.toml that would say which loops are in it"
        kind = lacks if folder.is_dir() else "is no folder" if folder.exists() else "is not there"
        raise LoopTargetError(f"{shown(folder)} {kind}", file=shown(folder))
    try:
        about = tomllib.loads(require_text(manifest).value)
    except tomllib.TOMLDecodeError as fault:
        raise LoopTargetError(
            f"{shown(manifest)} is no TOML: {fault}", file=shown(manifest)
        ) from None
    points = _inner(about, "project", "entry-points")
    found = [
        _by_path(str(name), target_of(str(path)), import_object, group)
        for group in GROUPS
        for name, path in _inner(points, group).items()
    ]
    if not found:
        raise LoopTargetError(
            f"{shown(manifest)} offers no loop: it has no entry points of {GROUP} or {DRIVERS}",
            hint=f'Add [project.entry-points."{GROUP}"] with a line: ID = "MODULE:OBJECT".',
            file=shown(manifest),
        )
    return found


def _inner(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if is_object(value) else None
    return dict(value) if is_object(value) else {}


# --- a file of strategies --------------------------------------------------------------------


def _of_file(path: Path) -> list[Subject]:
    """Give the loops and drivers of a loops.yml; raises UNREADABLE_FILE and LOOPS_FILE_INVALID."""
    from dshloop.loops.loops_file import Registered, parse_loops

    def subject(one: Registered) -> Subject:
        strategy = one.strategy
        if strategy is None:
            return _by_path(one.id, str(one.target), load_object)
        return Subject(one.id, one.where, lambda presets: strategy_as_loop(strategy, presets))

    file = parse_loops(require_text(path).value, path)
    found = [subject(one) for one in file.loops]
    found += [_by_path(one.id, str(one.target), load_object, DRIVERS) for one in file.drivers]
    if not found:
        raise LoopTargetError(
            f"{shown(path)} registers no loop and no driver",
            hint="A loops.yml has them under `loops` and `drivers`: docs/loops-file.md.",
            file=shown(path),
        )
    return found


# --- a module's file -------------------------------------------------------------------------


def _module_in(file: Path) -> tuple[Path, str]:
    """Give the folder that a file is imported from, above its packages, and its module's name."""
    if not file.is_file():
        raise LoopTargetError(f"there is no file {shown(file)}", file=shown(file))
    folder, names = file.parent, [file.stem]
    while (folder / "__init__.py").is_file():
        folder, names = folder.parent, [folder.name, *names]
    return folder, ".".join(names)


# --- what is installed -----------------------------------------------------------------------


def _of_package(name: str) -> list[Subject]:
    """Give the loops of the installed package that is called so."""
    return [
        _by_path(loop_id, path, load_object, group)
        for group in GROUPS
        for loop_id, path, package in _offered(group)
        if _normal(package) == _normal(name)
    ]


def _of_target(target: str) -> Subject:
    """Give one object; its id is its own, that of its entry point, or made of its name."""
    offers = [
        (loop_id, group)
        for group in GROUPS
        for loop_id, path, _ in _offered(group)
        if path == target
    ]
    if offers:
        return _by_path(offers[0][0], target, load_object, offers[0][1])
    found = load_object(target)
    loop_id = _own_id(found, target.rpartition(":")[2].rpartition(".")[2])
    return Subject(loop_id, target, lambda _presets: make_loop(loop_id, target, found))


def _of_module(name: str) -> list[Subject]:
    """Give the loops that a module's entry points lead to, else those that are defined in it."""
    if not _is_module(name):
        raise LoopTargetError(
            f'"{name}" is no module, no installed package with loops, and no folder', target=name
        )
    offers = [
        _by_path(loop_id, path, load_object, group)
        for group in GROUPS
        for loop_id, path, _ in _offered(group)
        if f"{path}.".startswith((f"{name}:", f"{name}."))
    ]
    if offers:
        return offers
    return _defined_in(name, load_object)


def _defined_in(name: str, load: Callable[[str], Any]) -> list[Subject]:
    """Give the loops that are defined in a module; raises LOOP_TARGET_NOT_FOUND without any."""
    module = load(f"{name}:__dict__")
    found = {key: one for key, one in module.items() if key[:1] != "_" and _is_loop(one, name)}
    if not found:
        raise LoopTargetError(
            f'module "{name}" has no loop: nothing in it has a kind of {listed(KINDS)}',
            target=name,
        )
    return [subject_of(one, called=key) for key, one in found.items()]


def _offered(group: Group) -> Sequence[tuple[str, str, str]]:
    from dshloop.loops.discovery import offered

    return offered(group)


def _by_path(name: str, target: str, load: Callable[[str], Any], group: Group = GROUP) -> Subject:
    def loaded(_presets: PresetMounts | None) -> Loop:
        found = load(target)
        if group == DRIVERS:
            driver = make_driver(target, found)
            return driver_loop(driver.create_agent, driver.resume, id=name)
        return make_loop(name, target, found)

    return Subject(name, target, loaded)


def _is_module(name: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _is_loop(found: Any, module: str) -> bool:
    kind = found.get("kind") if is_object(found) else getattr(found, "kind", None)
    here = is_object(found) or getattr(found, "__module__", module) == module
    return here and kind in KINDS


def _own_id(found: Any, called: str) -> str:
    own = found.get("id") if is_object(found) else getattr(found, "id", None)
    if is_name(own):
        return own
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", called)
    made = re.sub(r"[^a-z0-9._-]+", "-", spaced.lower()).lstrip("-._")
    return made if is_name(made) else "loop"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
