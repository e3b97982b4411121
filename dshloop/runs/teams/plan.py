"""Which agents run together: those of the dock row and of a file, each with its prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.drivers import FAKE, choose
from dshloop.drivers.script import Script, read_script
from dshloop.errors import (
    AgentNotFoundError,
    DshloopError,
    InvalidConfigError,
    PromptMissingError,
    TeamCapError,
    UsageError,
)
from dshloop.host.rows import HostRow
from dshloop.loops.config import read_dock_config
from dshloop.loops.names import is_object, listed
from dshloop.loops.team_file import TeamFile, read_team_file
from dshloop.loops.teaming import MOST_AGENTS
from dshloop.paths import Places
from dshloop.plugins.built_in import DOCK
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.declared import as_agent
from dshloop.runs.talking.options import RunOptions
from dshloop.runs.teams.member import Member
from dshloop.sessions.catalog import find
from dshloop.sessions.naming import uuid7
from dshloop.sessions.session import Clock

RUN_KEYS = ("prompt", "preset", "script")
"""What an entry of a team's file may say beside the dock's keys, and the file beside its agents."""


class TeamAsked(NamedTuple):
    """What was typed of a team.

    ``only`` are the agents that run, all without any; ``prompt`` is for those without one of their
    own; ``base`` is what their sessions have in common, its driver and script being for all.
    """

    base: RunOptions
    file: Path | None = None
    only: Sequence[str] = ()
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class TeamPlan:
    """The members in their order, their rows, and the scripts of some by name."""

    members: tuple[Member, ...]
    rows: ProfileRows
    scripts: Mapping[str, Script] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


class _Entry(NamedTuple):
    """An agent's entry as the dock has it, and what else its file says."""

    id: str
    entry: Mapping[str, Any]
    more: Mapping[str, str]


def plan_team(places: Places, asked: TeamAsked, clock: Clock) -> TeamPlan:
    """Put the members together; nothing is started.

    Raises UNREADABLE_FILE, INVALID_CONFIG, SCRIPT_INVALID, AGENT_NOT_FOUND, PROMPT_MISSING,
    TEAM_TOO_LARGE, and USAGE where there is no agent, or a folder that isn't there.
    """
    team = TeamFile(()) if asked.file is None else read_team_file(asked.file, RUN_KEYS)
    entries = _chosen(_merged(_declared(asked.base.rows), team), asked.only)
    prompts = _prompts(entries, asked.prompt or team.said.get("prompt"))
    rows = _with_agents(asked.base.rows, [one.entry for one in entries])
    members, scripts = [], {}
    for one in entries:
        told = {**team.said, **one.more}
        script = None if asked.base.script is not None else _script(asked.file, told.get("script"))
        options = _options(replace(asked.base, rows=rows), places, one.id, told, script, clock)
        members.append(Member(one.id, prompts[one.id], options))
        if script is not None:
            scripts[one.id] = script
    _require_apart(places, members)
    left = tuple(f"the file's {key} is for a dock row, and not used" for key in team.left_out)
    return TeamPlan(tuple(members), rows, scripts, left)


def _declared(rows: ProfileRows) -> list[dict[str, Any]]:
    """Give the entries of the dock row."""
    docks = [row for row in rows.rows if row.name == DOCK.name and row.off is None]
    return [entry.as_json() for row in docks for entry in read_dock_config(row.config).agents]


def _merged(declared: Sequence[Mapping[str, Any]], team: TeamFile) -> list[_Entry]:
    """Lay the file's entries over the profile's of the same id; raises INVALID_CONFIG."""
    for where, entries in (("the dock row", declared), ("the file", team.entries)):
        counted = Counter(entry["id"] for entry in entries)
        twice = [name for name, count in counted.items() if count > 1]
        if twice:
            raise InvalidConfigError(
                f'two agents of {where} are called "{twice[0]}", and one transcript has both',
                hint="Give each an id of its own.",
                agent=twice[0],
            )
    found: dict[str, dict[str, Any]] = {entry["id"]: dict(entry) for entry in declared}
    for entry in team.entries:
        found[entry["id"]] = {**found.get(entry["id"], {}), **entry}
    return [
        _Entry(
            name,
            {key: value for key, value in entry.items() if key not in RUN_KEYS},
            {key: entry[key] for key in RUN_KEYS if key in entry},
        )
        for name, entry in found.items()
    ]


