"""Find and list sessions: ours, and read-only those of dsh, newest first.

A listing looks at folders and modification times of everything, and only into the logs it shows:
their first and last 64 KiB, of a compressed log the first.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dshloop.errors import DshloopError, SessionAmbiguousError, SessionNotFoundError
from dshloop.files import why
from dshloop.paths import Places
from dshloop.sessions.naming import LOG_NAME, decode_id, encode_id, folder_of
from dshloop.transcripts.header import Header
from dshloop.transcripts.vocabulary import LOG_NAMES, Event, envelope_fault

Home = Literal["dshloop", "dsh"]

_TAIL = 1 << 16


class Entry(NamedTuple):
    """A session that is there; ``updated`` is its log's modification time in epoch seconds.

    A named tuple with the file as text, since a listing makes one of every session.
    """

    id: str
    file: str
    home: Home
    size: int
    updated: float

    @property
    def path(self) -> Path:
        """The log."""
        return Path(self.file)


class Summary(NamedTuple):
    """What the ends of a log tell. ``events`` are those that were looked at, in order.

    ``state`` is the reason kind of the last turn's end, ``open`` for a turn without one, ``empty``
    without any turn, None when a compressed log wasn't read to its end. ``fault`` is why DSH would
    refuse the log or why it can't be read, ``fault_code`` the code of that finding or error.
    """

    entry: Entry
    header: Header | None
    events: Sequence[Event]
    title: str
    turns: int
    state: str | None
    fault: str | None
    fault_code: str | None = None


def entries(places: Places) -> list[Entry]:
    """List every session of ours and of dsh, newest first."""
    found = [*_entries(places.sessions, "dshloop"), *_entries(places.dsh_sessions, "dsh")]
    return sorted(found, key=lambda entry: (entry.updated, entry.id), reverse=True)


def entries_of(found: Sequence[Entry], cwd: Path) -> list[Entry]:
    """Take those whose folder can be that of a working directory; `in_folder` tells for sure."""
    part = f"{os.sep}{folder_of(str(cwd))}{os.sep}"
    return [entry for entry in found if part in entry.file]


def log_in(folder: Path) -> Path | None:
    """Find the log in a session's own folder, the newest format first."""
    found = (folder / name for name in LOG_NAMES)
    return next((path for path in found if path.is_file()), None)


def summarize(entry: Entry) -> Summary:
    """Look into both ends of a log; a log that can't be read has a ``fault``, never an error."""
    from dshloop.transcripts.dsh import read_head

    try:
        head = read_head(entry.path, _TAIL)
        events, whole = head.events, head.whole
        if not whole and not entry.path.name.endswith(".zstd"):
            events, whole = [*events, *_tail(entry.path, entry.size)], True
    except DshloopError as error:
        return Summary(entry, None, (), "", 0, None, error.message, error.code)
    except OSError as error:  # it went while we looked
        return Summary(entry, None, (), "", 0, None, why(error), "SESSION_UNREADABLE")
    return Summary(
        entry=entry,
        header=head.header,
        events=events,
        title=title_of(events),
        turns=_turns(events),
        state=_state(events) if whole else None,
        fault=head.refusal.message if head.refusal else None,
        fault_code=head.refusal.code if head.refusal else None,
    )


def in_folder(summary: Summary, cwd: Path) -> bool:
    """Whether a session was started in this working directory."""
    return summary.header is not None and summary.header.cwd == str(cwd)


def is_child(summary: Summary) -> bool:
    """Whether another session's agent began a session."""
    return summary.header is not None and summary.header.origin is not None


def parent_of(summary: Summary) -> str | None:
    """Give the session whose agent began a session, None for one that nobody's agent did."""
    header = summary.header
    return header.parent_session if header is not None and is_child(summary) else None


def newest_of(places: Places, cwd: Path) -> Entry:
    """Find the newest session of ours in a working directory. Raises SESSION_NOT_FOUND.

    Those that agents have begun for others don't count.
    """
    folder = places.sessions / folder_of(str(cwd))
    found = sorted(_in_slug(str(folder), "dshloop"), key=lambda entry: entry.updated, reverse=True)
    for entry in found:
        found_there = summarize(entry)
        if in_folder(found_there, cwd) and not is_child(found_there):
            return entry
    raise SessionNotFoundError(f"no session was started in {cwd} yet", cwd=str(cwd))


