"""A harness's services as tests need them: they record, and do nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dshloop.loops.names import is_object


class Header:
    def __init__(self, agent_preset: str | None) -> None:
        self.agent_preset = agent_preset
        self.cwd = None


class StubSession:
    def __init__(self, events: Sequence[Any], preset: str | None) -> None:
        self.events = list(events)
        self.header = Header(preset)


class StubAgent:
    """Has a session and keeps what is appended to it."""

    def __init__(self, events: Sequence[Any], preset: str | None) -> None:
        self.session = StubSession(events, preset)
        self.appended: list[dict[str, Any]] = []

    def append(self, kind: str, data: Any) -> None:
        event = {"type": kind, "seq": len(self.session.events), "data": data}
        self.session.events.append(event)
        self.appended.append(event)


class Handle:
    def __init__(self, agent: Any) -> None:
        self.agent = agent

    async def dispose(self) -> None:
        pass


class Maker:
    """Makes stub agents, and records the call the way the cases write it."""

    def __init__(self, name: str, record: dict[str, Any], events: Sequence[Any] = ()) -> None:
        self.name = name
        self.record = record
        self.events = events
        self.options: list[dict[str, Any]] = []
        self.owners: list[Any] = []
        self.agents: list[StubAgent] = []

    async def create_agent(self, owner: Any, options: Mapping[str, Any]) -> Handle:
        preset = (options.get("meta") or {}).get("agentPreset")
        return await self._make("create", owner, options, StubAgent([], preset))

    async def resume(self, owner: Any, options: Mapping[str, Any]) -> Handle:
        return await self._make("resume", owner, options, StubAgent(self.events, None))

    async def _make(
        self, verb: str, owner: Any, options: Mapping[str, Any], agent: StubAgent
    ) -> Handle:
        self.options.append(dict(options))
        self.owners.append(owner)
        self.agents.append(agent)
        result = await options["setup"](agent) if callable(options.get("setup")) else None
        if result is not None:
            result.commit()
        self.record |= {
            "delegatedTo": self.name,
            "verb": verb,
            "loop": options["loop"],
            "driver": options.get("driver"),
            "agentOptions": options["agentOptions"],
            "bindingEventsAppended": agent.appended,
        }
        return Handle(agent)


def loop_of(definition: Mapping[str, Any], maker: Maker | None = None) -> dict[str, Any]:
    """Give a loop of the cases the functions it needs."""
    made = maker or Maker("loop", {})

    async def setup(agent: Any) -> None:
        pass

    if definition["kind"] == "strategy":
        return {**definition, "setup": setup}
    return {**definition, "createAgent": made.create_agent, "resume": made.resume}


class Settings:
    """One namespace's values; "throw" raises when they are read."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.writes: list[list[Any]] = []

    def get(self, namespace: str) -> Any:
        if self.values == "throw":
            raise OSError("settings broke")
        if is_object(self.values) and "throws" in self.values:
            raise OSError(self.values["throws"])
        return self.values

    async def update(self, namespace: str, patch: Mapping[str, Any]) -> None:
        self.writes.append([namespace, dict(patch)])
        self.values = {**(self.values or {}), **patch}


class Persistence:
    """Stored sessions: logs by id, or one log for every id; "throw" raises "disk" on list."""

    def __init__(
        self, logs: Mapping[str, Any] | None = None, *, log: Any = None, ids: Any = ()
    ) -> None:
        self.logs = dict(logs or {})
        self.log = log
        self.ids = ids

    async def inspect(self, session_id: str) -> Any:
        found = self.logs.get(session_id, self.log)
        if is_object(found) and "throws" in found:
            raise OSError(found["throws"])
        return found

    async def list(self) -> Any:
        if self.ids == "throw":
            raise OSError("disk")
        return [{"id": name} for name in (*self.ids, *self.logs)]


class Presets:
    def __init__(self, preset: str | None = None) -> None:
        self.preset = preset
        self.mounted: list[str] = []

    def composed(self, agent: Any) -> str | None:
        return self.preset

    async def mount(self, agent: Any, preset: str) -> None:
        self.mounted.append(preset)
        self.preset = preset


class Hooks:
    """Listeners on agent/request, called around what the inner ones resolved."""

    def __init__(self) -> None:
        self.listeners: list[tuple[Callable[..., Any], bool]] = []

    def on(self, agent: Any, event: str, listener: Callable[..., Any], *, prepend: bool) -> None:
        assert event == "agent/request"
        self.listeners.append((listener, prepend))

    async def request(self, agent: Any, inner: Any) -> Any:
        async def innermost() -> Any:
            return inner

        following = innermost
        for listener, _ in self.listeners:
            following = self._around(listener, agent, following)
        return await following()

    @staticmethod
    def _around(listener: Callable[..., Any], agent: Any, following: Any) -> Any:
        async def call() -> Any:
            return await listener({"agent": agent}, following)

        return call


class AgentService:
    """Records what it is asked for; every start fails with ``fails``, if given."""

    def __init__(self, fails: str | None = None) -> None:
        self.fails = fails
        self.calls: list[list[Any]] = []

    async def create(self, options: Mapping[str, Any]) -> Handle:
        return self._call("create", options)

    async def resume(self, options: Mapping[str, Any]) -> Handle:
        return self._call("resume", options)

    def _call(self, verb: str, options: Mapping[str, Any]) -> Handle:
        self.calls.append([verb, dict(options)])
        if self.fails is not None:
            raise OSError(self.fails)
        return Handle(StubAgent([], None))
