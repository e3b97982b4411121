"""Our own store as a memory plugin: what it takes of the loop, and how it answers.

Turns become observations under the ids that reading the session's log gives them, so that a turn
that comes twice is stored once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.host.abort import AbortSignal
from dshloop.plugins.patchouli import points
from dshloop.plugins.patchouli.service import Call, Request
from dshloop.plugins.patchouli.store_query import asked_of

if TYPE_CHECKING:
    from dshloop.memory.answers import Hit, Record
    from dshloop.memory.entries import Observation, Session
    from dshloop.memory.store import MemoryStore
    from dshloop.transcripts.happenings import Happening

ID = "dshloop"
PROGRAM = "dsh"
TEXT_LIMIT = 2_000
"""Characters of an entry's text that an answer holds."""
PATIENCE = 5.0
"""Seconds that the end of a row waits for the store."""
PROMPT_LIMIT = 200
"""Characters of a session's first prompt that name it."""

_UPDATES = (points.TOOL_UPDATE, points.TURN_END, points.CREATED, points.DISPOSED, None)
_RETRIEVES = (points.TOOL_RETRIEVE, points.PRE_STEP, None)


class StorePlugin:
    """Any `MemoryStore` behind the memory service; it is opened when it is first needed.

    ``variables`` may name the project (AGENTMEMORY_PROJECT_NAME). A call without a point is a
    direct one of another plugin: it may hold ``content``, ``messages`` or ``query``.
    """

    id = ID

    def __init__(
        self, open_store: Callable[[], MemoryStore], variables: Mapping[str, str] | None = None
    ) -> None:
        self._open = open_store
        self._variables = dict(variables or {})
        self._store: MemoryStore | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dshloop-memory")

    def filter(self, call: Call) -> bool:
        """Take the points that say something to a store of texts."""
        point = call.meta.get("attributes", {}).get("point")
        return point in (_UPDATES if call.operation == "update" else _RETRIEVES)

    async def update(self, request: Request, *, signal: AbortSignal | None) -> Any:  # noqa: ARG002
        """Store what a request tells; gives ids and whether they are new."""
        return await self._in_thread(lambda store: self._stored(store, request))

    async def retrieve(self, request: Request, *, signal: AbortSignal | None) -> Any:  # noqa: ARG002
        """Answer a question: ``{items, total}``, or None where nothing was asked.

        Raises ValueError for metadata that means nothing here.
        """
        asked = asked_of(request, self.project_of(request["meta"]))
        if asked is None:
            return None

        def found(store: MemoryStore) -> dict[str, Any]:
            hits = store.recall(
                asked.query, asked.filters, limit=asked.limit + 50 * bool(asked.but_session),
                min_score=asked.min_score,
            )  # fmt: skip
            others = [hit for hit in hits if hit.entry.session != asked.but_session or not
                      asked.but_session]  # fmt: skip
            items = [_item(hit) for hit in others[: asked.limit]]
            return {"items": items, "total": len(items)}

        return await self._in_thread(found)

    async def close(self) -> None:
        """Close the store after what runs; one that hangs is left behind."""

        def end() -> None:
            if self._store is not None:
                self._store.close()
                self._store = None

        closing = asyncio.get_running_loop().run_in_executor(self._thread, end)
        await asyncio.wait({closing}, timeout=PATIENCE)
        self._thread.shutdown(wait=False)

    def project_of(self, meta: Mapping[str, Any]) -> str | None:
        """Give the project that a call belongs to, None without a workspace."""
        from dshloop.memory.project import project_here

        root = meta.get("attributes", {}).get("workspaceRoot")
        return project_here(self._variables, Path(root)) if root else None

    async def _in_thread(self, work: Callable[[MemoryStore], Any]) -> Any:
        def run() -> Any:
            if self._store is None:
                self._store = self._open()
            return work(self._store)

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    # --- storing, in the store's thread --------------------------------------------------------

    def _stored(self, store: MemoryStore, request: Request) -> Any:
        meta, data = request["meta"], request["data"]
        point = meta.get("attributes", {}).get("point")
        if point == points.TURN_END:
            return self._turn(store, meta, data)
        if point == points.CREATED:
            return self._begun(store, meta)
        if point == points.DISPOSED:
            ended = store.end_session(meta["attributes"]["sessionId"])
            return {"session": None if ended is None else ended.id}
        return {"memories": [self._remembered(store, meta, each) for each in _messages(data)]}

    def _begun(self, store: MemoryStore, meta: Mapping[str, Any]) -> dict[str, Any]:
        from dshloop.memory.entries import NewSession

        attributes = meta["attributes"]
        project, cwd = self.project_of(meta) or "", attributes.get("workspaceRoot", "")
        session = store.start_session(NewSession(attributes["sessionId"], project, cwd=cwd))
        return {"session": session.id}

    def _remembered(
        self, store: MemoryStore, meta: Mapping[str, Any], message: Mapping[str, Any]
    ) -> dict[str, Any]:
        from dshloop.memory.entries import NewMemory

        attributes = meta.get("attributes", {})
        source = {"kind": "plugin", "plugin": meta.get("source", {}).get("id", "?")}
        done = store.remember(
            NewMemory(
                message["content"],
                project=self.project_of(meta) or "",
                session=attributes.get("sessionId"),
                source={**source, "role": message["role"]},
            )
        )
        return {"id": done.memory.id, "merged": done.merged, "redacted": done.redacted}

    def _turn(
        self, store: MemoryStore, meta: Mapping[str, Any], data: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Store what was said and done in a turn. Its answer counts what is new."""
        from dshloop.memory.sources import is_memory_tool
        from dshloop.memory.store import Transferable
        from dshloop.transcripts.dsh_happenings import in_events

        session = meta["attributes"]["sessionId"]
        happened = [
            one
            for one in in_events(session, data["events"])
            if one.kind != "call" or not is_memory_tool(one.tool)
        ]
        made = [self._observation(meta, one) for one in happened]
        if isinstance(store, Transferable):
            known = store.get_session(session) is not None
            if known:
                self._begun(store, meta)
            records: list[Record] = [*made]
            if not known:
                records.insert(0, self._session(meta, made))
            done = [put.outcome for put in store.put(records) if put.record in made]
            return {"observations": len(made), "added": done.count("added")}
        self._begun(store, meta)
        for new in map(_as_new, made):
            store.observe(new)
        return {"observations": len(made), "added": len(made)}

    def _session(self, meta: Mapping[str, Any], made: Sequence[Observation]) -> Session:
        """Make the session that begins with a turn."""
        from dshloop.memory.entries import Session

        attributes = meta["attributes"]
        prompts = (one.content for one in made if one.hook == "prompt_submit")
        times = [one.created_at for one in made] or [0.0]
        return Session(
            id=attributes["sessionId"],
            project=self.project_of(meta) or "",
            cwd=attributes.get("workspaceRoot", ""),
            agent=None,
            title=None,
            first_prompt=" ".join(next(prompts, "").split())[:PROMPT_LIMIT] or None,
            summary=None,
            started_at=times[0],
            updated_at=times[-1],
            ended_at=None,
        )

    def _observation(self, meta: Mapping[str, Any], one: Happening) -> Observation:
        from dshloop.memory.entries import Observation
        from dshloop.memory.interchange.ids import made_id
        from dshloop.memory.interchange.ingesting import ANSWER, hook_of
        from dshloop.memory.observing import observed

        attributes = meta["attributes"]
        new = observed(
            *hook_of(one),
            session=attributes["sessionId"],
            project=self.project_of(meta) or "",
            cwd=attributes.get("workspaceRoot", ""),
            at=one.at,
        )
        return Observation(
            id=made_id("obs_", PROGRAM, one.id),
            session=new.session,
            hook=new.hook,
            type="conversation" if new.hook == ANSWER else new.type,
            title=new.title,
            subtitle=new.subtitle,
            content=new.content,
            concepts=tuple(new.concepts),
            files=tuple(new.files),
            project=new.project,
            agent=new.agent,
            source={**new.source, "plugin": meta["source"]["id"], "event": one.id},
            created_at=one.at or 0.0,
            importance=new.importance,
        )


def _messages(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Give the texts that are submitted: ``messages``, and ``content`` of a direct call."""
    if isinstance(data.get("content"), str) and data["content"].strip():
        yield {"role": "user", "content": data["content"]}
    for message in data.get("messages", ()):
        if isinstance(message.get("content"), str) and message["content"].strip():
            yield message


def _as_new(observation: Observation) -> Any:
    from dshloop.memory.entries import NewObservation

    shared = set(NewObservation._fields) & set(observation._fields)
    return NewObservation(
        **{name: getattr(observation, name) for name in shared},
        key=observation.id,
        at=observation.created_at,
    )


def _item(hit: Hit) -> dict[str, Any]:
    from dshloop.times import iso_time

    entry = hit.entry
    item: dict[str, Any] = {
        "id": entry.id,
        "kind": entry.kind,
        "type": entry.type,
        "title": entry.title,
        "text": entry.content[:TEXT_LIMIT],
        "score": round(hit.score, 4),
        "at": iso_time(entry.created_at),
    }
    if len(entry.content) > TEXT_LIMIT:
        item["cut"] = len(entry.content) - TEXT_LIMIT
    for name, value in (("project", entry.project), ("session", entry.session)):
        if value:
            item[name] = value
    return item
