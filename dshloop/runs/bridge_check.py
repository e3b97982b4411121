"""The seven checks of the bridge to agentmemory (dsh-agentmemory-bridge 9, boot check)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dshloop.memory.status import Status

DEFAULTS: Mapping[str, Any] = {
    "base_url": "http://localhost:3111",
    "secret": "",
    "enabled": True,
    "enable_tools": True,
    "enable_session_start_end": True,
    "compaction_bridge": True,
    "agent_id": "dsh",
    "curl_timeout_ms": 4000,
    "observe_batch_limit": 20,
    "max_content_chars": 4000,
    "max_args_chars": 2000,
    "inject_context": True,
    "inject_context_max_chars": 6000,
    "inject_context_on_compaction": True,
    "inject_semantic": False,
    "inject_semantic_max_results": 8,
    "inject_semantic_max_chars": 3000,
}
"""What an empty configuration means (dsh-agentmemory-bridge 2)."""

ROW = "dsh-agentmemory"
NEEDS = "tools"
PACKAGE, MODULE = "httpx", "httpx"
_BAD = {"curlTimeoutMs": -5}


class Checked(NamedTuple):
    """What came of a check: ``said`` is what was found, or what is wrong."""

    name: str
    passed: bool
    said: str

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return self._asdict()


Check = Callable[[], str]
"""A check: gives what it found, raises a Wrong with what is wrong."""


class Wrong(Exception):  # noqa: N818 - it is a finding, no error
    """A check did not pass."""


def boot_checks(status: Status) -> Sequence[Checked]:
    """Check the row's plugin, and the daemon by the status that was just taken."""
    return [_done(name, check) for name, check in _checks(status)]


def _checks(status: Status) -> Iterator[tuple[str, Check]]:
    yield "exports", _exports
    yield "host-needs", _host_needs
    yield "defaults", _defaults
    yield "refusal", _refusal
    yield "livez", lambda: _livez(status)
    yield "packages-declared", _declared
    yield "packages-present", _present


def _done(name: str, check: Check) -> Checked:
    try:
        return Checked(name, True, check())
    except Wrong as wrong:
        return Checked(name, False, str(wrong))
    except Exception as error:  # a plugin that can't even be looked at
        return Checked(name, False, f"{type(error).__name__}: {error}")


def _plugin() -> Any:
    from dshloop.plugins.agentmemory.row import Agentmemory

    return Agentmemory


def _exports() -> str:
    plugin = _plugin()
    if plugin.name != ROW:
        raise Wrong(f"its name is {plugin.name}, not {ROW}")
    for part in ("Config", "apply"):
        if not callable(getattr(plugin, part, None)):
            raise Wrong(f"it has no {part}")
    return f"{ROW}: name, Config, apply"


def _host_needs() -> str:
    needs = tuple(_plugin().inject)
    if NEEDS not in needs:
        raise Wrong(f"it doesn't ask the host for {NEEDS}")
    return ", ".join(needs)


def _defaults() -> str:
    config = _plugin().Config({})
    other = [name for name, value in DEFAULTS.items() if getattr(config, name, None) != value]
    if other:
        raise Wrong(f"an empty configuration has other values for {', '.join(other)}")
    return f"{len(DEFAULTS)} keys"


def _refusal() -> str:
    (key, value) = next(iter(_BAD.items()))
    try:
        _plugin().Config(_BAD)
    except Exception as error:
        if key in str(error):
            return str(error)
        raise Wrong(f"the refusal of {key} {value} doesn't name it: {error}") from None
    raise Wrong(f"{key} {value} is not refused")


def _livez(status: Status) -> str:
    if status.error is not None:
        raise Wrong(status.error.message)
    return f"{status.where}: {status.probe.version}"


def _declared() -> str:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires("dshloop") or []
    except PackageNotFoundError:
        raise Wrong("dshloop is not installed as a package") from None
    found = next((one for one in declared if one.startswith(PACKAGE)), None)
    if found is None:
        raise Wrong(f"dshloop doesn't declare {PACKAGE}")
    return found


def _present() -> str:
    from importlib.util import find_spec

    if find_spec(MODULE) is None:
        raise Wrong(f"{PACKAGE} is not installed")
    return PACKAGE
