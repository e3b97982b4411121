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
from collections.abc import Sequence
from pathlib import Path

from dshloop.errors import MatrixInvalidError
from dshloop.files import require_text, shown
from dshloop.loops.fields import Fields, Page
from dshloop.loops.loops_file import LoopsFile
from dshloop.loops.names import is_text
from dshloop.runs.matrix.axes import read_agents, read_drivers, read_loops, read_models
from dshloop.runs.matrix.checks import COMMAND_SECONDS, KINDS, Check, Kind
from dshloop.runs.matrix.design import DriverChoice, Matrix, ModelChoice, Prompt, Subject
from dshloop.runs.matrix.entries import each, read_needs, read_words, require_distinct
from dshloop.runs.talking.asked import ALLOWED

_KEYS = (
    "agents", "loops", "drivers", "models", "prompts", "repeats", "checks", "timeout", "needs",
    "script", "cwd", "workspace", "allow", "allow_partial",
)  # fmt: skip
_SAID = ("text", "turns", "file")
_FILES = ("script", "file")
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
    loops, subjects = read_loops(whole) if "loops" in whole.value else ((), read_agents(whole))
    defined, drivers = read_drivers(whole)
    matrix = Matrix(
        path,
        text,
        subjects or (Subject(),),
        drivers or (DriverChoice(),),
        read_models(whole) or (ModelChoice(),),
        _prompts(whole),
        of_agents="agents" in whole.value,
        repeats=whole.whole("repeats") or 1,
        timeout=_seconds(whole, "timeout", 300.0),
        needs=read_needs(whole),
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


def _prompts(whole: Fields) -> tuple[Prompt, ...]:
    common = _checks(whole)
    found = []
    for entries, key, value, path in each(whole, "prompts"):
        number = str(key if isinstance(key, str) else key + 1)
        if is_text(value) and value.strip():
            found.append(Prompt(number, (value,), common))
            continue
        if not isinstance(value, dict):
            entries.refuse(f"{path} must be a text that says something, or a mapping", key)
        fields = entries.fields(key, path)
        fields.only(("id", *_SAID, "checks", "script"))
        name, turns = fields.text("id") or number, _turns(fields)
        found.append(Prompt(name, turns, common + _checks(fields), _path(fields, "script")))
    if not found:
        whole.refuse("there must be prompts", "prompts" if "prompts" in whole.value else None)
    require_distinct(whole, "prompts", [one.id for one in found])
    return tuple(found)


def _turns(fields: Fields) -> tuple[str, ...]:
    given = [key for key in _SAID if key in fields.value]
    if len(given) != 1:
        fields.refuse(f"{fields.path} must have one of {', '.join(_SAID)}")
    if given == ["file"]:
        path = _path(fields, "file")
        assert path is not None, "the key is there"
        turns: Sequence[str] = (require_text(path).value,)
    else:
        turns = fields.texts(given[0]) or ()
    if not turns or not all(map(str.strip, turns)):
        fields.refuse(f"{fields.at(given[0])} says nothing", given[0])
    return tuple(turns)


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
    given = read_words(fields)
    assert given is not None, "the key is there"
    seconds = _seconds(fields, "timeout", COMMAND_SECONDS)
    return Check("command", shlex.join(given), given, fields.whole("exit", 0) or 0, seconds)


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
