"""How long a history is, and where it is cut: pure."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dshloop.plugins.compaction.history import as_text, cut_of, estimate, tokens_of


def node(seq: int, kind: str, text: str = "x", operation: Any = "append", **more: Any) -> Any:
    block = {"type": "text", "text": text}
    message: dict[str, Any] = {"role": "user", "content": [block], "source": {"kind": "user"}}
    data = message if kind == "user/message" else {"message": message, **more}
    return {"type": kind, "seq": seq, "time": 0, "data": data, "surfaceOp": operation}


def test_what_an_answer_used_counts_for_all_before_it() -> None:
    usage = {"inputTokens": 100, "cacheReadTokens": 800, "outputTokens": 50, "totalTokens": 5}
    nodes = [
        node(1, "user/message", "a" * 9000),
        node(2, "assistant/message", usage=usage),
        node(3, "user/message", "b" * 300),
    ]
    assert tokens_of(nodes) == 950 + estimate(nodes[2])
    assert tokens_of(nodes[:1]) == estimate(nodes[0]) + 1


def test_usage_from_before_a_replacement_counts_no_more() -> None:
    usage = {"inputTokens": 100_000, "outputTokens": 50}
    nodes = [
        node(9, "user/message", "summary", {"op": "replace", "start": 0, "end": 1}),
        node(3, "assistant/message", usage=usage),
    ]
    assert tokens_of(nodes) < 100
    later = [*nodes, node(10, "assistant/message", usage={"inputTokens": 40, "outputTokens": 2})]
    assert tokens_of(later) == 42


KINDS = st.lists(st.sampled_from(["user/message", "assistant/message", "tool/result"]), max_size=12)


@given(kinds=KINDS, keep=st.integers(0, 400), sizes=st.lists(st.integers(0, 300), min_size=12))
def test_a_cut_never_parts_a_call_from_its_results(
    kinds: list[str], keep: int, sizes: list[int]
) -> None:
    nodes = [node(at, kind, "y" * sizes[at]) for at, kind in enumerate(kinds)]
    cut = cut_of(nodes, keep)
    assert 0 <= cut < max(len(nodes), 1)
    if cut:
        assert nodes[cut]["type"] != "tool/result"
        rest = [each for each in nodes[cut + 1 :] if each["type"] != "tool/result"]
        assert not rest or sum(map(estimate, nodes[cut:])) <= keep


def test_a_history_as_text_is_bounded_and_keeps_both_ends() -> None:
    nodes = [node(1, "user/message", "first"), node(2, "user/message", "m" * 5000)]
    text = as_text([*nodes, node(3, "user/message", "last")], 400)
    assert len(text) < 460
    assert text.startswith("[user] first")
    assert text.endswith("[user] last")
    assert "characters left out" in text
