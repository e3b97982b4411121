"""Each agent of a team asks its own model; a child its parent's, where nothing else is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dshloop.loops.teaming import TOOL
from tests.fake_model import FakeModel, fake_model
from tests.running import dshloop

TEXT = [{"text": "yes"}]


def keys(model: FakeModel) -> dict[str, str]:
    return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{model.url}/v1"}


def asked(model: FakeModel) -> dict[str, str]:
    """Give the first words of each conversation that the server was asked, by its model."""
    found: dict[str, str] = {}
    for one in model.asked:
        messages: list[dict[str, Any]] = one["body"]["messages"]
        user = next(message for message in messages if message["role"] == "user")
        found[str(user["content"])] = one["body"]["model"]
    return found


def test_declared_agents_ask_their_own_models(tmp_path: Path) -> None:
    agents = [
        {"id": "a", "provider": "openai", "model": "large", "prompt": "for a"},
        {"id": "b", "provider": "openai", "model": "small", "prompt": "for b", "maxTokens": 7},
    ]
    (tmp_path / "team.yml").write_text(json.dumps({"agents": agents}))
    with fake_model(tmp_path, TEXT, TEXT) as model:
        words = ("agent", "team", "run", "team.yml", "--driver", "headless", "--json")
        ran = dshloop(*words, cwd=tmp_path, variables=keys(model))
        assert ran.code == 0, ran.err
        assert asked(model) == {"for a": "large", "for b": "small"}
        limits = [one["body"].get("max_completion_tokens", one["body"].get("max_tokens"))
                  for one in model.asked]  # fmt: skip
    assert 7 in limits
    texts = [line["text"] for line in ran.lines if line["type"] == "agent-end"]
    assert texts == ["yes", "yes"]


def test_a_child_asks_the_model_that_its_parent_asked_last(tmp_path: Path) -> None:
    team = [
        {"name": "same", "prompt": "for same"},
        {"name": "other", "prompt": "for other", "model": "small"},
        {"name": "whole", "prompt": "for whole", "model": "openai/tiny"},
    ]
    call = [{"tool": TOOL, "input": {"agents": team}}]
    with fake_model(tmp_path, call, *[TEXT] * 4) as model:
        words = ("session", "run", "go", "--loop", "boss", "--model", "openai/large", "--json")
        ran = dshloop(*words, variables=keys(model))
        assert ran.code == 0, ran.err
        assert asked(model) == {
            "go": "large",
            "for same": "large",
            "for other": "small",
            "for whole": "tiny",
        }
