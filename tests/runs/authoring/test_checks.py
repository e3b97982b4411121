"""Each check finds what it is for, says what and what to do, and lets good loops pass."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import LoopKitError, UsageError
from dshloop.loops.standard import standard_loop
from dshloop.loops.strategy import Strategy
from dshloop.loops.strategy_setup import strategy_as_loop
from dshloop.runs.authoring.checks import CHECKS
from dshloop.runs.authoring.kit import LoopKit
from dshloop.runs.authoring.subjects import subject_of
from dshloop.runs.authoring.trying import check_loop, try_loops
from tests.runs.authoring.bad_loops import (
    WRONG,
    BlocksInSetup,
    CantBeMade,
    HangsInSetup,
)
from tests.test_documents import FILE, ROOT


@pytest.fixture(autouse=True)
def no_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSHLOOP_TEST_LOOP", "before")


@pytest.mark.parametrize(
    ("loop", "check", "said"),
    [pytest.param(*wrong, id=f"{wrong[1]}-{wrong[0].__name__}") for wrong in WRONG],
)
def test_a_check_finds_what_is_wrong(loop: type, check: str, said: str) -> None:
    report = check_loop(subject_of(loop), only=(check,))
    (found,) = report.failed
    assert found.name == check
    assert said in (found.said or "")
    assert found.fix
    with pytest.raises(LoopKitError, match="fails 1 check"):
        report.require_passed()


@pytest.mark.parametrize("loop", [HangsInSetup, BlocksInSetup])
def test_a_loop_that_never_ends_is_given_up(loop: type) -> None:
    report = check_loop(subject_of(loop), patience=0.3)
    first = report.failed[0]
    if loop is HangsInSetup:
        assert "waits for something that doesn't come" in (first.said or "")
    else:
        assert "holds the whole program up" in (first.said or "")
        outcomes = {check.outcome for check in report.checks[2:]}
        assert outcomes == {"skipped"}
    assert first.name == "session"


def test_of_a_loop_that_cant_be_loaded_only_what_was_asked_for_is_told() -> None:
    report = check_loop(subject_of(CantBeMade), only=("session",))
    assert [check.name for check in report.checks] == ["registers", "session"]


@pytest.mark.parametrize("only", ["hook", ("session", "speed")])
def test_a_check_that_there_is_none_of_never_passes(
    dshloop_loop_kit: LoopKit, only: str | tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, match="there is no check"):
        dshloop_loop_kit.check(standard_loop(), only=only)
    assert dshloop_loop_kit.check(standard_loop(), only="session").checks[0].name == "session"


def test_a_session_without_a_prompt_is_refused(dshloop_loop_kit: LoopKit) -> None:
    with pytest.raises(UsageError, match="needs a prompt"):
        dshloop_loop_kit.run(standard_loop())


def passed(loop: Any) -> list[tuple[str, str | None]]:
    report = check_loop(subject_of(loop))
    assert [check.name for check in report.checks] == [check.name for check in CHECKS]
    return [(check.name, check.said) for check in report.failed]


def test_a_strategy_of_data_passes() -> None:
    prompt = {"id": "plain", "deny": ("kit_echo",), "effort": "low"}
    assert passed(strategy_as_loop(Strategy(**prompt, provider="p", model="m"))) == []


def test_a_file_of_strategies_is_tried_with_presets_and_teams(tmp_path: Path) -> None:
    (tmp_path / "loops.yml").write_text(
        "loops:\n"
        "  led: {team: true, presets: [minimal], prompt: Lead., budget: {steps: 3}}\n"
        "  odd: {hooks: {agent/requst: 'builtins:print'}}\n"
    )
    led, odd = try_loops("loops.yml", tmp_path).loops
    assert [(check.name, check.said) for check in led.failed] == []
    assert led.target.endswith("loops.yml:2")
    assert "agent/requst" in str(odd.failed[0].said)


def test_a_loop_that_rejects_steps_passes() -> None:
    async def few(event: Any, following: Any) -> Any:
        return {"kind": "reject"} if event["step"] > 1 else await following()

    async def setup(agent: Any) -> None:
        agent.hooks.on("agent/pre-step", few)

    assert passed({"id": "few", "kind": "strategy", "setup": setup}) == []


def test_a_setup_that_commits_and_undoes_passes() -> None:
    def setup(agent: Any) -> Any:
        os.environ["DSHLOOP_TEST_LOOP"] = agent.id
        agent.undo(lambda: os.environ.update(DSHLOOP_TEST_LOOP="before"))
        yield
        assert agent.prompt is not None

    assert passed({"id": "committing", "kind": "strategy", "setup": setup}) == []


@pytest.mark.parametrize(
    ("page", "package"),
    [
        ("loop-provider-spec.md", "counting"),
        ("loop-provider-spec.md", "shouting"),
        ("default-driver.md", "parrot"),  # an engine that shares nothing with ours but the agent
    ],
)
def test_the_loops_and_drivers_of_our_pages_pass(tmp_path: Path, page: str, package: str) -> None:
    for match in FILE.finditer((ROOT / "docs" / page).read_text(encoding="utf-8")):
        file = tmp_path / match["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(match["body"], encoding="utf-8")
    report = try_loops(f"./{package}", tmp_path)
    assert [check.said for one in report.loops for check in one.failed] == []
    assert [one.loop for one in report.loops] == [package]