def _chosen(entries: Sequence[_Entry], only: Sequence[str]) -> list[_Entry]:
    known = [one.id for one in entries]
    if not known:
        raise UsageError(
            "there is no agent to run: neither a FILE nor the profile has any",
            hint="Give a FILE with agents, or add some: dshloop agent add ID --profile NAME.",
        )
    for name in only:
        if name not in known:
            raise AgentNotFoundError(
                f'there is no agent "{name}" in the team (it has: {listed(known)})',
                agent=name,
                available=known,
            )
    found = [one for one in entries if not only or one.id in only]
    if len(found) > MOST_AGENTS:
        raise TeamCapError(
            f"{len(found)} agents are too many for one process, which runs {MOST_AGENTS}",
            hint="Run some of them with --agent, or split the file.",
            limit=MOST_AGENTS,
        )
    return found


def _prompts(entries: Sequence[_Entry], common: str | None) -> dict[str, str]:
    """Give each agent's prompt: its own, or the one for all."""
    found = {one.id: one.more.get("prompt") or common for one in entries}
    without = [name for name, prompt in found.items() if not prompt]
    if without:
        raise PromptMissingError(
            f"nobody says what these agents are to do: {listed(without)}",
            hint="Give an agent a prompt in the file, or all of them one with --prompt.",
            agents=without,
        )
    return {name: prompt for name, prompt in found.items() if prompt}


def _with_agents(rows: ProfileRows, entries: Sequence[Mapping[str, Any]]) -> ProfileRows:
    """Have the dock row ask for these agents, in memory."""

    def change(row: HostRow) -> HostRow:
        if row.name != DOCK.name or row.off is not None:
            return row
        config = row.config if is_object(row.config) else {}
        return replace(row, config={**config, "agents": [dict(entry) for entry in entries]})

    return replace(rows, rows=tuple(map(change, rows.rows)))


def _script(file: Path | None, name: str | None) -> Script | None:
    """Read an agent's script, which stands beside the file that names it."""
    if name is None or file is None:
        return None
    return read_script(file.parent / Path(name).expanduser())


def _options(
    base: RunOptions,
    places: Places,
    name: str,
    told: Mapping[str, str],
    script: Script | None,
    clock: Clock,
) -> RunOptions:
    """Say how a member's session is opened."""
    options = as_agent(replace(base, preset=told.get("preset")), name, places)
    if script is not None:
        driver = options.driver or FAKE
        if choose(driver).name != FAKE:
            raise UsageError(
                f'agent "{name}" has a script, which is for the fake driver and not for {driver}'
            )
        options = replace(options, driver=driver)
    if options.session_id is None and options.resume is None:
        options = replace(options, session_id=f"{name}-session-{uuid7(clock())}")
    return options


def _require_apart(places: Places, members: Sequence[Member]) -> None:
    """Refuse two agents on one session, however it is named. Raises INVALID_CONFIG."""
    owners: dict[str, str] = {}
    for member in members:
        session = _session_of(places, member.options)
        if session in owners:
            raise InvalidConfigError(
                f'agents "{owners[session]}" and "{member.name}" are to go on with one session, '
                f'"{session}"',
                hint="Give each a session of its own.",
                session=session,
            )
        owners[session] = member.name


def _session_of(places: Places, options: RunOptions) -> str:
    if options.resume is None:
        return str(options.session_id)
    try:
        return find(places, options.resume, options.cwd).id
    except DshloopError:  # that agent's fault, told when it is opened
        return options.resume
