"""The config of the dock row, read and checked (loop-dock 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from dshloop.errors import InvalidConfigError
from dshloop.loops.binding import DEFAULT_LOOP
from dshloop.loops.javascript import refuse_javascript
from dshloop.loops.names import ABSENT, as_text, is_name, is_object, is_text
from dshloop.loops.registry import DEFAULT_DRIVER
from dshloop.loops.selection import Route

KEYS = (
    "defaultLoop",
    "defaultDriver",
    "presetLoops",
    "sessionLoops",
    "pingReply",
    "agents",
)
LARGEST_INTEGER = 2**53 - 1


class AgentEntry(NamedTuple):
    """An agent that the config asks for; None where the entry says nothing."""

    id: str
    session_id: str | None = None
    resume_session_id: str | None = None
    loop: str | None = None
    driver: str | None = None
    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    cwd: str | None = None

    @property
    def identity(self) -> str | None:
        """The session this entry lays claim to, if it names one."""
        return self.session_id or self.resume_session_id

    def as_json(self) -> dict[str, Any]:
        """Give the entry as the config writes it, without what it doesn't say."""
        values = ((key, getattr(self, name)) for key, name, _ in AGENT_FIELDS)
        return {"id": self.id, **{key: value for key, value in values if value is not None}}


@dataclass(frozen=True, slots=True)
class DockConfig:
    """The dock row's config with every default filled in.

    ``raw_default_driver`` is what the row itself says: the base value of the user's setting.
    """

    default_loop: str = DEFAULT_LOOP
    default_driver: str = DEFAULT_DRIVER
    preset_loops: Mapping[str, Route] = field(default_factory=dict)
    session_loops: Mapping[str, Route] = field(default_factory=dict)
    ping_reply: str | None = None
    agents: Sequence[AgentEntry] = ()
    raw_default_driver: Any = None

    def as_json(self) -> dict[str, Any]:
        """Give the normalised config, without what it doesn't say."""
        reply = {} if self.ping_reply is None else {"pingReply": self.ping_reply}
        return {
            "defaultLoop": self.default_loop,
            "defaultDriver": self.default_driver,
            "presetLoops": {key: route.as_json() for key, route in self.preset_loops.items()},
            "sessionLoops": {key: route.as_json() for key, route in self.session_loops.items()},
            **reply,
            "agents": [entry.as_json() for entry in self.agents],
        }


def read_dock_config(config: object = ABSENT) -> DockConfig:
    """Check and complete a dock row's config; unknown keys are let pass.

    Raises INVALID_CONFIG for the first thing that is wrong.
    """
    if isinstance(config, DockConfig):
        return config
    if config is ABSENT:
        return DockConfig()
    refuse_javascript(config)
    if not is_object(config):
        _refuse("dsh-loop-dock config must be an object", "")
    return DockConfig(
        default_loop=_default(config, "defaultLoop", DEFAULT_LOOP, "loop id"),
        default_driver=_default(config, "defaultDriver", DEFAULT_DRIVER, "driver name"),
        preset_loops=_routes(config, "presetLoops"),
        session_loops=_routes(config, "sessionLoops"),
        ping_reply=_member(config, "pingReply", "pingReply", is_text, "a non-empty string"),
        agents=_agents(config),
        raw_default_driver=config.get("defaultDriver"),
    )


def _default(config: Mapping[str, Any], key: str, default: str, kind: str) -> str:
    value = config.get(key)
    if value is None:
        return default
    if not is_name(value):
        _refuse(f"{key} must be a valid {kind}", key)
    return value


def _routes(config: Mapping[str, Any], key: str) -> dict[str, Route]:
    routes = config.get(key, ABSENT)
    if routes is ABSENT:
        return {}
    if not is_object(routes):
        _refuse(f"{key} must be an object or Map", key)
    given = ((as_text(name), value) for name, value in routes.items() if value is not ABSENT)
    return {name: _route(value, f"{key}.{name}") for name, value in given}


def _route(value: object, path: str) -> Route:
    if isinstance(value, str):
        if not is_name(value):
            _refuse(f"{path} must be a valid loop id", path)
        return Route(value)
    if not is_object(value):
        _refuse(f"{path} must be a loop id or {{ loop, driver }}", path)
    loop, driver = value.get("loop"), value.get("driver", ABSENT)
    if not is_name(loop):
        _refuse(f"{path}.loop must be a valid loop id", f"{path}.loop")
    if driver is ABSENT:
        return Route(loop)
    if not is_name(driver):
        _refuse(f"{path}.driver must be a valid driver name", f"{path}.driver")
    return Route(loop, driver)


def _agents(config: Mapping[str, Any]) -> tuple[AgentEntry, ...]:
    agents = config.get("agents", ABSENT)
    if agents is ABSENT:
        return ()
    if not isinstance(agents, list | tuple):
        _refuse("agents must be an array", "agents")
    entries = tuple(read_agent(value, f"agents[{index}]") for index, value in enumerate(agents))
    _require_identities(entries)
    return entries


def read_agent(value: object, path: str) -> AgentEntry:
    """Check one entry of ``agents``; `path` is how messages call it. Raises INVALID_CONFIG."""
    if not is_object(value):
        _refuse(f"{path} must be an object", path)
    if not is_text(value.get("id")):
        _refuse(f"{path}.id must be a non-empty string", f"{path}.id")
    found: dict[str, Any] = {"id": value["id"]}
    for key, name, (test, wanted) in AGENT_FIELDS:
        found[name] = _member(value, key, f"{path}.{key}", test, wanted)
        if key == "resumeSessionId" and found[name] and found["session_id"]:
            _refuse(f"{path}: sessionId and resumeSessionId are mutually exclusive", path)
    if isinstance(found["max_tokens"], float):
        found["max_tokens"] = int(found["max_tokens"])
    return AgentEntry(**found)


def _member(
    config: Mapping[str, Any], key: str, path: str, test: Callable[[Any], bool], wanted: str
) -> Any:
    """Give a value that may be absent, None then; null is a value, and refused."""
    value = config.get(key, ABSENT)
    if value is ABSENT:
        return None
    if not test(value):
        _refuse(f"{path} must be {wanted}", path)
    return value


def _is_count(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 1 <= value <= LARGEST_INTEGER and value == int(value)


_TEXT = (is_text, "a non-empty string")

# the key in the config, the attribute, what it must be; in the order they are checked
AGENT_FIELDS: Sequence[tuple[str, str, tuple[Callable[[Any], bool], str]]] = (
    ("sessionId", "session_id", _TEXT),
    ("resumeSessionId", "resume_session_id", _TEXT),
    ("loop", "loop", (is_name, "a valid loop id")),
    ("driver", "driver", (is_name, "a valid driver name")),
    ("provider", "provider", _TEXT),
    ("model", "model", _TEXT),
    ("maxTokens", "max_tokens", (_is_count, "a positive safe integer")),
    ("reasoningEffort", "reasoning_effort", _TEXT),
    ("cwd", "cwd", _TEXT),
)


def _require_identities(entries: Sequence[AgentEntry]) -> None:
    owners: dict[str, str] = {}
    for index, entry in enumerate(entries):
        identity = entry.identity
        if identity is None:
            continue
        if identity in owners:
            _refuse(
                f'agents "{owners[identity]}" and "{entry.id}" use duplicate exact session '
                f'identity "{identity}"',
                f"agents[{index}]",
            )
        owners[identity] = entry.id


def _refuse(message: str, path: str) -> NoReturn:
    raise InvalidConfigError(message, path=path)
