"""What is sent for a memory, an observation or a record: pure.

``POST /import`` takes whole rows, so it keeps what the daemon's other endpoints have no place for:
titles, sources, exact times (agentmemory 3.7).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dshloop.memory.agentmemory_client import calls
from dshloop.memory.agentmemory_client.answers import Kept, Noted, Row
from dshloop.memory.agentmemory_client.calls import Call
from dshloop.memory.answers import Document, Record
from dshloop.memory.entries import (
    Edit,
    Memory,
    NewMemory,
    NewObservation,
    Observation,
    Session,
    title_of,
)
from dshloop.memory.interchange.agentmemory_export import VERSION
from dshloop.memory.interchange.agentmemory_shape import (
    LESSON,
    NARRATIVE_UNITS,
    OURS,
    memory_row,
    observation_row,
    session_row,
)
from dshloop.memory.observing import FAILURE, PROMPT, SUBTITLE_UNITS, cut
from dshloop.times import iso_time

_DAY = 86_400.0
_RESULTS = ("post_tool_use", FAILURE)
_NO_FOLDER = "."  # the daemon takes no observation without a working directory
_JOINT = " | "


def remembering(new: NewMemory) -> Call[Kept]:
    """Give the call that keeps a memory."""
    return calls.remember(
        new.content,
        type=new.type,
        concepts=list(new.concepts) or None,
        files=list(new.files) or None,
        ttl_days=None if new.ttl is None else new.ttl / _DAY,
        project=new.project or None,
        agent=new.agent,
    )


def completed(memory: Memory, new: NewMemory) -> Memory:
    """Give a memory that the daemon made with what POST /remember has no place for; the same when
    there is nothing of it."""
    told = len(new.source) > 1  # {"kind": "command"} says nothing
    return memory._replace(
        title=new.title or memory.title,
        session=new.session or memory.session,
        strength=memory.strength if new.strength is None else float(new.strength),
        source=new.source if told else memory.source,
    )


def edited(old: Memory, change: Edit) -> Memory:
    """Give a memory as it shall be; a title that was made of the text goes with it."""
    content = old.content if change.content is None else change.content
    derived = " ".join(old.title.split()) == title_of(old.content)
    kept = title_of(content) if derived and content != old.content else old.title
    return old._replace(
        content=content,
        title=change.title or kept,
        type=change.type or old.type,
        concepts=old.concepts if change.concepts is None else tuple(change.concepts),
        files=old.files if change.files is None else tuple(change.files),
        strength=old.strength if change.strength is None else float(change.strength),
    )


def observing(new: NewObservation, now: float, mark: str = "") -> Call[Noted]:
    """Give the call that keeps an observation.

    0.9.29 reads texts of three hooks only (agentmemory 5); what others say is sent as the result of
    a tool that is called like the hook. A ``mark`` makes it one that is no repeat.
    """
    hook, data = _hook_data(new, whole=bool(mark))
    at = iso_time(now if new.at is None else new.at)
    folder = new.cwd or _NO_FOLDER
    marked = {"mark": mark, **data} if mark else data
    return calls.observe(hook, new.session, new.project, folder, at, marked, agent=new.agent)


def is_repeat(seen: Observation, new: NewObservation) -> bool:
    """Whether an observation that the daemon has says what a new one says."""
    return seen.title == new.title and seen.content == cut(new.content, NARRATIVE_UNITS)


def as_sent(new: NewObservation, id_: str, now: float) -> Observation:
    """Give what was sent as an observation, where another one took it away meanwhile."""
    return Observation(
        id_, new.session, new.hook, new.type, new.title, new.subtitle, new.content,
        tuple(new.concepts), tuple(new.files), new.project, new.agent, new.source,
        now if new.at is None else new.at, new.importance,
    )  # fmt: skip


def importing(records: Iterable[Record]) -> Call[Row]:
    """Give the call that puts records in the place of those with their ids."""
    export = exported()
    for record in records:
        _place(export, record)
    return calls.import_(export)


def exported(**rows: Any) -> dict[str, Any]:
    """Give an export that holds some rows."""
    nothing: dict[str, Any] = {"sessions": [], "observations": {}, "memories": [], "summaries": []}
    return {"version": VERSION, "exportedAt": iso_time(0.0), **nothing, "lessons": [], **rows}


def row_of(record: Record) -> Row:
    """Give a record as a row of an export."""
    if isinstance(record, Session):
        return session_row(record, whole=True)
    if isinstance(record, Memory):
        return memory_row(record, whole=True)
    if isinstance(record, Observation):
        return observation_row(record, whole=True)
    return dict(record.value)


def is_carried(record: Record) -> bool:
    """Whether the daemon has a place for a record: of documents, for lessons only."""
    if not isinstance(record, Document):
        return True
    return record.of == LESSON and isinstance(record.value, Mapping)


def new_version(row: Row) -> dict[str, Any]:
    """Give the row of a version that the daemon made of another one, without what that one's
    copied remarks say of its own times and repeats."""
    ours = row.get(OURS)
    kept = {"source": ours["source"]} if isinstance(ours, Mapping) and "source" in ours else {}
    return {**{key: value for key, value in row.items() if key != OURS}, OURS: kept}


def _place(export: dict[str, Any], record: Record) -> None:
    row = row_of(record)
    if isinstance(record, Session):
        export["sessions"].append(row)
    elif isinstance(record, Memory):
        export["memories"].append(row)
    elif isinstance(record, Observation):
        export["observations"].setdefault(record.session, []).append(row)
    else:
        export["lessons"].append(row)


def _hook_data(new: NewObservation, *, whole: bool) -> tuple[str, dict[str, Any]]:
    """Give the hook and its data; ``whole``: without an input, so that all data tell it apart."""
    if new.hook == PROMPT:
        return PROMPT, {"prompt": new.content, **({} if whole else {"tool_input": new.content})}
    if not new.content:
        return new.hook, {}
    hook = new.hook if new.hook in _RESULTS else _RESULTS[0]
    given, output = (None, new.content) if whole else _parted(new)
    data: dict[str, Any] = {"tool_name": new.title or new.hook}
    return hook, {**data, **({} if given is None else {"tool_input": given}), "tool_output": output}


def _parted(new: NewObservation) -> tuple[Any, str]:
    """Part a tool's input from its output, which a content holds joined (observing.content_of).

    An input that is JSON goes as what it says: the daemon finds files in objects only (agentmemory
    13, D7). A long text, of which only the beginning is known, stays with the output.
    """
    text = new.content
    if new.subtitle and text[:1] in ("{", "["):
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            value, end = None, -1
        if end == len(text) or text.startswith(_JOINT, max(end, 0)):
            return value, text[end + len(_JOINT) :]
    given = new.subtitle
    if (
        not given
        or len(given) >= SUBTITLE_UNITS
        or not f"{text}{_JOINT}".startswith(given + _JOINT)
    ):
        return None, text
    return given, text[len(given) + len(_JOINT) :]
