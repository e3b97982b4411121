"""Whatever a caller sends, every endpoint answers: a refusal of the contract, never a fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dshloop.errors import UsageError
from dshloop.memory.server.bodies import parsed
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, encoded
from dshloop.memory.server.routes import ROUTES, Mapped
from dshloop.memory.server.settings import Settings
from dshloop.memory.server.state import State
from dshloop.memory.stores import open_store

KEYS = """
    agentId anchor before after arguments branch budget concepts confidence content context cwd data
    dateFrom dateTo dryRun expandIds exportData files format hookType id includeLessons lessonId
    limit memoryId memoryIds minConfidence name newContent newTitle observationIds project
    qualityBelow query sessionId sha sourceId sourceObservationIds strategy tags targetId terms
    timestamp title token_budget ttlDays type
""".split()  # noqa: SIM905
QUERY = """
    agentId count includeOrphans latest limit maxSessions minConfidence offset operation project
    sessionId sha source
""".split()  # noqa: SIM905

text = st.text(max_size=30).filter(lambda one: one.isascii() or encodable(one))
words = st.sampled_from(["s", "p", "deploy on Fridays", "mem_1", "full", "2026-01-05", "*", "#1"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
    | words
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4)
)
bodies = st.dictionaries(st.sampled_from(KEYS), values, max_size=8)
queries = st.dictionaries(st.sampled_from(QUERY), text | words | st.sampled_from(["true", "3"]))


def encodable(one: str) -> bool:
    try:
        one.encode()
    except UnicodeEncodeError:
        return False
    return True


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    one = open_store(None, database=tmp_path_factory.mktemp("store") / "memory.db")
    yield one
    one.close()


@pytest.fixture(scope="module")
def state() -> State:
    return State(Settings())


@pytest.mark.parametrize("mapped", ROUTES, ids=lambda one: one.name)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=bodies, query=queries, tail=text)
def test_every_endpoint_answers(
    mapped: Mapped, body: dict[str, Any], query: dict[str, str], tail: str, store: Any, state: State
) -> None:
    with suppress(CallRefusedError, UsageError):
        check(mapped.endpoint(Call(state, query, body, tail), store))


def check(answer: Answer) -> None:
    """Check that an answer is one of the contract's, and can be sent."""
    assert 200 <= answer.status < 300 or (answer.status in (404, 503) and "error" in answer.value)
    if answer.parts is None:
        encoded(answer.value)
    else:
        assert parsed("".join(answer.parts).encode(), "application/json")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_body_or_none(data: bytes) -> None:
    assert isinstance(parsed(data, "application/json"), dict)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_an_object_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    if encodable("".join(value)):
        assert parsed(encoded(value).encode(), "Application/JSON; charset=utf-8") == value


def test_nesting_is_counted_from_the_object_on() -> None:
    for depth, kept in ((126, True), (127, False)):
        body = b'{"a":' + b"[" * depth + b"]" * depth + b"}"
        assert bool(parsed(body, "application/json")) is kept


def test_an_export_goes_round(tmp_path: Path) -> None:
    state = State(Settings())
    routes = {(one.method, one.path): one.endpoint for one in ROUTES}

    def ask(store: Any, method: str, path: str, **body: Any) -> Any:
        answer = routes[method, path](Call(state, {}, body), store)
        if answer.parts is None:
            return answer.value
        return parsed("".join(answer.parts).encode(), "application/json")

    first = open_store(None, database=tmp_path / "one.db")
    second = open_store(None, database=tmp_path / "two.db")
    ask(first, "POST", "/session/start", sessionId="s", project="p", cwd="/w", title="T")
    for number in range(3):
        moment = f"2026-01-05T10:00:0{number}Z"
        ask(
            first, "POST", "/observe", hookType="post_tool_use", sessionId="s", project="p",
            cwd="/w", timestamp=moment, data={"tool_name": "Edit", "tool_input": f"n{number}"},
        )  # fmt: skip
    for content in ("deploys are on Fridays", "deploys are on Fridays!", "the port is 8080"):
        ask(first, "POST", "/remember", content=content, project="p", concepts=["release"])
    ask(first, "POST", "/lessons", content="Always test", project="p", tags="a, b")
    exported = ask(first, "GET", "/export")
    done = ask(second, "POST", "/import", exportData=exported)
    assert done == {
        "success": True, "strategy": "merge", "sessions": 1, "observations": 3, "memories": 3,
        "summaries": 0, "skipped": 0,
    }  # fmt: skip
    again = ask(second, "GET", "/export")
    assert {**again, "exportedAt": ""} == {**exported, "exportedAt": ""}
    skipped = ask(second, "POST", "/import", exportData=exported, strategy="skip")
    assert (skipped["skipped"], skipped["memories"]) == (7, 0)
    replaced = ask(
        second, "POST", "/import", exportData={**exported, "memories": []}, strategy="replace"
    )
    assert replaced["success"]
    assert ask(second, "GET", "/memories")["total"] == 0
    first.close()
    second.close()
