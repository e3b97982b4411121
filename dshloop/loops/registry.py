"""What is docked: the loops and the drivers, each under its name (loop-dock 3 and 4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

from dshloop.errors import (
    DuplicateDriverError,
    DuplicateLoopError,
    InvalidDriverError,
    InvalidLoopDefinitionError,
    UnknownLoopError,
)
from dshloop.loops.names import (
    ABSENT,
    as_text,
    is_name,
    is_object,
    is_text,
    listed,
    require_driver_name,
    require_loop_id,
)

Setup = Callable[[Any], Any]  # takes an agent, may be async, may give back a commit
Make = Callable[[Any, Any], Awaitable[Any]]  # owner, options -> a handle {agent, dispose}
Disposer = Callable[[], None]

DEFAULT_DRIVER = "default"
_PAIR = "createAgent(ownerCtx, options) and resume(ownerCtx, options)"
_BAD_DRIVER = f"registerDriver(driver) requires {_PAIR}"
_NO_MAKERS = f'driver loop "{{}}" must provide {_PAIR}'
_FIELDS = ("id", "kind", "setup", "driver", "provider", "model", "label", "description")
_MAKERS = {"create_agent": "createAgent", "resume": "resume"}


class Driver(Protocol):
    """Makes agents, and resumes them; ``owner`` and ``options`` are handed through."""

    def create_agent(self, owner: Any, options: Any, /) -> Awaitable[Any]:
        """Make an agent with a new session and give its handle."""
        ...

    def resume(self, owner: Any, options: Any, /) -> Awaitable[Any]:
        """Make an agent that goes on with a stored session and give its handle."""
        ...


@dataclass(frozen=True, slots=True)
class Loop:
    """A registered loop: a strategy, which borrows a driver, or a driver loop, its own engine."""

    id: str
    kind: Literal["strategy", "driver"]
    setup: Setup | None = None
    create_agent: Make | None = None
    resume: Make | None = None
    driver: str | None = None
    provider: str | None = None
    model: str | None = None
    label: str | None = None
    description: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # keys of its own, kept as they are

    @property
    def pin(self) -> dict[str, str]:
        """The halves of the model route that this loop insists on."""
        halves = {"provider": self.provider, "model": self.model}
        return {name: value for name, value in halves.items() if value is not None}

    def summary(self) -> dict[str, str]:
        """Give what a list of loops shows."""
        texts = {"label": self.label, "description": self.description}
        shown = {name: value for name, value in texts.items() if value is not None}
        return {"id": self.id, "kind": self.kind, **shown}


class LoopRegistry:
    """The loops by id, in the order they were registered."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}

    def register(self, definition: object) -> Disposer:
        """Add a loop; what comes back takes exactly this registration away again.

        Takes a `Loop`, a mapping or any object with the fields of loop-dock 3. Raises
        INVALID_LOOP_DEFINITION, INVALID_LOOP_ID and DUPLICATE_LOOP.
        """
        loop = read_loop(definition)
        if loop.id in self._loops:
            raise DuplicateLoopError(f'loop "{loop.id}" is already registered', loop=loop.id)
        self._loops[loop.id] = loop

        def dispose() -> None:
            if self._loops.get(loop.id) is loop:
                del self._loops[loop.id]

        return dispose

    def unregister(self, loop_id: object) -> bool:
        """Take a loop away; tell whether it was there. Raises INVALID_LOOP_ID."""
        return self._loops.pop(require_loop_id(loop_id), None) is not None

    def has(self, loop_id: object) -> bool:
        """Whether a loop is registered. Raises INVALID_LOOP_ID."""
        return require_loop_id(loop_id) in self._loops

    def get(self, loop_id: object) -> Loop | None:
        """Give a loop, if it is registered. Raises INVALID_LOOP_ID."""
        return self._loops.get(require_loop_id(loop_id))

    def require(self, loop_id: object) -> Loop:
        """Give a loop. Raises INVALID_LOOP_ID and UNKNOWN_LOOP."""
        loop = self.get(loop_id)
        if loop is None:
            known = self.ids
            raise UnknownLoopError(
                f'loop "{loop_id}" is not registered (available: {listed(known)})',
                loop=loop_id,
                available=known,
            )
        return loop

    @property
    def newest(self) -> Loop:
        """The loop that was registered last."""
        return next(reversed(self._loops.values()))

    @property
    def ids(self) -> list[str]:
        """The ids in the order of registration."""
        return list(self._loops)

    def in_order(self) -> list[Loop]:
        """Give the loops by id, in code-point order (loop-dock 18.11)."""
        return [self._loops[loop_id] for loop_id in sorted(self._loops)]

    def __len__(self) -> int:
        return len(self._loops)


