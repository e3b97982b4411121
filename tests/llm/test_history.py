"""A session's messages as the two wires send them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dshloop.llm.anthropic import MessagesWire
from dshloop.llm.failures import WireError
from dshloop.llm.messages import ModelRequest, text_block, user_message
from dshloop.llm.openai import ChatWire
from dshloop.llm.wire import Endpoint, encode_body


def answer(*blocks: dict[str, Any], provider: str = "p", notes: Any = None) -> dict[str, Any]:
    source: dict[str, Any] = {"kind": "model", "provider": provider, "model": "m"}
    if notes is not None:
        source["replayState"] = {"response": {}, "blocks": notes}
    return {"role": "assistant", "content": list(blocks), "source": source, "id": "x"}


def call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "tool-call", "id": call_id, "name": "t", "arguments": arguments}


def result(call_id: str, *texts: str, error: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id}
    block["content"] = [text_block(text) for text in texts]
    if error:
        block["isError"] = True
    source = {"kind": "tool", "callId": call_id}
    return {"role": "user", "content": [block], "source": source, "id": "y"}


def thought(text: str) -> dict[str, Any]:
    return {"type": "reasoning", "text": text}


def chat(*history: dict[str, Any]) -> list[dict[str, Any]]:
    request = ModelRequest("p", "m", messages=history)
    found: list[dict[str, Any]] = ChatWire().body(request, Endpoint("p", "http://x"))["messages"]
    return found


def anthropic(*history: dict[str, Any], dialect: Any = "plain") -> list[dict[str, Any]]:
    request = ModelRequest("p", "m", messages=history)
    endpoint = Endpoint("p", "http://x", dialect)
    found: list[dict[str, Any]] = MessagesWire().body(request, endpoint)["messages"]
    return found


TALK = (
    user_message("one"),
    answer(text_block("look"), call("a", '{"f": 1}'), call("b", "")),
    result("a", "first", "second"),
    result("b", "Error: no", error=True),
    user_message("also"),
    answer(text_block("done")),
)


def test_chat_sends_results_as_messages_of_their_own() -> None:
    functions = [{"name": "t", "arguments": '{"f": 1}'}, {"name": "t", "arguments": "{}"}]
    assert chat(*TALK) == [
        {"role": "user", "content": "one"},
        {
            "role": "assistant",
            "content": "look",
            "tool_calls": [
                {"id": name, "type": "function", "function": function}
                for name, function in zip("ab", functions, strict=True)
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "first\nsecond"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no"},
        {"role": "user", "content": "also"},
        {"role": "assistant", "content": "done"},
    ]


def test_messages_puts_results_and_words_into_one_message_of_the_user() -> None:
    said = anthropic(*TALK)
    assert [message["role"] for message in said] == ["user", "assistant", "user", "assistant"]
    assert said[1]["content"][1:] == [
        {"type": "tool_use", "id": "a", "name": "t", "input": {"f": 1}},
        {"type": "tool_use", "id": "b", "name": "t", "input": {}},
    ]
    assert said[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "first\nsecond"},
        {"type": "tool_result", "tool_use_id": "b", "content": "Error: no", "is_error": True},
        {"type": "text", "text": "also"},
    ]


def test_results_as_newer_logs_hold_them_are_the_same() -> None:
    old = result("a", "x", error=True)
    block = old["content"][0]
    new = {
        "role": "tool", "toolCallId": "a", "content": block["content"], "isError": True, "id": "y",
    }  # fmt: skip
    before = (user_message("one"), answer(call("a")))
    assert chat(*before, new) == chat(*before, old)
    assert anthropic(*before, new) == anthropic(*before, old)


def test_calls_that_never_ran_and_results_without_a_call_are_left_out() -> None:
    cut = answer(text_block("I will"), call("a"))
    assert chat(user_message("one"), cut, user_message("two"))[1] == {
        "role": "assistant", "content": "I will",
    }  # fmt: skip
    assert len(chat(user_message("one"), answer(call("a")), user_message("two"))) == 2
    assert len(chat(user_message("one"), result("gone", "x"))) == 1


def test_empty_answers_are_skipped_and_what_stands_around_them_is_merged() -> None:
    empty = (answer(), answer(text_block(" \n")), answer(thought("hm")))
    said = anthropic(user_message("one"), *empty, user_message("two"))
    assert [block["text"] for block in said[0]["content"]] == ["one", "two"]
    assert len(said) == 1


def test_chat_gives_reasoning_back_within_its_turn_only() -> None:
    first = answer(thought("t1"), call("a"))
    turn = (user_message("one"), first, result("a", "x"))
    assert chat(*turn)[1]["reasoning_content"] == "t1"
    assert "reasoning_content" not in chat(*turn, user_message("two"))[1]
    other = answer(thought("t1"), call("a"), provider="other")
    assert "reasoning_content" not in chat(user_message("one"), other, result("a", "x"))[1]


def test_messages_gives_thinking_back_with_its_signature_to_the_same_model() -> None:
    notes = [{"signature": "s"}, {"redacted": "r"}, {}]
    said = answer(thought("t"), thought(""), text_block("hi"), notes=notes)
    content = anthropic(user_message("one"), said)[1]["content"]
    assert content[:2] == [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "r"},
    ]
    other = {**said, "source": {**said["source"], "model": "another"}}
    assert [one["type"] for one in anthropic(user_message("one"), other)[1]["content"]] == ["text"]


def test_thinking_without_a_signature_goes_back_to_deepseek_only() -> None:
    said = answer(thought("t"), text_block("hi"))
    assert len(anthropic(user_message("one"), said)[1]["content"]) == 1
    deepseek = anthropic(user_message("one"), said, dialect="deepseek")[1]["content"]
    assert deepseek[0] == {"type": "thinking", "thinking": "t"}


def test_arguments_that_are_no_object_are_kept_in_one() -> None:
    said = anthropic(user_message("one"), answer(call("a", "[1")), result("a", "x"))
    assert said[1]["content"][0]["input"] == {"arguments": "[1"}


def test_words_of_the_harness_are_system() -> None:
    rules = {"role": "system", "content": [text_block("rule")], "id": "z"}
    assert chat(user_message("one"), rules)[1] == {"role": "system", "content": "rule"}
    request = ModelRequest("p", "m", system="S", messages=[user_message("one"), rules])
    body = MessagesWire().body(request, Endpoint("p", "http://x"))
    assert body["system"] == "S\n\nrule"
    assert len(body["messages"]) == 1


@pytest.mark.parametrize("send", [chat, anthropic])
@pytest.mark.parametrize("where", ["user", "result"])
def test_images_are_refused(send: Any, where: str) -> None:
    image = {"type": "image", "attachment": {"attachmentId": "x", "mediaType": "image/png"}}
    if where == "user":
        history: list[Any] = [{**user_message("one"), "content": [image]}]
    else:
        broken = result("a")
        broken["content"][0]["content"] = [image]
        history = [user_message("one"), answer(call("a")), broken]
    with pytest.raises(WireError) as caught:
        send(*history)
    assert caught.value.failure["code"] == "UNSUPPORTED_CONTENT"


def test_halves_of_characters_are_no_text_and_pairs_are_one() -> None:
    sent = encode_body({"a": "x\ud800", "b": "\ud83d\ude00", "c": "é"})
    assert json.loads(sent) == {"a": "x\ufffd", "b": "😀", "c": "é"}
