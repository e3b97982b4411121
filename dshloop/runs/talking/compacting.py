"""A compaction that a person asks for."""

from __future__ import annotations

from dshloop.errors import CompactionFailedError
from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent
from dshloop.host.host import Host
from dshloop.plugins.compaction.row import NAME, SERVICE, Compactions, told
from dshloop.runs.talking.branching import is_blank


async def compact(host: Host, agent: Agent, signal: AbortSignal) -> str:
    """Compact an agent's history; say in one line what came of it. Raises COMPACTION_FAILED."""
    compactions: Compactions | None = host.service(SERVICE)
    if compactions is None:
        raise CompactionFailedError(f"no row {NAME} runs in this profile")
    if is_blank(agent.session.events):
        return told(None)  # and nothing is written before anything was said
    from dshloop.plugins.compaction.compacting import CompactionFailed

    try:
        return told(await compactions.compact(agent, signal))
    except CompactionFailed as failed:
        raise CompactionFailedError(f"the history stays as it is: {failed}") from failed
