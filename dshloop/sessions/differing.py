"""What differs between two runs of a session, with what always differs left out. Pure.

Ids, times and seqs say nothing about what happened, nor does how an answer was cut into pieces,
nor in which order results of one step came. Events are as v0 has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Any, Literal, NamedTuple

from dshloop.sessions.recording import is_from_outside
from dshloop.transcripts.vocabulary import Event

Kind = Literal["changed", "missing", "new"]

COMPARED = frozenset(
    {
        "turn/start", "turn/end", "step/start", "step/end", "user/message", "assistant/message",
        "assistant/chunk", "tool/call", "tool/result", "llm/retry", "compaction/summary",
    }
)  # fmt: skip
"""What happened, in contrast to how it was kept, sent or named."""
OURS = COMPARED | {"request/header"}

_NAMELESS = frozenset({"id", "callId", "toolCallId", "retryId", "compactionId"})
_CIRCUMSTANCES = _NAMELESS | {
    "time", "seq", "turn", "step", "usage", "replayState", "delayMs", "shadowedRange",
    "shadowedSeqs", "shadowedTokenCount", "sourceCommandId", "rawOutput", "meta",
}  # fmt: skip


class Fact(NamedTuple):
    """What one event tells, and where it stands in its log; ``key`` is equal for equal facts."""

    type: str
    data: Any
    seq: int
    turn: int
    step: int
    key: str


class Change(NamedTuple):
    """A value that is another one; None stands for one that isn't there."""

    path: str
    recorded: Any
    replayed: Any


class Difference(NamedTuple):
    """Something that is not as it was: changed, missing in the second run, or new there."""

    kind: Kind
    recorded: Fact | None
    replayed: Fact | None
    changes: Sequence[Change] = ()

    @property
    def fact(self) -> Fact:
        """The one that is there, the recorded one of two."""
        found = self.recorded or self.replayed
        assert found is not None, "one of them is always there"
        return found

    def as_json(self) -> dict[str, Any]:
        """Give it as a JSON object; seqs are those of the two logs, as v0 has them."""
        old, new = self.recorded, self.replayed
        return {
            "kind": self.kind,
            "type": self.fact.type,
            "turn": self.fact.turn or None,
            "step": self.fact.step or None,
            "recorded": None if old is None else {"seq": old.seq, "data": old.data},
            "replayed": None if new is None else {"seq": new.seq, "data": new.data},
            "changes": [change._asdict() for change in self.changes],
        }


def facts(events: Sequence[Event], *, ours: bool = True) -> list[Fact]:
    """Give what happened in a session.

    Without ``ours`` what the plugins of another harness put before the model is left out, and
    what requests were made with.
    """
    found = [_fact(event, *place) for event, place in _placed(_whole_answers(events))]
    wanted = OURS if ours else COMPARED
    told = (fact for fact in found if fact.type in wanted and (ours or _said(fact)))
    return list(_in_pairs(_news(told)))


def differences(recorded: Sequence[Fact], replayed: Sequence[Fact]) -> list[Difference]:
    """Compare two runs turn by turn; what stands at the same place is changed, else missing or new.

    A turn more in the one is no change of those behind it.
    """
    old, new = _turns(recorded), _turns(replayed)
    found: list[Difference] = []
    for before, after in _aligned(old, new):
        found += _within(before, after)
    return found


def _turns(found: Sequence[Fact]) -> list[list[Fact]]:
    return [list(each) for _, each in groupby(found, key=lambda fact: fact.turn)]


