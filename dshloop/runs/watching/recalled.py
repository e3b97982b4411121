"""What was put before the model of a session beside what the person said, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dshloop.plugins.built_in import MEMORY, recorder_of
from dshloop.runs.profile import ProfileRows
from dshloop.sessions.export.pieces import content_text, context_label, is_recalled
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from dshloop.plugins.local_memory.recalling import Recall
    from dshloop.runs.talking.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Recalled:
    """A message that memory put in: in which turn, by whom, its text, and why if that is known."""

    turn: int
    label: str
    text: str
    why: Recall | None = None


def recalled_in(conversation: Conversation) -> list[Recalled]:
    """Give all that was recalled in a conversation's session, oldest first."""
    from dshloop.plugins.local_memory.recalling import SERVICE, Recalling

    service: Recalling | None = conversation.process.host.service(SERVICE)
    found = []
    for turn, data in _recalls(conversation.agent.session.events):
        why = None if service is None else service.recall(conversation.id, data.get("id"))
        found.append(Recalled(turn, context_label(data["source"]), content_text(data), why))
    return found


def keep_apart(conversation: Conversation, sessions: Iterable[str]) -> None:
    """Have nothing recalled of sessions whose words are undone, or said again, in this one."""
    from dshloop.plugins.local_memory.recalling import SERVICE, Recalling

    service: Recalling | None = conversation.process.host.service(SERVICE)
    if service is not None:
        for session in sessions:
            service.leave_out(session)


def memory_state(rows: ProfileRows) -> str:
    """Say in one sentence whether sessions on these rows recall, and what to do if not."""
    recorder = recorder_of(rows.rows)
    if recorder is not None:
        return f'row "{recorder.id}" ({recorder.name}) keeps the memory of this profile'
    ours = next((row for row in rows.rows if row.name == MEMORY.name and row.off is None), None)
    if ours is None:
        return "no row of this profile recalls anything"
    config = ours.config if isinstance(ours.config, Mapping) else {}
    if not config.get("inject"):
        return "nothing is recalled before a turn: begin with dshloop session run --memory"
    return "what fits a prompt is recalled before its turn"


def _recalls(events: Sequence[Event]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Give each message that memory put in, with its turn; a fork's earlier turns too."""
    turn = 0
    for event in events:
        data = event["data"]
        if not isinstance(data, Mapping):
            continue
        if event["type"] == "turn/start":
            turn = data["turn"] if type(data.get("turn")) is int else turn + 1
        if event["type"] == "user/message" and is_recalled(data.get("source")):
            yield turn, data
