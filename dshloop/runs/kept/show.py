"""A stored session to look at: as data, and as text that a person can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.files import shown
from dshloop.loops.binding import Stored, stored_binding
from dshloop.paths import Places
from dshloop.runs.kept.listing import binding_json
from dshloop.runs.watching.reply import failure_of, failure_text
from dshloop.sessions.export.pieces import block_text, content_text, context_label
from dshloop.sessions.locate import locate
from dshloop.terminal import one_line
from dshloop.times import iso_time
from dshloop.transcripts.dsh import Transcript, read_transcript
from dshloop.transcripts.vocabulary import Event

_LONGEST_RESULT = 200  # characters of a tool's result that are shown


@dataclass(frozen=True, slots=True)
class Shown:
    """A session that was read, and what it runs on."""

    transcript: Transcript
    stored: Stored

    def as_json(self) -> dict[str, Any]:
        """Give everything that is whole; events keep DSH's own keys."""
        read, header = self.transcript, self.transcript.header
        return {
            "id": header.id if header else None,
            "path": shown(read.path),
            "version": read.version,
            "compressed": read.compressed,
            "header": header.raw if header else None,
            **binding_json(self.stored),
            "counts": read.counts,
            "open": bool(read.closers()),
            "findings": [finding.as_json() for finding in read.findings],
            "events": read.events,
            "later_events": read.later,
        }

    def text(self) -> str:
        """Give the session as text: one paragraph for each thing said or done."""
        parts = [_title(self), *_turns(self.transcript.events)]
        if self.transcript.later:
            parts += ["--- behind the damage ---", *_turns(self.transcript.later)]
        elif self.transcript.closers():
            parts.append("(this turn was left open)")
        return "\n\n".join(parts)


def show_session(places: Places, name: str, cwd: Path) -> Shown:
    """Read a session by ``last``, id, beginning of an id, or the path of a log or its folder.

    Raises SESSION_NOT_FOUND, SESSION_AMBIGUOUS, and SESSION_UNREADABLE when nothing is whole.
    """
    read = read_transcript(locate(places, name, cwd).path)
    preset = read.header.agent_preset if read.header else None
    return Shown(read, stored_binding([*read.events, *read.later], preset))


# --- as text -------------------------------------------------------------------------------------


def _title(session: Shown) -> str:
    header, stored = session.transcript.header, session.stored
    known = "recorded" if stored.recorded else f"inferred from the {stored.inferred_from}"
    runs_on = f"{stored.loop} on {stored.driver}" if stored.driver else stored.loop
    lines = [f"session {header.id if header else '?'}"]
    if header is not None:
        lines.append(f"started {iso_time(header.created_at / 1000)} in {header.cwd or 'no folder'}")
        if header.origin is not None:
            lines.append(f"parent  {header.parent_session or '?'} ({header.origin})")
    return "\n".join([*lines, f"loop    {runs_on} ({known})"])


def _turns(events: Sequence[Event]) -> Iterator[str]:
    return (text for text in map(event_text, events) if text is not None)


def event_text(event: Event) -> str | None:
    """Give what a person is shown of one event; None for what is only for machines."""
    render = _RENDERERS.get(event["type"])
    data = event["data"]
    return render(data) if render is not None and isinstance(data, dict) else None


def _turn_start(data: Mapping[str, Any]) -> str:
    return f"== turn {data.get('turn')} =="


def _turn_end(data: Mapping[str, Any]) -> str | None:
    reason = data.get("reason")
    kind = reason.get("kind") if isinstance(reason, dict) else None
    if kind == "completed" or not isinstance(reason, dict):
        return None
    failure = failure_of(reason)
    more = "" if failure is None else f": {failure_text(failure)}"
    return f"(turn {data.get('turn')} ended: {kind}{more})"


_SPEAKERS = {"user": "you", "coordinator": "parent"}


def _user(data: Mapping[str, Any]) -> str:
    """Show a person's words, or a parent's, as theirs, and whatever else came in as what it is."""
    found = data.get("source")
    source = found if isinstance(found, dict) else {}
    text = content_text(data)
    speaker = _SPEAKERS.get(str(source.get("kind")))
    if speaker is not None:
        return f"{speaker}: {text}"
    return f"[context added by {context_label(source)}]\n{_indented(text)}"


def _message(data: Mapping[str, Any]) -> str | None:
    message = data.get("message")
    if not isinstance(message, dict):
        return None
    source = message.get("source")
    model = source.get("model") if isinstance(source, dict) else None
    name = f"assistant ({model})" if model else "assistant"
    cut = " [interrupted]" if data.get("interrupted") else ""
    text = _answer(message)
    return f"{name}: {text}{cut}" if text or cut else None


def _system(data: Mapping[str, Any]) -> str:
    return f"[system prompt]\n{_indented(content_text(data.get('message')))}"


def _call(data: Mapping[str, Any]) -> str:
    return f"tool {data.get('name')} {one_line(str(data.get('arguments')), _LONGEST_RESULT)}"


def _result(data: Mapping[str, Any]) -> str:
    message = data.get("message")
    text = one_line(content_text(message), _LONGEST_RESULT)
    failed = " failed" if "error" in data else ""
    return f"  result{failed}: {text}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _answer(message: Mapping[str, Any]) -> str:
    """Give the text of a model's message, its thoughts marked."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return "\n".join(filter(None, map(_block, blocks)))


def _block(block: object) -> str | None:
    text = block_text(block)
    thought = isinstance(block, Mapping) and block.get("type") == "reasoning"
    return f"[thinking] {text}" if thought and text is not None else text


_RENDERERS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "user/message": _user,
    "assistant/message": _message,
    "system/message": _system,
    "tool/call": _call,
    "tool/result": _result,
}
