"""The records of a run as the command line gives them: a stream, its text, its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dshloop.errors import ExitCode
from dshloop.result import Caution, End, Stream

if TYPE_CHECKING:
    from dshloop.runs.talking.run import Ended, Record


def record_stream(records: Iterator[Record], *, verbose: bool = False) -> Stream:
    """Give the records as NDJSON, and the model's words as text.

    Beside those are told requests that are made again; with ``verbose`` thoughts, calls and added
    context too.
    """
    from dshloop.runs.watching.reply import Reply

    reply = Reply()
    told = reply.notice_of
    if verbose:
        from dshloop.runs.watching.telling import Asides

        told = Asides().of

    def text(record: Mapping[str, Any]) -> str | None:
        return reply.text_of(record["event"]) if record["type"] == "event" else None

    def aside(record: Mapping[str, Any]) -> str | None:
        return told(record["event"]) if record["type"] == "event" else None

    return Stream(map(_record, records), text, aside)


def _record(record: Record) -> Mapping[str, Any] | End:
    from dshloop.runs.talking.run import Ended, Opened

    if isinstance(record, Ended):
        return _end(record)
    if isinstance(record, Opened):
        return {"type": "session", **record._asdict()}
    return {"type": "event", "event": record.event}


def _end(ended: Ended) -> End:
    from dshloop.runs.watching.reply import failure_text

    fields: dict[str, Any] = {"id": ended.id, "turns": ended.turns}
    warnings = []
    if ended.failure is not None:
        fields["failure"] = ended.failure
    if ended.exit_code not in (ExitCode.DONE, ExitCode.INTERRUPTED):
        message = failure_text(ended.failure) if ended.failure else f"turn ended: {ended.outcome}"
        warnings.append(Caution(message, "TURN_FAILED", line=f"error: {message}"))
    return End(
        ended.outcome,
        fields,
        notices=[*ended.notices, id_notice(ended.id)],
        warnings=warnings,
        exit_code=ended.exit_code,
    )


def id_notice(session_id: str) -> str:
    """Give the line on stderr that names the session."""
    return f"session {session_id}"
