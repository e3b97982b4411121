"""Objects by import path, and the loops and drivers they stand for (design 4).

Only what is installed is imported: nothing under the working directory, unless a distribution
or a folder of site packages owns it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dshloop.errors import DshloopError, InvalidLoopDefinitionError, LoopImportError
from dshloop.loops.names import is_object
from dshloop.loops.registry import Driver, Loop, members_of, read_driver, read_loop

_DRIVER = "{} is no driver: it lacks createAgent(ownerCtx, options) or resume(ownerCtx, options)"


def load_object(target: str) -> Any:
    """Import what MODULE:OBJECT names. Raises LOOP_IMPORT_FAILED, whatever the module raises."""
    _require_installed(target, target.partition(":")[0])
    return import_object(target)


def import_object(target: str) -> Any:
    """Import what MODULE:OBJECT names, wherever it lies: only for what a person asks to be run.

    Raises LOOP_IMPORT_FAILED, whatever the module raises.
    """
    module, _, name = target.partition(":")
    if not name:
        raise _failed(target, "it names a module and no object of it")
    with _authors_code(target):
        found: Any = __import__(module, fromlist=["_"])
        for part in name.split("."):
            found = getattr(found, part)
        return found


def load_loop(loop_id: str, target: str) -> Loop:
    """Give the loop of an import path: an instance, a class, or a factory ``(config) -> loop``.

    One that has no id gets `loop_id`. Raises LOOP_IMPORT_FAILED, INVALID_LOOP_DEFINITION for what
    is none or has another id, INVALID_LOOP_ID.
    """
    return make_loop(loop_id, target, load_object(target))


def make_loop(loop_id: str, target: str, found: Any) -> Loop:
    """Give the loop that an object is or makes; ``target`` is how messages call it.

    Raises as `load_loop`.
    """
    made = _made(target, found, _is_loop)
    loop = read_loop(_with_id(loop_id, made))
    if loop.id != loop_id:
        raise InvalidLoopDefinitionError(
            f'{target} gives loop "{loop.id}", but is registered as "{loop_id}"',
            hint=f"Register it as {loop.id}.",
            loop=loop_id,
            target=target,
        )
    return loop


def load_driver(target: str) -> Driver:
    """Give the driver of an import path: an instance, a class, or a factory ``(config)``.

    Raises LOOP_IMPORT_FAILED and INVALID_DRIVER.
    """
    return make_driver(target, load_object(target))


def make_driver(target: str, found: Any) -> Driver:
    """Give the driver that an object is or makes; ``target`` is how messages call it.

    Raises as `load_driver`.
    """
    made = _made(target, found, lambda one: _member(one, "resume") is not None)
    return read_driver(made, _DRIVER.format(target))


def _made(target: str, found: Any, is_it: Callable[[Any], bool]) -> Any:
    """Call classes and factories, with an empty config where they take one."""
    if not inspect.isclass(found) and (is_it(found) or not _is_factory(found)):
        return found
    with _authors_code(target):
        return found({}) if _takes_config(found) else found()


@contextmanager
def _authors_code(target: str) -> Iterator[None]:
    """Run what an author wrote: errors of ours go on, all else it raises is LOOP_IMPORT_FAILED."""
    try:
        yield
    except (DshloopError, KeyboardInterrupt):
        raise
    except BaseException as raised:
        missing = isinstance(raised, ImportError | AttributeError)
        hint = None if missing else "Mend what the module or the class raises."
        raise _failed(target, f"{type(raised).__name__}: {raised}", hint) from raised


def _is_factory(found: Any) -> bool:
    return callable(found) and not inspect.iscoroutinefunction(found)


def _is_loop(found: Any) -> bool:
    return isinstance(found, Loop) or _member(found, "kind") is not None


def _member(found: Any, name: str) -> Any:
    """Read a member; of one that can't be read, give what it raises: it is there."""
    try:
        return found.get(name) if is_object(found) else getattr(found, name, None)
    except Exception as fault:
        return fault


def _takes_config(found: Any) -> bool:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(parameter.kind in kinds for parameter in parameters)


def _with_id(loop_id: str, made: Any) -> Any:
    if made is None or _member(made, "id") is not None:
        return made
    if is_object(made):
        return {**made, "id": loop_id}
    return {**members_of(made, loop_id), "id": loop_id}


# --- what may be imported ------------------------------------------------------------------------


def _require_installed(target: str, module: str) -> None:
    from importlib.util import find_spec

    top = module.partition(".")[0]
    try:
        spec = None if top in sys.modules else find_spec(top)
    except (ImportError, ValueError) as fault:
        raise _failed(target, str(fault)) from fault
    if top in sys.modules:
        origin = getattr(sys.modules[top], "__file__", None)
    elif spec is None:
        raise _failed(target, f"there is no module {top}")
    else:
        origin = spec.origin or next(iter(spec.submodule_search_locations or ()), None)
    if origin is not None and not _is_installed(Path(origin)):
        raise _failed(target, f"{origin} is under the working directory and not installed")


def _is_installed(origin: Path) -> bool:
    """Whether a file may be imported; the slow question is only asked of suspects."""
    try:
        here = Path.cwd().resolve()
    except OSError:
        return True
    origin = origin.resolve()
    if not origin.is_relative_to(here):
        return True
    return any(origin.is_relative_to(folder) for folder in _installed_folders())


def _installed_folders() -> Iterator[Path]:
    """Give the folders of site packages, then those of projects installed as editable."""
    import sysconfig

    for name in ("purelib", "platlib", "stdlib"):
        yield Path(sysconfig.get_path(name)).resolve()
    yield from _editable_folders()


def _editable_folders() -> Iterator[Path]:
    import json
    from importlib.metadata import distributions
    from urllib.parse import unquote, urlsplit

    for distribution in distributions():
        text = distribution.read_text("direct_url.json")
        about = json.loads(text) if text else {}
        if about.get("dir_info", {}).get("editable"):
            yield Path(unquote(urlsplit(about["url"]).path)).resolve()


def _failed(target: str, cause: str, hint: str | None = None) -> LoopImportError:
    said = f"can't import {target}: {cause}"
    return LoopImportError(said, hint=hint, target=target, cause=cause)
