"""Our store as a memory plugin: what it keeps of a loop, and how it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dshloop.memory.store import MemoryStore
from dshloop.memory.stores import open_store
from dshloop.plugins.patchouli.service import Call, MemoryService
from dshloop.plugins.patchouli.store_plugin import StorePlugin
from dshloop.plugins.patchouli.store_query import METADATA, asked_of

SOURCE = {"type": "agent-loop", "id": "dsh-patchouli-agent-loop"}
DOCUMENT = Path(__file__).parents[3] / "docs" / "patchouli.md"


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(body(), 60))


def meta(point: str | None, session: str = "s1", root: str | None = "/home/dev/shop") -> Any:
    attributes: dict[str, Any] = {} if point is None else {"point": point}
    attributes["sessionId"] = session
    if root is not None:
        attributes["workspaceRoot"] = root
    return {"source": SOURCE, "scope": root or session, "attributes": attributes}


def event(seq: int, kind: str, data: Any) -> dict[str, Any]:
    return {"type": kind, "seq": seq, "time": 1_767_225_600_000 + seq, "data": data}


def user(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"role": "user", "id": "m", "source": {"kind": "user"}, "content": content}


EVENTS = [
    event(0, "turn/start", {"turn": 1}),
    event(1, "user/message", user("Which port does the api use?")),
    event(2, "user/message", {**user("recalled"), "source": {"kind": "plugin", "form": "recall"}}),
    event(3, "tool/call", {"callId": "c", "name": "bash", "arguments": '{"command":"grep port"}'}),
    event(
        4,
        "tool/result",
        {
            "message": {
                "source": {"kind": "tool", "callId": "c"},
                "content": [
                    {"type": "tool-result", "content": [{"type": "text", "text": "port: 8443"}]}
                ],
            }
        },
    ),
    event(5, "tool/call", {"callId": "d", "name": "memory_retrieve", "arguments": "{}"}),
    event(6, "tool/result", {"message": {"source": {"callId": "d"}, "content": []}}),
    event(
        7, "assistant/message", {"message": {"content": [{"type": "text", "text": "It is 8443."}]}}
    ),
    event(8, "turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
]


@contextmanager
def world(database: Path) -> Iterator[MemoryService]:
    plugin = StorePlugin(lambda: open_store(None, database=database))
    memory = MemoryService()
    memory.register(plugin)
    memory.plugin = plugin  # type: ignore[attr-defined]
    yield memory


async def only(outcomes: Any) -> Any:
    (outcome,) = await outcomes
    assert outcome["ok"], outcome
    return outcome["value"]


def in_store(database: Path, look: Callable[[MemoryStore], Any]) -> Any:
    store = open_store(None, database=database, readonly=True)
    try:
        return look(store)
    finally:
        store.close()


def test_a_turn_becomes_observations_once(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"

    async def body() -> None:
        with world(database) as memory:
            request = {"meta": meta("session/turn-end"), "data": {"events": EVENTS}}
            assert await only(memory.update(request)) == {"observations": 3, "added": 3}
            assert await only(memory.update(request)) == {"observations": 3, "added": 0}
            await memory.plugin.close()  # type: ignore[attr-defined]

    run(body)
    entries = in_store(database, lambda store: store.list(oldest_first=True))
    assert [(entry.hook, entry.project, entry.repeats) for entry in entries] == [
        ("prompt_submit", "shop", 1),
        ("post_tool_use", "shop", 1),
        ("assistant_message", "shop", 1),
    ]  # fmt: skip
    assert "recalled" not in str(entries)
    session = in_store(database, lambda store: store.get_session("s1"))
    assert (session.project, session.cwd, session.observations) == ("shop", "/home/dev/shop", 3)
    assert session.first_prompt == "Which port does the api use?"


def test_secrets_are_taken_out_before_a_turn_is_stored(tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 8

    async def body() -> None:
        with world(tmp_path / "memory.db") as memory:
            events = [event(1, "user/message", user(f"use {key} for it"))]
            await memory.update({"meta": meta("session/turn-end"), "data": {"events": events}})
            message = {"role": "user", "content": f"the key is {key}"}
            data = {"messages": [message]}
            answer = await only(memory.update({"meta": meta("tool/memory-update"), "data": data}))
            assert answer["memories"][0]["redacted"] == 1
            await memory.plugin.close()  # type: ignore[attr-defined]

    run(body)
    assert key.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_questions_are_answered_with_provenance(tmp_path: Path) -> None:
    async def body() -> None:
        with world(tmp_path / "memory.db") as memory:
            for text in ("We deploy on Fridays", "Cats sleep all day"):
                data = {"messages": [{"role": "user", "content": text}]}
                await memory.update({"meta": meta("tool/memory-update"), "data": data})
            asked = {"query": "when do we deploy", "limit": 3}
            answer = await only(
                memory.retrieve({"meta": meta("tool/memory-retrieve"), "data": asked})
            )
            item = answer["items"][0]
            assert (item["text"], item["project"], item["session"], item["kind"]) == (
                "We deploy on Fridays", "shop", "s1", "memory",
            )  # fmt: skip
            assert answer["total"] == len(answer["items"])
            for more, found in (
                ({"metadata": {"kind": "observation"}}, 0),
                ({"metadata": {"project": "other"}}, 0),
                ({"metadata": {"session": "s1", "type": "fact", "since": "1h"}}, 1),
                ({"metadata": {"allProjects": True, "minScore": 0}}, 1),
            ):
                data = {"query": "when do we deploy", **more}
                request = {"meta": meta("tool/memory-retrieve"), "data": data}
                assert (await only(memory.retrieve(request)))["total"] >= found
            elsewhere = meta("tool/memory-retrieve", root="/home/dev/garden")
            data = {"query": "when do we deploy"}
            assert (await only(memory.retrieve({"meta": elsewhere, "data": data})))["total"] == 0
            await memory.plugin.close()  # type: ignore[attr-defined]

    run(body)


def test_a_step_is_answered_by_its_users_words_and_not_by_its_own_session(tmp_path: Path) -> None:
    async def body() -> None:
        with world(tmp_path / "memory.db") as memory:
            await memory.update({"meta": meta("session/turn-end"), "data": {"events": EVENTS}})
            data = {"messages": [user("which port does the api use"), {**user("x"), "source": {}}]}
            own = {"meta": meta("agent/pre-step"), "data": data}
            assert (await only(memory.retrieve(own)))["items"] == []
            other = {"meta": meta("agent/pre-step", session="s2"), "data": data}
            answer = await only(memory.retrieve(other))
            assert any("8443" in item["text"] for item in answer["items"])
            nothing = {"meta": meta("agent/pre-step", session="s2"), "data": {"messages": []}}
            assert await only(memory.retrieve(nothing)) is None
            await memory.plugin.close()  # type: ignore[attr-defined]

    run(body)


def test_sessions_begin_and_end_with_their_agents(tmp_path: Path) -> None:
    async def body() -> None:
        with world(tmp_path / "memory.db") as memory:
            for point in ("agent/created", "agent/disposed"):
                answer = await only(memory.update({"meta": meta(point), "data": {}}))
                assert answer == {"session": "s1"}
            await memory.plugin.close()  # type: ignore[attr-defined]

    run(body)
    session = in_store(tmp_path / "memory.db", lambda store: store.get_session("s1"))
    assert not session.active


def test_points_that_say_nothing_to_a_store_do_not_reach_it(tmp_path: Path) -> None:
    plugin = StorePlugin(lambda: open_store(None, database=tmp_path / "m.db"))
    for operation, point, taken in (
        ("update", "tools/result", False),
        ("update", "session/turn-end", True),
        ("retrieve", "agent/turn-stopping", False),
        ("retrieve", "agent/pre-step", True),
        ("retrieve", None, True),
    ):
        assert plugin.filter(Call(operation, meta(point))) is taken
    asyncio.run(plugin.close())
    assert not (tmp_path / "m.db").exists()


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"colour": "red"}, 'metadata has no key "colour"; there are project, agent'),
        ({"project": 1}, "metadata.project must be a text"),
        ({"allProjects": 1}, "metadata.allProjects must be true or false"),
        ({"kind": "song"}, "metadata.kind must be one of memory, observation"),
        ({"minScore": 2}, "metadata.minScore must be a number from 0 to 1"),
        ({"minScore": True}, "metadata.minScore must be a number from 0 to 1"),
    ],
)
def test_metadata_that_means_nothing_is_refused(metadata: Any, said: str) -> None:
    request = {"meta": meta("tool/memory-retrieve"), "data": {"query": "q", "metadata": metadata}}
    with pytest.raises(ValueError, match=said):
        asked_of(request, "shop")


def test_every_metadata_key_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [key for key in METADATA if f"`{key}`" not in text] == []