class DriverRegistry:
    """The drivers by name."""

    def __init__(self) -> None:
        self._drivers: dict[str, Driver] = {}

    def register(self, name: object, driver: object) -> Disposer:
        """Add a driver; what comes back takes exactly this one away again.

        Raises INVALID_DRIVER and DUPLICATE_DRIVER.
        """
        known = require_driver_name(name)
        made = read_driver(driver, _BAD_DRIVER)
        if known in self._drivers:
            raise DuplicateDriverError(f'driver "{known}" is already registered', driver=known)
        self._drivers[known] = made

        def dispose() -> None:
            if self._drivers.get(known) is made:
                del self._drivers[known]

        return dispose

    def unregister(self, name: object) -> bool:
        """Take a driver away; tell whether it was there. Raises INVALID_DRIVER."""
        return self._drivers.pop(require_driver_name(name), None) is not None

    def has(self, name: object) -> bool:
        """Whether a driver is registered. Raises INVALID_DRIVER."""
        return require_driver_name(name) in self._drivers

    def get(self, name: str) -> Driver | None:
        """Give a driver, if it is registered."""
        return self._drivers.get(name)

    @property
    def newest(self) -> Driver:
        """The driver that was registered last."""
        return next(reversed(self._drivers.values()))

    @property
    def names(self) -> list[str]:
        """The names in code-point order."""
        return sorted(self._drivers)


class FunctionDriver(NamedTuple):
    """A driver made of two functions."""

    create_agent: Make
    resume: Make


def read_loop(definition: object) -> Loop:
    """Check a definition and copy it; the first thing that is wrong is raised.

    Raises INVALID_LOOP_DEFINITION and INVALID_LOOP_ID.
    """
    found = _fields_of(definition)
    _require_loop(found)
    if isinstance(definition, Loop):
        return definition
    strategy = found["kind"] == "strategy"
    return Loop(
        id=found["id"],
        kind=found["kind"],
        setup=found.get("setup"),
        create_agent=found.get("create_agent"),
        resume=found.get("resume"),
        driver=found.get("driver") if strategy else None,  # not looked at on a driver loop
        provider=found.get("provider"),
        model=found.get("model"),
        label=_text(found.get("label")),
        description=_text(found.get("description")),
        extra=found["extra"],
    )


def read_driver(driver: object, message: str) -> Driver:
    """Give a driver back if it has both callables. Raises INVALID_DRIVER with `message`."""
    try:
        if is_object(driver):
            make, resume = (_member(driver, name) for name in _MAKERS)
            if callable(make) and callable(resume):
                return FunctionDriver(make, resume)
        elif all(callable(getattr(driver, name, None)) for name in _MAKERS):
            return driver  # type: ignore[return-value]
    except Exception as fault:  # a property of its own
        message = f"{message}: {type(fault).__name__}: {fault}"
    raise InvalidDriverError(
        message, hint="Both create_agent(owner, options) and resume(owner, options) are needed."
    )


def members_of(definition: object, name: str) -> dict[str, Any]:
    """Take the fields of a loop out of an object. Raises INVALID_LOOP_DEFINITION if one raises."""
    found = {}
    for member in (*_FIELDS, *_MAKERS):
        try:
            value = getattr(definition, member, None)
        except Exception as fault:
            _refuse(name, f'loop "{name}" {member} raises {type(fault).__name__}: {fault}', member)
        if value is not None:
            found[member] = value
    return found


def _fields_of(definition: object) -> dict[str, Any]:
    """Take the fields out of a mapping or an object; what is undefined has no key."""
    if definition is None or isinstance(definition, str | int | float | bytes | list | tuple):
        raise InvalidLoopDefinitionError("a loop provider must be an object with an id")
    if is_object(definition):
        taken = {*_FIELDS, *_MAKERS, *_MAKERS.values()}
        found = {name: definition[name] for name in _FIELDS if name in definition}
        found |= {name: _member(definition, name) for name in _MAKERS}
        return {**found, "extra": {k: v for k, v in definition.items() if k not in taken}}
    return {**members_of(definition, type(definition).__name__), "extra": {}}


def _member(definition: Mapping[str, Any], name: str) -> Any:
    """Read a callable under its Python name or the original's."""
    return definition.get(name, definition.get(_MAKERS[name]))


def _require_loop(found: Mapping[str, Any]) -> None:
    """Check the fields of a loop in the original's order."""
    loop = require_loop_id(found.get("id", ABSENT))
    for name in ("provider", "model"):
        if name in found and not is_text(found[name]):
            _refuse(loop, f'loop "{loop}" {name} must be a non-empty string', name)
    kind = found.get("kind")
    if kind == "strategy":
        _require_strategy(loop, found)
    elif kind == "driver":
        for name in _MAKERS:
            if not callable(found.get(name)):
                _refuse(loop, _NO_MAKERS.format(loop), _MAKERS[name])
    else:
        _refuse(loop, f'loop "{loop}" must declare kind: "strategy" or "driver"', "kind")


def _require_strategy(loop: str, found: Mapping[str, Any]) -> None:
    if not callable(found.get("setup")):
        message = f'strategy loop "{loop}" must provide an async setup(agentCtx) function'
        _refuse(loop, message, "setup")
    if "driver" in found and not is_name(found["driver"]):
        _refuse(loop, f'strategy loop "{loop}" driver must be a valid driver name', "driver")


def _text(value: object) -> str | None:
    return None if value is None else as_text(value)


def _refuse(loop: str, message: str, name: str) -> NoReturn:
    raise InvalidLoopDefinitionError(message, loop=loop, field=name)
