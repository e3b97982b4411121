"""Loops and a driver that every test of teams finds like those of an installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

LOOPS = """\
import asyncio
from dshloop.host.engine import Engine
from dshloop.llm.messages import plain_text, text_block
from dshloop.loops.hosted import HostedDriver
from dshloop.loops.teaming import TeamLimits, offer_team


class Boss:
    kind = "strategy"
    label = "Boss"

    async def setup(self, agent):
        offer_team(agent, TeamLimits(agents=3))


class Deep:
    kind = "strategy"

    async def setup(self, agent):
        offer_team(agent, TeamLimits(agents=2, depth=2))


class Own:
    kind = "strategy"
    driver = "saying"

    async def setup(self, agent):
        agent.prompt.section("own", "Be yourself.")


class Cancelled:
    kind = "strategy"

    async def setup(self, agent):
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task


class Torn:
    kind = "strategy"

    async def setup(self, agent):
        async def send(session):
            raise BrokenPipeError("the collector has gone")

        agent.hooks.on("session/flush", send)


class Slow:
    provider = "saying"

    async def stream(self, request):
        text = plain_text(request.messages[-1]["content"])
        yield {"type": "block-start", "index": 0, "blockType": "text"}
        for word in text.split(" "):
            await asyncio.sleep(60 if word == "wait" else 0)
            while word == "insist":
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    pass
            yield {"type": "text-delta", "index": 0, "text": f"{word} "}
        yield {"type": "block-end", "index": 0, "block": text_block(f"you said {text}")}
        yield {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 1}}
        yield {"type": "finish", "reason": {"kind": "stop"}}


class Saying:
    def __init__(self):
        self.engine = HostedDriver(Engine())

    async def create_agent(self, owner, options):
        return await self.engine.create_agent(owner, self.routed(owner, options))

    async def resume(self, owner, options):
        return await self.engine.resume(owner, self.routed(owner, options))

    def routed(self, owner, options):
        owner.adapters.setdefault("saying", Slow())
        asked = {**options["agentOptions"], "provider": "saying", "model": "slow"}
        return {**options, "agentOptions": asked}


class Late(Saying):
    # makes its agent though it was told to stop, and can't end it
    async def create_agent(self, owner, options):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
        made = await super().create_agent(owner, options)
        return {"agent": made.agent, "dispose": self.end}

    def end(self):
        raise RuntimeError("it goes on")
"""
POINTS = """\
[dshloop.loops]
boss = team_test_loops:Boss
deep = team_test_loops:Deep
own = team_test_loops:Own
cancelled = team_test_loops:Cancelled
torn = team_test_loops:Torn
[dshloop.drivers]
saying = team_test_loops:Saying
late = team_test_loops:Late
"""


@pytest.fixture(autouse=True)
def loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Loops and a driver, as of an installed package."""
    site = tmp_path / "site"
    info = site / "team_pack-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "team_test_loops.py").write_text(LOOPS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: team-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    sys.modules.pop("team_test_loops", None)
    return site
