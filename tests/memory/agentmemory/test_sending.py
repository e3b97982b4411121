"""What is sent says what was observed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.agentmemory.sending import observing
from dshloop.memory.agentmemory_client import calls, outcome
from dshloop.memory.observing import content_of, key_of, observed

TEXTS = st.text(max_size=200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
INPUTS = TEXTS | st.dictionaries(TEXTS, VALUES, max_size=3) | st.lists(VALUES, max_size=3)


def sent(hook: str, data: Any, mark: str = "") -> Any:
    new = observed(hook, data, session="s", project="p", cwd="/w", allow_secrets=True)
    return observing(new, 0.0, mark).body


@given(st.sampled_from(["post_tool_use", "post_tool_failure"]), INPUTS, TEXTS)
def test_a_tools_call_says_the_same_at_the_daemon(hook: str, given_: Any, output: str) -> None:
    data = {"tool_name": "bash", "tool_input": given_, "tool_output": output}
    body = sent(hook, data)
    assert body["hookType"] == hook
    assert body["data"]["tool_name"] == "bash"
    assert content_of(hook, body["data"]) == content_of(hook, data)


@given(TEXTS.filter(bool))
def test_a_prompt_says_the_same_at_the_daemon(prompt: str) -> None:
    body = sent("prompt_submit", {"prompt": prompt})
    assert content_of("prompt_submit", body["data"]) == prompt


@given(st.sampled_from(["stop", "notification", "pre_compact"]), INPUTS)
def test_other_hooks_are_sent_as_results(hook: str, data: Any) -> None:
    body, said = sent(hook, data), content_of(hook, data)
    if not said:
        assert (body["hookType"], body["data"]) == (hook, {})
        return
    assert (body["hookType"], body["data"]["tool_name"]) == ("post_tool_use", hook)
    assert content_of("post_tool_use", body["data"]) == said


@given(INPUTS, TEXTS)
def test_a_mark_tells_a_repeat_apart(given_: Any, output: str) -> None:
    data = {"tool_name": "bash", "tool_input": given_, "tool_output": output}
    bodies = [sent("post_tool_use", data, mark)["data"] for mark in ("one", "two")]
    keys = {key_of("post_tool_use", body) for body in bodies}
    assert len(keys) == 2
    firsts = {json.dumps(body)[:500] for body in bodies if "tool_input" not in body}
    assert len(firsts) == 2
    assert content_of("post_tool_use", bodies[0]) == content_of("post_tool_use", data)


@given(
    st.recursive(
        st.none() | st.floats() | st.text(st.characters(), max_size=20),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=20,
    )
)
def test_a_body_is_always_json_in_unicode(value: Any) -> None:
    body = outcome.body_of(calls.observe("h", "s", "p", "/w", "t", {"data": value}))
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