def find(places: Places, name: str, cwd: Path) -> Entry:
    """Find a session by ``last``, its id, or the beginning of its id when that is unique.

    Of two sessions with one id ours is meant. Raises SESSION_NOT_FOUND, SESSION_AMBIGUOUS.
    """
    if name == "last":
        return newest_of(places, cwd)
    exact = find_id(places, name)
    if exact is not None:
        return exact
    fitting = [entry for entry in entries(places) if begins(entry.id, name)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise SessionNotFoundError(f'there is no session "{name}"', session=name)
    ids = [entry.id for entry in fitting]
    shown = ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")
    raise SessionAmbiguousError(f'"{name}" fits {len(ids)} sessions: {shown}', sessions=ids[:20])


def find_id(places: Places, session_id: str) -> Entry | None:
    """Find a session by its whole id, in any folder; raises SESSION_ID_INVALID."""
    name = encode_id(session_id)
    homes: tuple[tuple[Path, Home], ...] = (
        (places.sessions, "dshloop"),
        (places.dsh_sessions, "dsh"),
    )
    for root, home in homes:
        for folder in _folders(str(root)):
            entry = _entry(f"{folder}{os.sep}{name}", home)
            if entry is not None:
                return entry
    return None


def begins(session_id: str, start: str) -> bool:
    """Whether an id, or what follows dsh's prefix of one, begins so; none does with nothing."""
    known = (session_id, session_id.removeprefix("session-"))
    return bool(start) and any(each.startswith(start) for each in known)


def _entries(root: Path, home: Home) -> Iterator[Entry]:
    for folder in _folders(str(root)):
        yield from _in_slug(folder, home)


def _in_slug(folder: str, home: Home) -> Iterator[Entry]:
    for path in _folders(folder):
        entry = _entry(path, home)
        if entry is not None:
            yield entry


def entry_at(folder: Path, home: Home) -> Entry | None:
    """Give the session whose own folder this is, None when there is no log in it."""
    return _entry(str(folder), home)


def _entry(folder: str, home: Home) -> Entry | None:
    for name in (LOG_NAME,) if home == "dshloop" else LOG_NAMES:
        file = f"{folder}{os.sep}{name}"
        try:
            found = os.stat(file)  # noqa: PTH116 - thousands of them
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            session_id = decode_id(folder.rpartition(os.sep)[2])
            return Entry(session_id, file, home, found.st_size, found.st_mtime)
    return None


def _folders(root: str) -> list[str]:
    try:
        with os.scandir(root) as listing:
            return [entry.path for entry in listing if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


# --- the ends of a log -------------------------------------------------------------------------


def _tail(path: Path, size: int) -> list[Event]:
    """Give the whole events in the last bytes of a plain log that begin after its head."""
    with path.open("rb") as file:
        file.seek(max(size - _TAIL, _TAIL))
        lines = file.read().split(b"\n")
    return [event for event in map(_event, lines[1:]) if event is not None]


def _event(line: bytes) -> Event | None:
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and envelope_fault(value) is None else None


def title_of(events: Sequence[Event]) -> str:
    """Give the newest title, else the first words of the user, or of an agent to its child."""
    for event in reversed(events):
        if event["type"] == "session/title" and isinstance(event["data"], dict):
            return str(event["data"].get("title") or "")
    messages = [event for event in events if event["type"] == "user/message"]
    spoken = (text_by(who, event) for who in ("user", "coordinator") for event in messages)
    return next(filter(None, spoken), "")


def text_by(who: str, event: Event) -> str:
    """Give what a source of this kind said in a ``user/message``; nothing for another's."""
    data = event["data"]
    source: Any = data.get("source") if isinstance(data, dict) else None
    if not isinstance(source, dict) or source.get("kind") != who:
        return ""
    content = data.get("content")
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _turn_of(event: Event) -> int:
    data = event["data"]
    turn = data.get("turn") if isinstance(data, dict) else None
    return turn if type(turn) is int else 0


def _turns(events: Sequence[Event]) -> int:
    return max((_turn_of(event) for event in events if event["type"] == "turn/start"), default=0)


def _state(events: Sequence[Event]) -> str:
    for event in reversed(events):
        if event["type"] == "turn/start":
            return "open"
        if event["type"] == "turn/end":
            reason = event["data"].get("reason") if isinstance(event["data"], dict) else None
            return str(reason.get("kind")) if isinstance(reason, dict) else "open"
    return "empty"
