"""Tools that say what a recording holds."""

from __future__ import annotations

from dshloop.drivers.playback import play_tools
from dshloop.host.tools import Tool
from dshloop.sessions.recording import Offered, Recording
from tests.host.scripted import Scripted, agent_on

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
RECORDING = Recording((), {}, ("count", "nosuch"), offered=(Offered("count", "Counts.", SCHEMA),))


def test_tools_of_a_loop_are_stood_in_for_whenever_it_offers_them() -> None:
    early, late = agent_on(Scripted([])), agent_on(Scripted([]))
    own = Tool("count", "Counts.", lambda _call: "the real one", SCHEMA)
    early.tools.register(own)
    for agent in (early, late):
        play_tools(agent, RECORDING)
    late.tools.register(own)
    for agent in (early, late):
        found = agent.tools.get("count")
        assert found is not None
        assert found is not own
        assert found.as_json() == own.as_json()


def test_what_was_neither_offered_nor_called_is_not_there() -> None:
    agent = agent_on(Scripted([]))
    agent.tools.register(Tool("other", "Does something else.", lambda _call: "done"))
    play_tools(agent, RECORDING)
    assert [tool.name for tool in agent.tools.offered] == ["count", "nosuch"]
