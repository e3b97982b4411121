"""The file of a matrix, checked, with the line of whatever is wrong.

::

    loops: [standard]
    drivers: [fake, headless]
    models: [deepseek/deepseek-flash]
    repeats: 3
    prompts:
      - id: sum
        text: What is two and two?
        checks: [{regex: "4|four"}]
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dshloop.errors import MatrixInvalidError
from dshloop.files import require_text, shown
from dshloop.loops.fields import Fields, Page
from dshloop.loops.loops_file import LoopsFile, Registered
from dshloop.loops.names import is_name, is_object, is_text
from dshloop.loops.strategy import is_target, read_strategy
from dshloop.runs.asked import ALLOWED
from dshloop.runs.matrix.checks import COMMAND_SECONDS, KINDS, Check, Kind
from dshloop.runs.matrix.design import DriverChoice, Matrix, ModelChoice, Prompt, Subject

_KEYS = (
    "agents", "loops", "drivers", "models", "prompts", "repeats", "checks", "timeout", "needs",
    "script", "cwd", "workspace", "allow", "allow_partial",
)  # fmt: skip
_AGENT = ("id", "loop", "preset", "driver", "model", "effort", "max_tokens", "needs")
_SAID = ("text", "turns", "file")
_FILES = ("script", "file")
_NEED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(=.*)?", re.S)
MOST_CELLS = 100_000


def read_matrix(path: Path) -> Matrix:
    """Read and check a file; paths in it are taken from its folder.

    Raises UNREADABLE_FILE, and MATRIX_INVALID with file, line and column.
    """
    return parse_matrix(require_text(path).value, path)


def parse_matrix(text: str, path: Path) -> Matrix:
    """Read and check the text of a file; raises as `read_matrix`."""
    page = Page.read(text, shown(path), MatrixInvalidError)
    whole = page.fields(page.document.value, None, "")
    whole.only(_KEYS)
    if "agents" in whole.value and "loops" in whole.value:
        whole.refuse("agents and loops exclude each other", "loops", "An agent names its loop.")
    loops, subjects = _loops(whole) if "loops" in whole.value else ((), _agents(whole))
    defined, drivers = _drivers(whole)
    matrix = Matrix(
        path,
        text,
        subjects or (Subject(),),
        drivers or (DriverChoice(),),
        _models(whole) or (ModelChoice(),),
        _prompts(whole),
        of_agents="agents" in whole.value,
        repeats=whole.whole("repeats") or 1,
        timeout=_seconds(whole, "timeout", 300.0),
        needs=_needs(whole),
        script=_path(whole, "script"),
        cwd=_path(whole, "cwd"),
        workspace=_path(whole, "workspace"),
        allow=_allowed(whole),
        allow_partial=bool(whole.get("allow_partial", _is_flag, "true or false")),
        defined=LoopsFile(path, loops, defined),
    )
    if matrix.cwd is not None and matrix.workspace is not None:
        whole.refuse("cwd and workspace exclude each other", "workspace")
    return matrix


# --- what is compared ----------------------------------------------------------------------------


def _loops(whole: Fields) -> tuple[tuple[Registered, ...], tuple[Subject, ...]]:
    """Read a list of ids, or a mapping that may describe them as loops.yml does."""
    defined, names = [], []
    for entries, key, value, path in _each(whole, "loops"):
        name = key if isinstance(key, str) else value
        if not is_name(name):
            entries.refuse(f"{path} must be a loop id", key)
        names.append(name)
        if isinstance(key, str) and value is not None:
            defined.append(_registered(entries, key, value, path))
    _distinct(whole, "loops", names)
    return tuple(defined), tuple(Subject(name, name) for name in names)


def _registered(entries: _Entries, name: str, value: Any, path: str) -> Registered:
    page = entries.page
    line = page.line(entries.value, name) or 1
    if is_target(value):
        return Registered(name, "loop", page.file, line, target=value)
    strategy = read_strategy(name, page.fields(entries.value, name, path))
    return Registered(name, "loop", page.file, line, strategy=strategy)


def _agents(whole: Fields) -> tuple[Subject, ...]:
    found = []
    for entries, key, value, path in _each(whole, "agents"):
        if isinstance(key, str) and value is None:
            value = key
        if is_text(value):
            found.append(Subject(value, entry=True))
            continue
        fields = entries.fields(key, path)
        fields.only(_AGENT)
        name = fields.text("id") or (key if isinstance(key, str) else None)
        if name is None:
            fields.refuse(f"{path} needs an id")
        found.append(
            Subject(
                name,
                fields.name("loop", "a loop id"),
                fields.text("preset"),
                fields.text("driver"),
                fields.text("model"),
                fields.text("effort"),
                fields.whole("max_tokens"),
                _needs(fields),
            )
        )
    _distinct(whole, "agents", [one.id for one in found])
    return tuple(found)


def _drivers(whole: Fields) -> tuple[tuple[Registered, ...], tuple[DriverChoice, ...]]:
    """Read a list of names, or a mapping that may say where a driver is imported from."""
    defined, found = [], []
    for entries, key, value, path in _each(whole, "drivers"):
        if isinstance(key, str) and (value is None or is_target(value)):
            if not is_name(key):
                entries.refuse(f"{path} is no driver name", key)
            found.append(DriverChoice(key, key))
            if value is not None:
                line = entries.page.line(entries.value, key) or 1
                defined.append(Registered(key, "driver", entries.page.file, line, target=value))
        elif isinstance(key, int) and is_text(value):
            found.append(DriverChoice(value, value))
        else:
            found.append(_driver(entries.fields(key, path), key))
    _distinct(whole, "drivers", [one.id for one in found])
    return tuple(defined), tuple(found)


def _driver(fields: Fields, key: str | int) -> DriverChoice:
    fields.only(("id", "driver", "command", "needs"))
    driver = fields.text("driver")
    name = fields.text("id") or (key if isinstance(key, str) else driver)
    if name is None:
        fields.refuse(f"{fields.path} needs a driver")
    return DriverChoice(name, driver or name, _words(fields), _needs(fields))


def _models(whole: Fields) -> tuple[ModelChoice, ...]:
    found = []
    for entries, key, value, path in _each(whole, "models"):
        if isinstance(key, int) and is_text(value):
            found.append(ModelChoice(value, value))
            continue
        fields = entries.fields(key, path)
        fields.only(("id", "model", "effort", "max_tokens", "needs"))
        model = fields.text("model")
        name = fields.text("id") or (key if isinstance(key, str) else model)
        if name is None:
            fields.refuse(f"{path} needs a model")
        effort, most = fields.text("effort"), fields.whole("max_tokens")
        found.append(ModelChoice(name, model, effort, most, _needs(fields)))
    _distinct(whole, "models", [one.id for one in found])
    return tuple(found)


# --- what is said, and what comes back -----------------------------------------------------------


def _prompts(whole: Fields) -> tuple[Prompt, ...]:
    common = _checks(whole)
    found = []
    for entries, key, value, path in _each(whole, "prompts"):
        number = str(key if isinstance(key, str) else key + 1)
        if is_text(value):
            found.append(Prompt(number, (value,), common))
            continue
        fields = entries.fields(key, path)
        fields.only(("id", *_SAID, "checks", "script"))
        name, turns = fields.text("id") or number, _turns(fields)
        found.append(Prompt(name, turns, common + _checks(fields), _path(fields, "script")))
    if not found:
        whole.refuse("there must be prompts", "prompts" if "prompts" in whole.value else None)
    _distinct(whole, "prompts", [one.id for one in found])
    return tuple(found)


def _turns(fields: Fields) -> tuple[str, ...]:
    given = [key for key in _SAID if key in fields.value]
    if len(given) != 1:
        fields.refuse(f"{fields.path} must have one of {', '.join(_SAID)}")
    if given == ["file"]:
        path = _path(fields, "file")
        assert path is not None, "the key is there"
        return (require_text(path).value,)
    turns = fields.texts(given[0])
    if not turns:
        fields.refuse(f"{fields.at(given[0])} says nothing", given[0])
    return turns


def _checks(fields: Fields) -> tuple[Check, ...]:
    items = fields.items("checks") or ()
    page = fields.page
    return tuple(
        _check(page.fields(items, index, f"{fields.at('checks')}[{index}]"))
        for index in range(len(items))
    )


def _check(fields: Fields) -> Check:
    fields.only((*KINDS, "exit", "timeout"))
    kinds: list[Kind] = [kind for kind in KINDS if kind in fields.value]
    if len(kinds) != 1:
        fields.refuse(f"{fields.path} must have one of {', '.join(KINDS)}")
    kind = kinds[0]
    if kind == "command":
        return _command(fields)
    for key in ("exit", "timeout"):
        if key in fields.value:
            fields.refuse(f"{fields.at(key)} is for a command", key)
    text = fields.text(kind)
    assert text is not None, "the key is there"
    if kind == "regex":
        try:
            re.compile(text)
        except re.error as fault:
            fields.refuse(f"{fields.at(kind)} is no regular expression: {fault}", kind)
    return Check(kind, text)


def _command(fields: Fields) -> Check:
    given = _words(fields)
    assert given is not None, "the key is there"
    seconds = _seconds(fields, "timeout", COMMAND_SECONDS)
    return Check("command", shlex.join(given), given, fields.whole("exit", 0) or 0, seconds)


# --- shared --------------------------------------------------------------------------------------


class _Entries:
    """A list or a mapping of a page."""

    def __init__(self, page: Page, value: Any) -> None:
        self.page, self.value = page, value

    def refuse(self, message: str, key: str | int) -> Any:
        self.page.refuse(message, self.value, key)

    def fields(self, key: str | int, path: str) -> Fields:
        return self.page.fields(self.value, key, path)


def _each(whole: Fields, name: str) -> Iterator[tuple[_Entries, str | int, Any, str]]:
    """Yield the entries of a list or mapping with their keys and what messages call them."""
    if name not in whole.value:
        return
    held = whole.value[name]
    if not (isinstance(held, list) or is_object(held)) or not held:
        whole.refuse(f"{name} must be a list with something in it", name)
    entries = _Entries(whole.page, held)
    if isinstance(held, Mapping):
        for key, value in held.items():
            yield entries, key, value, f"{name}.{key}"
    else:
        for index, value in enumerate(held):
            yield entries, index, value, f"{name}[{index}]"


def _distinct(whole: Fields, name: str, ids: Sequence[str | None]) -> None:
    for index, one in enumerate(ids):
        if one in ids[:index]:
            held = whole.value[name]
            key = index if isinstance(held, list) else list(held)[index]
            whole.page.refuse(f'{name} has two of the id "{one}"', held, key)


def _words(fields: Fields) -> tuple[str, ...] | None:
    """Read a command: a text is split like a shell does, a list is taken as it is."""
    given = fields.texts("command")
    if isinstance(fields.value.get("command"), str):
        try:
            given = tuple(shlex.split(fields.value["command"]))
        except ValueError as fault:
            fields.refuse(f"{fields.at('command')} can't be read: {fault}", "command")
    if given is not None and not given:
        fields.refuse(f"{fields.at('command')} must be a command", "command")
    return given


def _needs(fields: Fields) -> tuple[str, ...]:
    given = fields.texts("needs") or ()
    for one in given:
        if not _NEED.fullmatch(one):
            fields.refuse(f"{fields.at('needs')} takes variables, NAME or NAME=VALUE", "needs")
    return given


def _allowed(whole: Fields) -> tuple[str, ...]:
    given = whole.texts("allow") or ()
    for one in given:
        if one not in ALLOWED:
            whole.refuse(f"allow takes {' and '.join(ALLOWED)}", "allow")
    return given


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _seconds(fields: Fields, key: str, default: float) -> float:
    found = fields.number(key)
    if found == 0:
        fields.refuse(f"{fields.at(key)} must be more than 0 seconds", key)
    return default if found is None else float(found)


def _path(fields: Fields, key: str) -> Path | None:
    """Read a path that must lead somewhere; it is taken from the file's folder."""
    given = fields.text(key)
    if given is None:
        return None
    path = Path(fields.page.file).parent / Path(given).expanduser()
    if not (path.is_file() if key in _FILES else path.is_dir()):
        kind = "file" if key in _FILES else "folder"
        fields.refuse(f"{fields.at(key)}: there is no {kind} {shown(path)}", key)
    return path
