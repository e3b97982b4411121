"""What completion offers for loops, drivers, agents and routes; no loop of it is imported.

Places as everywhere, nearest first: the profile's loops.yml, installed packages, built-in. What
packages offer comes from a cache, the only file that completion writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dshloop.cli.docked import docked, named_profile
from dshloop.cli.params import invocation
from dshloop.errors import DshloopError

if TYPE_CHECKING:
    from dshloop.loops.discovery import Group
    from dshloop.loops.loops_file import Kind

Item = tuple[str, str]

LOOPS: Sequence[Item] = (("standard", "built-in"),)
DRIVERS: Sequence[Item] = tuple(
    (name, "built-in") for name in ("default", "fake-driver", "dsh", "acp")
)


def loop_ids(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer every loop that is known."""
    return _first([*_registered(ctx, "loop"), *_packaged(ctx, "dshloop.loops"), *LOOPS], incomplete)


def driver_names(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer every driver that is known."""
    return _first(_drivers(ctx, DRIVERS), incomplete)


def runnable_drivers(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer what `session run --driver` takes: also the short names, which are never recorded."""
    from dshloop.drivers import names

    return _first(_drivers(ctx, [(name, "built-in") for name in names()]), incomplete)


def route_targets(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer loops and, behind a plus sign, drivers."""
    loop, plus, driver = incomplete.partition("+")
    if not plus:
        return loop_ids(ctx, args, incomplete)
    return [(f"{loop}+{name}", text) for name, text in driver_names(ctx, args, driver)]


def registered_loops(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer the loops of loops.yml."""
    return _first(_registered(ctx, "loop"), incomplete)


def registered_drivers(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer the drivers of loops.yml."""
    return _first(_registered(ctx, "driver"), incomplete)


def session_ids(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer stored sessions, the newest of this folder first."""
    from dshloop.cli.session.common import session_ids as stored

    return stored(ctx, args, incomplete)


def preset_ids(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer the presets that a session can be started on."""
    from dshloop.host.presets import FOLDER, preset_names

    names = preset_names(invocation(ctx).places.dsh_home / FOLDER)
    return _first([(name, "preset") for name in names], incomplete)


def agent_ids(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer the agents of the dock row."""
    with docked(invocation(ctx), packages=False) as (docking, _):
        entries = docking.dock.config.agents
    return _first([(entry.id, entry.loop or "agent") for entry in entries], incomplete)


def new_route_keys(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer what can be routed: presets or, behind --session, sessions."""
    offer = session_ids if ctx.params.get("session") else preset_ids
    return [item for item in offer(ctx, args, incomplete) if item[0] != "last"]


def route_keys(ctx: Any, args: list[str], incomplete: str) -> list[Item]:
    """Offer the presets and sessions that are routed."""
    with docked(invocation(ctx), packages=False) as (docking, _):
        config = docking.dock.config
    found = [(key, "preset") for key in config.preset_loops]
    return _first([*found, *((key, "session") for key in config.session_loops)], incomplete)


def _drivers(ctx: Any, built_in: Iterable[Item]) -> list[Item]:
    return [*_registered(ctx, "driver"), *_packaged(ctx, "dshloop.drivers"), *built_in]


def _first(offers: Iterable[Item], incomplete: str) -> list[Item]:
    """Give those that begin so, each once, as the nearest place has it."""
    found: dict[str, str] = {}
    for name, text in offers:
        if name.startswith(incomplete):
            found.setdefault(name, text)
    return list(found.items())


def _registered(ctx: Any, kind: Kind) -> list[Item]:
    """Give what loops.yml registers; one that is broken has nothing to offer."""
    from dshloop.loops.loops_file import NAME, read_loops_file

    try:
        profile = named_profile(invocation(ctx))
        file = None if profile is None else read_loops_file(profile.folder / NAME)
    except DshloopError:
        return []
    if file is None:
        return []
    return [(one.id, NAME) for one in (file.loops if kind == "loop" else file.drivers)]


def _packaged(ctx: Any, group: Group) -> Iterator[Item]:
    from dshloop.loops.discovery import remembered
    from dshloop.loops.names import is_name

    for one in remembered(group, invocation(ctx).places.packages_cache):
        if is_name(one.id):
            yield one.id, one.distribution
