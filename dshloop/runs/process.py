"""A running process: a host with the rows of a profile, up to its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from dshloop.drivers.fake import FAKE_PROVIDER
from dshloop.drivers.settings import SERVICE as ENGINES
from dshloop.errors import AgentFactoryMissingError
from dshloop.host.agent import ATTACHMENTS
from dshloop.host.approval import SERVICE as APPROVAL
from dshloop.host.host import Host
from dshloop.host.presets import SERVICE as PRESETS
from dshloop.host.presets import HostPresets
from dshloop.host.settings import DshSettings
from dshloop.host.tree import Tree
from dshloop.loops.dock import Dock
from dshloop.loops.teaming import SERVICE as TEAMS
from dshloop.paths import Places
from dshloop.plugins import find_plugin
from dshloop.plugins.headless_driver import PROVIDERS
from dshloop.plugins.loop_dock import SERVICE, SESSIONS, SETTINGS
from dshloop.plugins.memory_place import SERVICE as MEMORY
from dshloop.runs.docks.profile_loops import ProfileLoops
from dshloop.runs.engines import engine_row, engine_settings
from dshloop.runs.memory import memory_place
from dshloop.runs.profile import ProfileRows
from dshloop.runs.stored import StoredSessions
from dshloop.runs.teams.service import AgentTeams
from dshloop.sessions.attachments import AttachmentStore

if TYPE_CHECKING:
    from dshloop.drivers.script import Script
    from dshloop.drivers.settings import EngineSettings
    from dshloop.llm.providers import Providers
    from dshloop.runs.talking.approving import Ask, Asking


class Process(NamedTuple):
    """What runs; `stop` ends the agents first, then the rows in reverse."""

    host: Host
    tree: Tree
    dock: Dock
    presets: HostPresets
    loops: ProfileLoops
    attachments: AttachmentStore
    notices: tuple[str, ...] = ()

    @property
    def providers(self) -> Providers | None:
        """The model providers that are set up. Raises CONFIG_INVALID."""
        source = self.host.service(PROVIDERS)
        return None if source is None else source()

    def follow(self, script: Script) -> None:
        """Have the fake driver say what a script says; a resumed session goes on in it."""
        from dshloop.drivers.scripted import ScriptedAdapter

        self.host.adapters[FAKE_PROVIDER] = ScriptedAdapter(script, earlier=self.earlier)

    def earlier(self, session_id: str) -> int:
        """Count the requests that a session had made before this process."""
        from dshloop.drivers.scripted import requests_in

        session = self.host.agents[session_id].session
        return requests_in(session.events[: session.stored])

    async def stop(self) -> None:
        """End everything. May be called twice."""
        await self.host.stop()
        await self.tree.stop()


async def start_process(
    places: Places,
    sessions: StoredSessions,
    rows: ProfileRows,
    *,
    providers: Callable[[], Providers] | None = None,
    on_warning: Callable[[str], object] | None = None,
    engines: EngineSettings | None = None,
    ask: Ask | Asking | None = None,
    variables: Mapping[str, str] | None = None,
) -> Process:
    """Run the rows of a profile; the agents of the dock's config are `runs.agents`'.

    ``ask`` is who allows calls; without it nobody does. ``variables`` stand for the environment's.
    Raises what starting a row raises (ROW_FAILED, ROW_CONFIG_INVALID, INVALID_CONFIG …), and
    AGENT_FACTORY_MISSING when no dock runs in the end.
    """
    host = Host(sessions, on_warning=on_warning, configured_agents=False)
    host.presets = presets = HostPresets(host, places.dsh_home, find_plugin)
    host.provide(PRESETS, presets)
    host.provide(SESSIONS, sessions)
    if providers is not None:
        host.provide(PROVIDERS, providers)
    if engines is None:
        row = engine_row(rows.dock_rows)
        engines = engine_settings(places, variables=variables, row=row)
    host.provide(ENGINES, engines)
    if ask is not None:
        from dshloop.runs.talking.approving import PersonAsked

        host.provide(APPROVAL, PersonAsked.by(ask))
    attachments = AttachmentStore(places.data / "attachments")
    host.provide(ATTACHMENTS, attachments)
    found = os.environ if variables is None else variables
    host.provide(MEMORY, memory_place(places, sessions.clock, found))
    host.provide(SETTINGS, DshSettings(places, command=sessions.command))
    teams = AgentTeams(sessions, rows)
    host.provide(TEAMS, teams)
    tree = Tree(host, rows.rows, find_plugin)
    await tree.start()
    try:
        dock = _dock(host, tree)
        loops = ProfileLoops(dock, rows.file, presets)
        loops.register()
    except BaseException:
        await tree.stop()
        raise
    notices = (*rows.notices, *_foreign(tree, rows.profile))
    process = Process(host, tree, dock, presets, loops, attachments, notices)
    teams.attach(process)
    return process


def _dock(host: Host, tree: Tree) -> Dock:
    dock: Dock | None = host.service(SERVICE)
    if dock is None:
        waiting = "; ".join(f"{each.row.name} {each.reason}" for each in tree.of_state("waiting"))
        raise AgentFactoryMissingError(f"no dock runs: {waiting or 'no row is dsh-loop-dock'}")
    return dock


def _foreign(tree: Tree, profile: str | None) -> list[str]:
    """Say which rows of a profile don't run here."""
    said = [f'row "{each.row.id}" {each.reason}' for each in tree.of_state("waiting")]
    count = len(tree.of_state("foreign"))
    if count and profile is not None:
        which = "1 row" if count == 1 else f"{count} rows"
        verb = "runs" if count == 1 else "run"
        said.append(f"{which} of profile {profile} {verb} only in dsh (dshloop profile row list)")
    return said
