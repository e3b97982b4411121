"""The transcript as text: whole lines, whatever order the pieces come in."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dshloop.runs.teams.labelled import Labelled

NAMES = ("a", "bee", "lead/kid")
TEXTS = st.text(st.sampled_from("xy \n|"), min_size=1, max_size=30)


def event(name: str, kind: str, data: Any) -> dict[str, Any]:
    return {"type": "event", "agent": name, "session": name, "event": {"type": kind, "data": data}}


def answer(name: str, pieces: list[str]) -> list[dict[str, Any]]:
    """Give the events of one answer in these pieces, and of its step's end."""
    deltas = [{"type": "text-delta", "index": 0, "text": piece} for piece in pieces]
    text = "".join(pieces)
    message = {"message": {"content": [{"type": "text", "text": text}]}}
    return [
        *(event(name, "assistant/chunk", {"chunk": delta}) for delta in deltas),
        event(name, "assistant/message", message),
        event(name, "step/end", {}),
        {"type": "agent-end", "agent": name, "outcome": "completed", "failure": None},
    ]


def shown(records: list[dict[str, Any]]) -> list[str]:
    labelled = Labelled()
    for name in NAMES:
        assert labelled.text_of({"type": "agent", "agent": name}) is None
    texts = [labelled.text_of(record) for record in records]
    assert all(text is None or text.endswith("\n") for text in texts)
    return "".join(text or "" for text in texts).split("\n")[:-1]


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=3, max_size=3), st.randoms())
def test_each_agents_lines_are_what_it_said(said: list[list[str]], random: Any) -> None:
    queues = [answer(name, pieces) for name, pieces in zip(NAMES, said, strict=True)]
    records = []
    while any(queues):
        queue = random.choice([one for one in queues if one])
        records.append(queue.pop(0))
    lines = shown(records)
    for name, pieces in zip(NAMES, said, strict=True):
        text = "".join(pieces)
        wanted = text.removesuffix("\n").split("\n")
        mine = [line.split(" | ", 1)[1] for line in lines if line.split(" | ")[0].strip() == name]
        assert mine == wanted


def test_what_ends_in_mid_line_is_shown_before_its_end() -> None:
    records = [
        event("a", "assistant/chunk", {"chunk": {"type": "text-delta", "text": "so far"}}),
        {"type": "agent-end", "agent": "a", "outcome": "aborted", "failure": None},
    ]
    assert [line.split(" | ")[1] for line in shown(records)] == ["so far", "(aborted)"]


def test_names_take_one_line_and_one_column() -> None:
    labelled = Labelled()
    labelled.text_of({"type": "team", "agents": ["a\nb", "long name"]})
    labelled.text_of({"type": "agent", "agent": "a\nb"})
    ended = {"type": "agent-end", "agent": "a\nb", "outcome": "failed",
             "failure": {"message": "no", "code": "X"}}  # fmt: skip
    text = labelled.text_of(ended)
    assert text is not None
    assert text.count("\n") == 1
    assert text.endswith(" | (failed: no)\n")


def test_what_plugins_add_to_a_prompt_is_left_out() -> None:
    def told(kind: str) -> dict[str, Any]:
        content = [{"type": "text", "text": f"by {kind}\nmore"}]
        return event("a", "user/message", {"content": content, "source": {"kind": kind}})

    lines = shown([told("user"), told("plugin"), told("coordinator")])
    said = [line.split(" | ")[1] for line in lines]
    assert said == ["> by user", "> more", "> by coordinator", "> more"]
