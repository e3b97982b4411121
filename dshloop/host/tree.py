"""Rows to running plugins: started in order as their services come, stopped in reverse.

Rows that nobody here can run are listed, and so are those that wait for a service that never
comes. A plugin that throws fails the start; what was started is undone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from dshloop.errors import DshloopError, RowConfigInvalidError, RowFailedError
from dshloop.host.calling import call, contained
from dshloop.host.mount import Mount
from dshloop.host.rows import ABSENT, HostRow

if TYPE_CHECKING:
    from dshloop.host.agent import Agent
    from dshloop.host.host import Host

State = Literal["running", "waiting", "foreign", "off", "replaced", "stopped"]


class Plugin(Protocol):
    """What a row runs.

    ``Config`` makes the plugin's config of the row's raw one (ABSENT where it has none) and raises
    what is wrong with it; a dataclass gets the row's keys as its fields. ``inject``, which may be
    missing, names the services it needs.
    """

    name: ClassVar[str]
    Config: ClassVar[Callable[..., Any]]

    async def apply(self, host: Mount, config: Any) -> None:
        """Register what the row brings; the host undoes it when the row stops."""
        ...


Find = Callable[[str], type[Plugin] | None]
"""Gives the plugin of a row's name, None where nobody here can run it."""


@dataclass(slots=True)
class RowState:
    """A row and what has become of it; ``reason`` is for people."""

    row: HostRow
    state: State = "waiting"
    reason: str = ""
    missing: tuple[str, ...] = ()
    mount: Mount | None = field(default=None, repr=False)
    plugin: type[Plugin] | None = field(default=None, repr=False)
    config: Any = field(default=None, repr=False)

    def as_json(self) -> dict[str, Any]:
        """Give the state as a program reads it."""
        shown = {"id": self.row.id, "name": self.row.name, "state": self.state}
        return {**shown, "reason": self.reason or None, "missing": list(self.missing)}


class Tree:
    """The rows of a host, or with ``agent`` those of one agent's preset."""

    def __init__(
        self, host: Host, rows: Sequence[HostRow], find: Find, agent: Agent | None = None
    ) -> None:
        self.host = host
        self.agent = agent
        self.states = [RowState(row) for row in rows]
        self._find = find
        self._started: list[RowState] = []

    async def start(self) -> None:
        """Start all rows that can run. Raises ROW_FAILED, ROW_CONFIG_INVALID, and our own errors
        that a plugin raises, each with row, layer, file and line; nothing runs then.
        """
        try:
            for state in self._runnable():
                state.config = _read_config(state)
            more = True
            while more:
                more = await self._round()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop what runs, the last first. May be called twice."""
        while self._started:
            state = self._started.pop()
            assert state.mount is not None
            await state.mount.unwind()
            state.state = "stopped"

    def of_state(self, *states: State) -> list[RowState]:
        """Give the rows in one of some states."""
        return [each for each in self.states if each.state in states]

    def _runnable(self) -> list[RowState]:
        """Find the plugins, and say why the other rows don't run."""
        last = {state.row.id: state for state in self.states if state.row.id}
        for state in self.states:
            row = state.row
            if row.off is not None:
                state.state, state.reason = "off", row.off
            elif row.id and last[row.id] is not state:
                state.state, state.reason = "replaced", "a later row has its id"
            else:
                state.plugin = _found(self._find, row)
                if state.plugin is None:
                    state.state, state.reason = "foreign", "only dsh can run it"
        return self.of_state("waiting")

    async def _round(self) -> bool:
        """Start what has its services, in order; say whether that may have helped others."""
        started = False
        for state in self.of_state("waiting"):
            assert state.plugin is not None
            needed = (*getattr(state.plugin, "inject", ()), *state.row.needs)
            state.missing = tuple(name for name in needed if not self.host.has(name))
            if state.missing:
                state.reason = f"waits for service {', '.join(state.missing)}"
                continue
            await self._run(state, state.plugin)
            started = True
        return started and bool(self.of_state("waiting"))

    async def _run(self, state: RowState, plugin: type[Plugin]) -> None:
        state.mount = mount = Mount(self.host, self.agent)
        self._started.append(state)
        try:
            await call(lambda: plugin().apply(mount, state.config))
        except Exception as error:
            raise failure_of(state.row, error) from error
        state.state, state.reason = "running", ""


def failure_of(row: HostRow, error: Exception) -> DshloopError:
    """Make the error that a row's failure ends the start with; ours keep their code."""
    path = error.details.get("path") if isinstance(error, DshloopError) else None
    spot = row.spot_of(path) if isinstance(path, str) else row.spot
    said = error.message if isinstance(error, DshloopError) else str(error) or type(error).__name__
    message = f'{spot.text}: row "{row.id}" ({row.name}) failed: {said}'
    if isinstance(error, DshloopError):
        return type(error)(message, hint=error.hint, **{**error.details, **row.details(spot)})
    details = row.details(spot)
    return RowFailedError(message, cause=said, kind=type(error).__name__, **details)


def _found(find: Find, row: HostRow) -> type[Plugin] | None:
    try:
        return find(row.name)
    except BaseException as raised:
        raise failure_of(row, contained(raised)) from raised


def _read_config(state: RowState) -> Any:
    """Have the plugin check its config. Raises ROW_CONFIG_INVALID, and our own errors."""
    assert state.plugin is not None
    raw, make = state.row.config, state.plugin.Config
    try:
        return _fields(make, raw) if dataclasses.is_dataclass(make) else make(raw)
    except DshloopError as error:
        raise failure_of(state.row, error) from error
    except _WrongKeyError as error:
        spot = state.row.spot_of(error.path)
        said = str(error)
    except (TypeError, ValueError) as error:
        spot, said = state.row.spot, str(error)
    row = state.row
    message = f'{spot.text}: the config of row "{row.id}" ({row.name}): {said}'
    raise RowConfigInvalidError(message, **row.details(spot))


class _WrongKeyError(ValueError):
    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


def _fields(make: Any, raw: Any) -> Any:
    """Make a dataclass of a row's keys."""
    if raw is ABSENT or raw is None:
        return make()
    if not isinstance(raw, dict):
        raise ValueError("it must be a mapping")
    known = [each.name for each in dataclasses.fields(make) if each.init]
    for key in raw:
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(known)}"
            raise _WrongKeyError(f'there is no key "{key}"{hint}', str(key))
    return make(**raw)
