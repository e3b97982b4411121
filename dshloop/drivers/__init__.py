"""Drivers: what makes agents for a loop. Names, and the contract every driver keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dshloop.errors import DriverUnavailableError

if TYPE_CHECKING:
    from dshloop.host.engine import AgentHandle, CreateOptions, Host, ResumeOptions


class Driver(Protocol):
    """Makes agents, and resumes them (loop-dock 4)."""

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session."""
        ...

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        ...


class Choice(NamedTuple):
    """A driver as asked for: the name that is recorded, and the provider it is tied to."""

    name: str
    provider: str | None = None


FAKE, DEFAULT = "fake-driver", "default"
PING_PROVIDER = "loop-ping"

# what may be typed -> what it means; only the first of these names are ever recorded
_NAMES = {
    "fake-driver": Choice(FAKE),
    "fake": Choice(FAKE),
    "default": Choice(DEFAULT),
    "headless": Choice(DEFAULT),
    "ping": Choice(DEFAULT, PING_PROVIDER),
    "dsh": Choice("dsh"),
    "acp": Choice("acp"),
}
AVAILABLE = ("fake", "ping")


def choose(name: str | None) -> Choice:
    """Tell what a name on the command line means. Raises DRIVER_UNAVAILABLE."""
    if name is None:
        raise _unavailable(
            'no driver is chosen, and the default one ("headless") is not available here'
        )
    choice = _NAMES.get(name)
    if choice is None:
        raise _unavailable(f'there is no driver "{name}"', name)
    return choice


def make_driver(choice: Choice) -> Driver:
    """Give the driver of a choice. Raises DRIVER_UNAVAILABLE for one that can't run here."""
    from dshloop.drivers.fake import FakeDriver, PingDriver

    if choice.name == FAKE:
        return FakeDriver()
    if choice.provider == PING_PROVIDER:
        return PingDriver()
    raise _unavailable(f'the driver "{choice.name}" is not available here', choice.name)


def names() -> Sequence[str]:
    """Give the names that can be typed and run here, for completion."""
    return [name for name, choice in _NAMES.items() if choice.name == FAKE or choice.provider]


def _unavailable(message: str, name: str | None = None) -> DriverUnavailableError:
    return DriverUnavailableError(
        message,
        hint="Use --driver fake or --driver ping: both answer without a model.",
        driver=name,
        available=list(AVAILABLE),
    )
