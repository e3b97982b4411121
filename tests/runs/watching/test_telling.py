"""What events become for a person who watches."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dshloop.runs.watching.telling import _TELLERS, Asides, Narrator, Told

Given = tuple[str, Any]


def told(*events: Given, kinds: tuple[str, ...] = ()) -> list[Told]:
    narrator = Narrator()
    found = [
        each
        for time, (kind, data) in enumerate(events)
        for each in narrator.tell({"type": kind, "data": data, "seq": time, "time": time * 700})
    ]
    return [each for each in found if not kinds or each.kind in kinds]


def chunk(kind: str, **more: Any) -> Given:
    return "assistant/chunk", {"chunk": {"type": kind, "index": 0, **more}}


def message(*blocks: Any, **more: Any) -> Given:
    return "assistant/message", {"message": {"content": list(blocks)}, **more}


def user(kind: str, text: str, **more: str) -> Given:
    source = {"kind": kind, **more}
    return "user/message", {"content": [{"type": "text", "text": text}], "source": source}


def called(call: str, name: str = "read", arguments: str = '{"path": "a"}') -> Given:
    return "tool/call", {"callId": call, "name": name, "arguments": arguments}


def result(call: str, text: str, **more: Any) -> Given:
    block = {
        "type": "tool-result",
        "toolCallId": call,
        "content": [{"type": "text", "text": text}],
        **({"isError": True} if more else {}),
    }
    source = {"kind": "tool", "callId": call}
    return "tool/result", {"message": {"content": [block], "source": source}, **more}


def test_a_thought_comes_bit_by_bit_and_is_one_line_before_the_words() -> None:
    found = told(
        chunk("block-start", blockType="reasoning"),
        chunk("reasoning-delta", text="First this. "),
        chunk("reasoning-delta", text="Then\nthat."),
        chunk("block-end", block={"type": "reasoning", "text": "First this. Then\nthat."}),
        chunk("text-delta", text="Right."),
        message({"type": "reasoning", "text": "First this."}, {"type": "text", "text": "Right."}),
    )
    shown = [(each.kind, each.text) for each in found if each.kind != "busy"]
    assert shown == [
        ("thought", "First this. "),
        ("thought", "Then\nthat."),
        ("fold", "thought: First this. Then that. (4 words)"),
        ("text", "Right."),
        ("text", "\n"),
    ]
    (fold,) = (each for each in found if each.kind == "fold")
    assert fold.body == "First this. Then\nthat."


def test_a_thought_that_was_not_streamed_is_folded_all_the_same() -> None:
    blocks = ({"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Right."})
    (fold,) = told(message(*blocks), message(*blocks), kinds=("fold",))[:1]
    assert fold.text == "thought: hm (1 word)"
    assert len(told(message(*blocks), message(*blocks), kinds=("fold",))) == 2


def test_a_call_and_its_result_are_one_line_that_tells_the_outcome() -> None:
    events = (
        called("1"),
        called("2", "shell", '{"command": "x"}'),
        result("2", "Error: no\nmore", error={"name": "E", "code": "C"}),
        result("1", "a\nb\nc"),
        called("3", "note", "not json"),
        result("3", "kept"),
        result("lost", ""),
    )
    lines = told(*events, kinds=("fold",))
    assert [line.text for line in lines] == [
        'shell {"command": "x"} → failed: no more',
        'read {"path": "a"} → 3 lines (2.1 s)',
        "note not json → kept",
        "a tool  → done",
    ]
    assert [line.failed for line in lines] == [True, False, False, False]
    assert lines[1].body == 'read {\n  "path": "a"\n}\n→\na\nb\nc'
    busy = [each.text for each in told(*events, kinds=("busy",))]
    assert busy[:4] == ["running read", "running read, shell", "running read", "waiting"]


def test_added_context_is_labelled_and_never_anybody_s_words() -> None:
    found = told(
        user("user", "mine"),
        user("plugin", "theirs\nall", plugin="dshloop/memory", form="recall"),
        user("plugin", "meant", plugin="p", form="semantic"),
        user("runtime-context", "You are\nhere.", form="snapshot"),
    )
    assert found == [
        Told("context", "context added by plugin dshloop/memory recall", "theirs\nall"),
        Told("context", "context added by plugin p semantic", "meant"),
        Told(
            "fold",
            "[context added by runtime-context snapshot] You are here.",
            "You are\nhere.",
        ),
    ]


def test_retries_ends_and_failures_are_told() -> None:
    retry = {
        "failure": {"message": "busy", "code": "RATE_LIMIT"},
        "retry": 1,
        "maxRetries": 5,
        "delayMs": 1500.0,
    }
    error = {"kind": "error", "error": {"message": "no key", "code": "AUTH"}}
    found = told(
        ("llm/retry", retry),
        chunk("text-delta", text="half"),
        ("llm/retry", retry),
        ("compaction/end", {"turn": 1}),
        ("compaction/end", {"turn": None}),
        ("turn/end", {"turn": 1, "reason": {"kind": "max-tokens"}}),
        ("turn/end", {"turn": 2, "reason": error}),
        ("turn/end", {"turn": 3, "reason": {"kind": "completed"}}),
        ("turn/end", {"turn": 3, "reason": {"kind": "interrupted"}}),
        kinds=("notice", "failure"),
    )
    assert [each.text for each in found] == [
        "no answer (busy); it is asked for again in 1.5 s, try 1 of 5",
        "that answer broke off and doesn't count (busy); it is asked for again",
        "the history was getting long: a summary took the place of it",
        "max-tokens",
        "no key (AUTH)",
    ]
    assert [each.failed for each in found] == [False, False, False, False, True]


def test_what_is_waited_for_is_named_and_a_question_ends_the_waiting() -> None:
    found = told(
        ("turn/start", {"turn": 1}),
        ("request/context", {"provider": "p", "model": "m\x1b1"}),
        chunk("tool-call-delta", id="1", name="edit", argumentsDelta=""),
        ("approval/asked", {"id": "a", "toolName": "edit"}),
        ("compaction/start", {}),
        ("unknown/type", None),
        kinds=("busy",),
    )
    assert [each.text for each in found] == [
        "waiting",
        "waiting for m\\x1b1",
        "calling edit",
        "",
        "summarising the history",
    ]


def test_asides_give_thoughts_whole_and_no_end() -> None:
    asides = Asides()
    events = (
        chunk("reasoning-delta", text="long " * 40),
        chunk("text-delta", text="Right."),
        called("1"),
        result("1", "x"),
        user("plugin", "known", plugin="p", form="recall"),
        user("runtime-context", "here"),
        ("turn/end", {"turn": 1, "reason": {"kind": "max-tokens"}}),
    )
    lines = [asides.of({"type": kind, "data": data, "seq": 0, "time": 0}) for kind, data in events]
    assert lines == [
        None,
        "thought: " + "long " * 40,
        None,
        'tool read {"path": "a"} → x',
        "[context added by plugin p recall]\nknown",
        "[context added by runtime-context] here",
        None,
    ]


KEYS = [
    "message",
    "content",
    "type",
    "text",
    "source",
    "kind",
    "reason",
    "failure",
    "error",
    "callId",
    "name",
    "arguments",
    "delayMs",
    "retry",
    "maxRetries",
    "turn",
    "model",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
TYPES = sorted(_TELLERS.keys() - {"assistant/chunk"})  # whose data is checked before it is logged


@given(st.lists(st.tuples(st.sampled_from(TYPES), JSON), max_size=6))
def test_whatever_plugins_log_can_be_told(events: list[Given]) -> None:
    for each in told(*events):
        assert each.kind in ("text", "fold", "context", "notice", "failure", "busy")
        assert "\n" not in each.text or each.kind in ("text", "notice", "failure")
