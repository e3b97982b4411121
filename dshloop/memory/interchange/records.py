"""Records as lines of our own format, without loss, and back: pure.

A line is an object whose ``kind`` is session, memory, observation or document and whose keys are
the fields of the record; times are Unix seconds, exactly. A session's count of observations is
left out: it follows from them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from dshloop.json_text import json_text
from dshloop.memory.answers import DOCUMENT, SESSION, Document, Record
from dshloop.memory.entries import MEMORY, OBSERVATION, TYPES, Memory, Observation, Session
from dshloop.memory.interchange.fields import MOST, RowError, finite

FORMAT = "dshloop-memory"
VERSION = 1
END = "end"
KINDS = (SESSION, MEMORY, OBSERVATION, DOCUMENT)
_CLASSES: Mapping[str, Any] = {
    SESSION: Session,
    MEMORY: Memory,
    OBSERVATION: Observation,
    DOCUMENT: Document,
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}

# What each field must be, None where the record may lack it.
_TEXT, _SOME, _LABELS, _TIME, _LATER, _COUNT, _OBJECT = (
    (str,),
    (str, type(None)),
    (list,),
    (int, float),
    (int, float, type(None)),
    (int,),
    (dict,),
)
_FIELDS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    SESSION: {
        "id": _TEXT, "project": _TEXT, "cwd": _TEXT, "agent": _SOME, "title": _SOME,
        "first_prompt": _SOME, "summary": (), "started_at": _TIME, "updated_at": _TIME,
        "ended_at": _LATER,
    },
    MEMORY: {
        "id": _TEXT, "type": _TEXT, "title": _TEXT, "content": _TEXT, "concepts": _LABELS,
        "files": _LABELS, "project": _TEXT, "agent": _SOME, "session": _SOME, "source": _OBJECT,
        "created_at": _TIME, "updated_at": _TIME, "strength": _TIME, "expires_at": _LATER,
        "version": _COUNT, "previous": _SOME, "latest": (bool,), "repeats": _COUNT,
    },
    OBSERVATION: {
        "id": _TEXT, "session": _TEXT, "hook": _TEXT, "type": _TEXT, "title": _TEXT,
        "subtitle": _TEXT, "content": _TEXT, "concepts": _LABELS, "files": _LABELS,
        "project": _TEXT, "agent": _SOME, "source": _OBJECT, "created_at": _TIME,
        "importance": _TIME, "repeats": _COUNT,
    },
    DOCUMENT: {"of": _TEXT, "key": _TEXT, "value": (), "updated_at": _TIME},
}  # fmt: skip


def header_line() -> str:
    """Give the first line of a file."""
    return json_text({"format": FORMAT, "version": VERSION})


def end_line(counts: Mapping[str, int]) -> str:
    """Give the last line, which shows that nothing is missing before it."""
    return json_text({"kind": END, **counts})


def kind_of(record: Record) -> str:
    """Tell what a record is: session, memory, observation or document."""
    if isinstance(record, (Memory, Observation)):
        return record.kind
    return SESSION if isinstance(record, Session) else DOCUMENT


def identity(record: Record) -> tuple[str, str]:
    """Tell a record from all others of a store."""
    if isinstance(record, Document):
        return f"{DOCUMENT} {record.of}", record.key
    return kind_of(record), record.id


def record_line(record: Record) -> str:
    """Write a record; what is read back and written again is the same text."""
    kind = kind_of(record)
    line = {"kind": kind, **{name: getattr(record, name) for name in _FIELDS[kind]}}
    return json_text(_joined(line))


def record_of(line: Mapping[str, Any]) -> Record:
    """Read a record that `decoded` gave. Raises RowError."""
    kind = line.get("kind")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise RowError(f"its kind is none of {', '.join(_FIELDS)}")
    fields = {name: _checked(line, name, types) for name, types in _FIELDS[kind].items()}
    record: Record = _CLASSES[kind](**fields)
    if not (record.key if isinstance(record, Document) else record.id):
        raise RowError("its id is empty")
    if isinstance(record, Memory):
        if record.type not in TYPES:
            raise RowError("its type is no type of memory")
        if not record.content.strip():
            raise RowError("its content is blank")
    return record


def decoded(line: str) -> Any:
    """Parse a line of JSON, numbers that JSON lacks included. Raises ValueError, RecursionError."""
    return json.loads(line, object_hook=_numbers if '"$num"' in line else None)


def _checked(line: Mapping[str, Any], name: str, types: tuple[type, ...]) -> Any:
    value: Any = line.get(name)
    if types and not isinstance(value, types):
        raise RowError(f"its {name} is missing" if value is None else f"its {name} is wrong")
    if isinstance(value, bool) and bool not in types and types:
        raise RowError(f"its {name} is wrong")
    if types and type(value) in (int, float) and finite(value) is None:
        raise RowError(f"its {name} is no finite number")
    if types is _COUNT and not 0 <= value <= MOST:
        raise RowError(f"its {name} is out of range")
    if types is _LABELS:
        if not all(isinstance(label, str) for label in value):
            raise RowError(f"its {name} are no texts")
        return tuple(value)
    return float(value) if types in (_TIME, _LATER) and value is not None else value


def _numbers(value: dict[str, Any]) -> Any:
    if len(value) == 1 and isinstance(named := value.get("$num"), str) and named in _NUMBERS:
        return _NUMBERS[named]
    return value


def _joined(value: Any) -> Any:
    """Join surrogates that stand as pairs, as every reader of JSON will."""
    if isinstance(value, str):
        if value.isascii() or _SURROGATE.search(value) is None:
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if isinstance(value, Mapping):
        return {_joined(key): _joined(member) for key, member in value.items()}
    return [_joined(one) for one in value] if isinstance(value, (list, tuple)) else value