def _aligned(
    old: Sequence[list[Fact]], new: Sequence[list[Fact]]
) -> Iterator[tuple[list[Fact], list[Fact]]]:
    """Give the turns that differ, in pairs; what has no partner is paired with nothing."""
    old_keys, new_keys = [_key(turn) for turn in old], [_key(turn) for turn in new]
    same = 0  # at the beginning, where most runs are alike: matching is dear for equal turns
    while same < min(len(old), len(new)) and old_keys[same] == new_keys[same]:
        same += 1
    matcher = SequenceMatcher(None, old_keys[same:], new_keys[same:], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            before, after = old[same:][a:b], new[same:][c:d]
            yield from zip_longest(before, after, fillvalue=[])


def _key(turn: Sequence[Fact]) -> str:
    return "\n".join(fact.key for fact in turn)


def _within(recorded: Sequence[Fact], replayed: Sequence[Fact]) -> Iterator[Difference]:
    matcher = SequenceMatcher(
        None, [fact.key for fact in recorded], [fact.key for fact in replayed], autojunk=False
    )
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            yield from _paired(recorded[a:b], replayed[c:d])


def _paired(recorded: Sequence[Fact], replayed: Sequence[Fact]) -> Iterator[Difference]:
    """Match what differs by its type."""
    matcher = SequenceMatcher(
        None, [fact.type for fact in recorded], [fact.type for fact in replayed], autojunk=False
    )
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for old, new in zip(recorded[a:b], replayed[c:d], strict=True):
                if old.key != new.key:
                    yield Difference("changed", old, new, list(_changes(old.data, new.data, "")))
            continue
        yield from (Difference("missing", fact, None) for fact in recorded[a:b])
        yield from (Difference("new", None, fact) for fact in replayed[c:d])


# --- what an event tells -------------------------------------------------------------------------


def _placed(events: Iterable[Event]) -> Iterator[tuple[Event, tuple[int, int]]]:
    """Count turns and steps, so that events without them have a place too."""
    turn = step = 0
    for event in events:
        if event["type"] == "turn/start":
            turn, step = turn + 1, 0
        elif event["type"] == "step/start":
            step += 1
        yield event, (turn, step)


def _fact(event: Event, turn: int, step: int) -> Fact:
    data = _told(event["type"], event["data"])
    key = json.dumps([event["type"], data], ensure_ascii=False, sort_keys=True, default=str)
    return Fact(event["type"], data, event["seq"], turn, step, key)


def _told(kind: str, data: Any) -> Any:
    """Give what an event's data tell: without ids, times and counts."""
    if kind == "request/header" and isinstance(data, Mapping):
        header = data.get("header")
        kept = header if isinstance(header, Mapping) else {}
        data = {name: kept[name] for name in ("config", "system") if name in kept}
    if kind == "assistant/message" and isinstance(data, Mapping) and data.get("interrupted"):
        message = data.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        return _cut_off(_text(content))
    if kind == "turn/end" and isinstance(data, Mapping):
        return {**_bare(data), "reason": _reason(data.get("reason"))}
    return _bare(data)


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {k: _bare(v) for k, v in value.items() if k not in _CIRCUMSTANCES}
        return {k: v for k, v in kept.items() if (k, v) != ("isError", False)}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def _cut_off(text: str) -> dict[str, Any]:
    """Tell of an answer that was cut off, whether a message was made of it or not."""
    return {"interrupted": True, "text": text}


def _text(content: Any) -> str:
    blocks = content if isinstance(content, list) else []
    known = (block for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "".join(str(block.get("text")) for block in known)


def _reason(reason: Any) -> Any:
    """Take a turn that a killed process left open for one that was aborted."""
    kind = reason.get("kind") if isinstance(reason, Mapping) else None
    return {"kind": "aborted"} if kind in ("aborted", "interrupted") else _bare(reason)


def _said(fact: Fact) -> bool:
    return fact.type != "user/message" or is_from_outside(fact.data)


def _whole_answers(events: Sequence[Event]) -> Iterator[Event]:
    """Put the text of an answer that came to no message together; the pieces of others go."""
    aborted = iter([_is_aborted(event) for event in events if event["type"] == "turn/end"])
    cut_off = False
    pieces: list[Event] = []
    for event in events:
        if event["type"] == "turn/start":
            cut_off = next(aborted, True)
        if event["type"] == "assistant/chunk":
            pieces.append(event)
            continue
        if event["type"] == "assistant/message":
            pieces = []
        elif pieces and event["type"] in ("llm/retry", "step/end", "turn/end"):
            yield _joined(pieces, cut_off=cut_off and event["type"] != "llm/retry")
            pieces = []
        yield event


def _is_aborted(end: Event) -> bool:
    reason = end["data"].get("reason") if isinstance(end["data"], Mapping) else None
    return bool(_reason(reason) == {"kind": "aborted"})


def _joined(pieces: Sequence[Event], *, cut_off: bool) -> Event:
    chunks = [event["data"].get("chunk") for event in pieces if isinstance(event["data"], dict)]
    known = [chunk for chunk in chunks if isinstance(chunk, dict)]
    text = "".join(str(chunk["text"]) for chunk in known if chunk.get("type") == "text-delta")
    if cut_off:
        cut = {"message": {"content": [{"type": "text", "text": text}]}, "interrupted": True}
        return {**pieces[0], "type": "assistant/message", "data": cut}
    return {**pieces[0], "data": {"text": text}}


def _news(found: Iterable[Fact]) -> Iterator[Fact]:
    """Leave out what a request is made with where that is as before: each process says it."""
    last = ""
    for fact in found:
        if fact.type == "request/header":
            if fact.key == last:
                continue
            last = fact.key
        yield fact


def _in_pairs(found: Iterable[Fact]) -> Iterator[Fact]:
    """Give the calls and results of each step as first all calls, then all results.

    Results are recorded in the order of their calls, whoever was done first.
    """
    calls: list[Fact] = []
    results: list[Fact] = []
    for fact in found:
        if fact.type == "tool/call":
            calls.append(fact)
        elif fact.type == "tool/result":
            results.append(fact)
        else:
            yield from (*calls, *results, fact)
            calls, results = [], []
    yield from (*calls, *results)


# --- what is another value -----------------------------------------------------------------------


def _changes(old: Any, new: Any, path: str) -> Iterator[Change]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            inner = f"{path}.{name}" if path else str(name)
            yield from _changes(old.get(name), new.get(name), inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _changes(a, b, f"{path}[{index}]")
    elif old != new:
        yield Change(path, old, new)
