"""Drivers: what makes agents for a loop; the names that may be typed for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dshloop.errors import DriverUnavailableError, UsageError


class Choice(NamedTuple):
    """A driver as asked for: the name that is recorded, and the provider it is tied to."""

    name: str
    provider: str | None = None

    @property
    def asks_model(self) -> bool:
        """Whether a model can be chosen for it: it doesn't answer by itself."""
        return self.name != FAKE and self.provider is None


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
AVAILABLE = ("fake", "ping", "dsh", "acp")


def choose(name: str) -> Choice:
    """Tell what a name on the command line means; one that we don't know stands for itself."""
    return _NAMES.get(name) or Choice(name)


def recorded(name: str) -> str:
    """Give the name that is recorded for one that was typed.

    Raises USAGE for one that stands for more than a driver.
    """
    choice = choose(name)
    if choice.provider is not None:
        raise UsageError(
            f"{name} is the driver {choice.name} with a provider of its own, and can't be recorded",
            hint=f"Use it for one run: dshloop session run --driver {name}.",
        )
    return choice.name


def require_known(choice: Choice, registered: Sequence[str]) -> None:
    """Refuse a name that is neither registered nor ours. Raises DRIVER_UNAVAILABLE.

    Of ours that a profile lacks the dock itself says so.
    """
    if choice.name in registered or choice.name in (FAKE, DEFAULT):
        return
    raise DriverUnavailableError(
        f'there is no driver "{choice.name}"',
        hint=_HINT,
        driver=choice.name,
        available=sorted({*AVAILABLE, *registered}),
    )


def names() -> Sequence[str]:
    """Give the names that can be typed and run here, for completion."""
    return list(_NAMES)


def no_model() -> DriverUnavailableError:
    """Make the error for the standard engine where no model is set up."""
    return DriverUnavailableError(
        'no model is set up for the driver "default" ("headless")',
        hint=f"Set a key, as in export DEEPSEEK_API_KEY=… (dshloop provider list). {_HINT}",
        driver=DEFAULT,
        available=list(AVAILABLE),
    )


_HINT = "--driver fake and --driver ping answer without a model."
