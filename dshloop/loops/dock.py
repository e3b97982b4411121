"""The dock: it keeps loops and drivers, decides, records, and lets a driver make the agent.

It sits where a harness asks for agents, and has no loop of its own. Every message, order and
precedence is loop-dock's, with the better behaviour of its section 18.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from dshloop.errors import DshloopError, FailedError, SessionUnreadableError
from dshloop.host.calling import call
from dshloop.loops.binding import Recorded, read_log
from dshloop.loops.config import read_dock_config
from dshloop.loops.contract import require_handle, require_options
from dshloop.loops.harness import (
    AgentService,
    Presets,
    RequestHooks,
    Settings,
    StoredSessions,
    awaited,
)
from dshloop.loops.names import ABSENT, is_object
from dshloop.loops.recording import record_binding
from dshloop.loops.registry import (
    DEFAULT_DRIVER,
    Disposer,
    Driver,
    DriverRegistry,
    Loop,
    LoopRegistry,
)
from dshloop.loops.resolution import Resolved, resolve
from dshloop.loops.route_following import EVENT as REQUEST
from dshloop.loops.route_following import RouteFollower, lay_pin, listener
from dshloop.loops.selection import Origin, Selection, select_create, select_resume
from dshloop.loops.settings_default import chosen_driver
from dshloop.loops.setups import compose_setups
from dshloop.loops.wrapping import wrap_strategy

if TYPE_CHECKING:
    from dshloop.loops.waiting import WaitingAgents

Verb = Literal["create", "resume"]
_PREFIX = "dsh-loop-dock: "


class Dock:
    """Makes agents on the loop and driver that the config, the routes and the caller ask for."""

    def __init__(
        self,
        config: object = ABSENT,
        *,
        settings: Settings | None = None,
        sessions: StoredSessions | None = None,
        presets: Presets | None = None,
        hooks: RequestHooks | None = None,
        agents: AgentService | None = None,
        on_warning: Callable[[str], object] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Build a dock on a row's config and the harness's services, as far as it has them.

        Raises INVALID_CONFIG.
        """
        self.config = read_dock_config(config)
        self.settings = settings
        self.sessions = sessions
        self.presets = presets
        self.hooks = hooks
        self.loops = LoopRegistry()
        self.drivers = DriverRegistry()
        self.warnings: list[str] = []
        self._on_warning = on_warning
        self._makers: dict[tuple[str | None, str], Any] = {}
        self._built_in: list[Loop | Driver] = []
        self._agent_service, self._clock = agents, clock
        self._agents: WaitingAgents | None = None
        self._look()

    # --- registries ----------------------------------------------------------------------------

    def register(self, loop: object, *, built_in: bool = False) -> Disposer:
        """Add a loop; see `LoopRegistry.register`. Waiting agents may start.

        One that is built in gives way to others of its id (design 4).
        """
        dispose = self.loops.register(loop)
        if built_in:
            self._built_in.append(self.loops.newest)
        self._changed()
        return self._disposer(dispose)

    def unregister(self, loop_id: object) -> bool:
        """Take a loop away; see `LoopRegistry.unregister`."""
        removed = self.loops.unregister(loop_id)
        self._makers.clear()
        return removed

    def register_driver(
        self, name: object, driver: object = ABSENT, *, built_in: bool = False
    ) -> Disposer:
        """Add a driver under a name, or as `default` when only the driver is given.

        Agents that live keep running when it is disposed of. Waiting agents may start. One that is
        built in gives way to others of its name.
        """
        if driver is ABSENT:
            name, driver = DEFAULT_DRIVER, name
        dispose = self.drivers.register(name, driver)
        if built_in:
            self._built_in.append(self.drivers.newest)
        self._changed()
        return self._disposer(dispose)

    def unregister_driver(self, name: object) -> bool:
        """Take a driver away, whoever registered it; agents that live keep running."""
        removed = self.drivers.unregister(name)
        self._makers.clear()
        return removed

    def is_built_in(self, docked: Loop | Driver) -> bool:
        """Whether a registered loop or driver gives way to others of its name."""
        return any(docked is one for one in self._built_in)

    @property
    def agents(self) -> WaitingAgents:
        """The agents that the config asks for."""
        if self._agents is None:
            from dshloop.loops.waiting import WaitingAgents

            self._agents = WaitingAgents(self, self._agent_service, self._clock)
        return self._agents

    @property
    def driver_registered(self) -> bool:
        """Whether there is a driver called `default`."""
        return self.drivers.has(DEFAULT_DRIVER)

    def settings_changed(self) -> None:
        """Look again at agents that wait: another driver may be the default now (18.4)."""
        self._look()

    def warn(self, text: str) -> None:
        """Send a warning, once for each distinct text."""
        warning = text if text.startswith(_PREFIX) else _PREFIX + text
        if warning not in self.warnings:
            self.warnings.append(warning)
            if self._on_warning is not None:
                self._on_warning(warning)

    def _changed(self) -> None:
        self._makers.clear()
        self._look()

    def _look(self) -> None:
        if self.config.agents and self._agent_service is not None:
            self.agents.look()

    def _disposer(self, dispose: Disposer) -> Disposer:
        def dispose_and_forget() -> None:
            dispose()
            self._makers.clear()

        return dispose_and_forget

    # --- selection -----------------------------------------------------------------------------

    def select_create(self, options: object) -> Selection:
        """Select for a new session, as the config's routes say."""
        config = self.config
        return select_create(
            options, config.session_loops, config.preset_loops, config.default_loop
        )

    def select_resume(self, options: object, recorded: Recorded) -> Selection:
        """Select for a stored session, whose log says `recorded`."""
        config, binding = self.config, recorded.binding
        return select_resume(
            options,
            config.session_loops,
            config.preset_loops,
            config.default_loop,
            persisted=ABSENT if binding is None else binding.as_json(),
            header_preset=recorded.preset,
        )

    def resolve(self, selection: Selection) -> Resolved:
        """Find what will run. Raises UNKNOWN_LOOP, INVALID_CONFIG and MISSING_DRIVER."""
        return resolve(selection, self.loops, self.drivers, self.default_driver)

    def default_driver(self) -> tuple[str, Origin]:
        """Name the driver for loops without one: the user's setting as it is now, or the row's."""
        try:
            chosen = chosen_driver(self.settings, self.warn)
        except Exception as fault:  # settings that can't be read keep no agent from starting
            self.warn(f"the settings can't be read, so the config's default driver counts: {fault}")
            chosen = None
        return (self.config.default_driver, "config") if chosen is None else (chosen, "settings")

    async def recorded(self, session_id: str, *, force_rebind: bool = False) -> Recorded:
        """Read what a session's log records; nothing where the harness stores no sessions.

        Raises SESSION_UNREADABLE, unless forced to go on, and what else our own sessions refuse:
        that there is no such session, that another process has it.
        """
        if self.sessions is None:
            return Recorded()
        try:
            return read_log(await awaited(self.sessions.inspect(session_id)))
        except Exception as error:
            if not _says_unreadable(error):
                raise
            if not force_rebind:
                raise _unreadable(session_id, error) from error
            self.warn(f'could not inspect persisted loop selection for "{session_id}": {error}')
            return Recorded()

    # --- agents --------------------------------------------------------------------------------

    async def create_agent(self, owner: Any, options: object) -> Any:
        """Make an agent with a new session; gives the driver's handle.

        ``options``: sessionId, and loop, driver, meta {agentPreset, cwd}, agentOptions, setup.
        Raises the dock's errors, and what the driver raises as it is.
        """
        asked = require_options(options, "create", "sessionId")
        return await self._make("create", owner, asked, self.select_create(asked))

    async def resume(self, owner: Any, options: object, *, force_rebind: bool = False) -> Any:
        """Make an agent that goes on with a stored session; gives the driver's handle.

        ``options``: resumeSessionId, and loop, driver, agentOptions, setup. With ``force_rebind``
        an unreadable log counts as one that records nothing.
        """
        asked = require_options(options, "resume", "resumeSessionId")
        recorded = await self.recorded(asked["resumeSessionId"], force_rebind=force_rebind)
        return await self._make("resume", owner, asked, self.select_resume(asked, recorded))

    async def _make(
        self, verb: Verb, owner: Any, options: Mapping[str, Any], selection: Selection
    ) -> Any:
        resolved = self.resolve(selection)
        maker = self._maker(resolved)
        decorated = self._decorate(options, resolved)
        make = maker.create_agent if verb == "create" else maker.resume
        return require_handle(await call(make, owner, decorated), resolved)

    def _maker(self, resolved: Resolved) -> Any:
        """Give what makes the agents: a driver loop itself, a strategy wrapped with its driver."""
        if resolved.driver is None:
            return resolved.loop
        key = (resolved.driver, resolved.loop.id)
        if key not in self._makers:
            driver: Driver | None = self.drivers.get(resolved.driver)
            self._makers[key] = wrap_strategy(resolved.loop, driver)
        return self._makers[key]

    def _decorate(self, options: Mapping[str, Any], resolved: Resolved) -> dict[str, Any]:
        """Add loop, driver, the loop's pin and the dock's setups to the caller's options."""
        given = options.get("agentOptions")
        agent_options = dict(given) if is_object(given) else {}
        chosen = resolved.binding.as_json()
        setups = (
            options.get("setup"),
            record_binding(resolved.binding, self.presets),
            self.follow_routes(agent_options, resolved.loop.pin),
        )
        return {
            **options,
            **chosen,
            "agentOptions": {**lay_pin(agent_options, resolved.loop.pin), **chosen},
            "setup": compose_setups(*setups),
        }

    def follow_routes(
        self, created_with: Mapping[str, Any], pin: Mapping[str, str] | None = None
    ) -> Callable[[Any], None] | None:
        """Make the setup that lets an agent's model route follow its preset.

        None where the harness can't say what preset an agent has. ``created_with`` are the
        caller's agentOptions, before the loop's ``pin`` was laid over them.
        """
        presets, hooks = self.presets, self.hooks
        if presets is None or hooks is None:
            return None

        def setup(agent: Any) -> None:
            follower = RouteFollower(self.loops, self.config.preset_loops, created_with, pin)
            hooks.on(agent, REQUEST, listener(follower, presets), prepend=True)

        return setup


def _says_unreadable(error: Exception) -> bool:
    """Whether a log is there and can't be read; what a harness raises counts as that."""
    ours = isinstance(error, DshloopError)
    return not ours or isinstance(error, SessionUnreadableError | FailedError)


def _unreadable(session_id: str, error: Exception) -> SessionUnreadableError:
    details = {**getattr(error, "details", {}), "session": session_id, "cause": str(error)}
    return SessionUnreadableError(
        f'the log of session "{session_id}" can\'t be read, so nobody knows what it is bound to: '
        f"{error}",
        hint=getattr(error, "hint", None) or "Mend the log first, or begin a new session.",
        **details,
    )
