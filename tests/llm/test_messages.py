"""Assembling streamed answers."""

from __future__ import annotations

from dshloop.llm.messages import Assembly, assistant_message, plain_text, user_message


def test_deltas_become_blocks_in_order() -> None:
    answer = Assembly()
    for chunk in (
        {"type": "block-start", "index": 1, "blockType": "text"},
        {"type": "reasoning-delta", "index": 0, "text": "hm"},
        {"type": "text-delta", "index": 1, "text": "he"},
        {"type": "text-delta", "index": 1, "text": "y"},
        {"type": "tool-call-delta", "index": 2, "id": "c", "name": "n", "argumentsDelta": "{"},
        {"type": "tool-call-delta", "index": 2, "id": "c", "argumentsDelta": "}"},
        {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2}},
        {"type": "finish", "reason": {"kind": "tool-calls"}},
        {"type": "of-tomorrow"},
    ):
        answer.add(chunk)
    assert answer.content() == [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "hey"},
        {"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"},
    ]
    assert answer.visible() == [{"type": "text", "text": "hey"}]
    assert answer.usage == {"inputTokens": 1, "outputTokens": 2}
    assert answer.finish == {"kind": "tool-calls"}


def test_the_end_of_a_block_is_what_counts() -> None:
    answer = Assembly()
    answer.add({"type": "text-delta", "index": 0, "text": "draft"})
    answer.add({"type": "block-end", "index": 0, "block": {"type": "text", "text": "final"}})
    assert answer.content() == [{"type": "text", "text": "final"}]


def test_messages_have_ids_of_their_own() -> None:
    first, second = user_message("a"), user_message("a")
    assert first["id"] != second["id"]
    assert first["source"] == {"kind": "user"}
    answer = assistant_message([{"type": "text", "text": "x"}], "p", "m")
    assert answer["source"] == {"kind": "model", "provider": "p", "model": "m"}


def test_plain_text_takes_text_blocks_only() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image"}, 5, {"type": "text", "text": "b"}]
    assert plain_text(content) == "ab"
    assert plain_text(None) == ""
