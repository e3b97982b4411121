"""Recall by meaning, as the command line switches it on."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.errors import SemanticUnavailableError
from tests.cli.memory.steps import ids, memory, remember
from tests.memory.embedding.stand_in import StandIn
from tests.running import dshloop

pytest.importorskip("numpy", reason="the extra semantic (numpy) is not installed")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the choices for which a model was opened."""
    choices: list[Any] = []

    def open_embedder(choice: Any, variables: Any) -> StandIn:
        choices.append(choice)
        return StandIn()

    monkeypatch.setattr("dshloop.memory.embedding.open_embedder", open_embedder)
    return choices


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_embedder(choice: Any, variables: Any) -> StandIn:
        raise SemanticUnavailableError("there is no model")

    monkeypatch.setattr("dshloop.memory.embedding.open_embedder", open_embedder)


def test_words_alone_open_no_model(opened: list[Any]) -> None:
    id_ = remember("deploy on Fridays")
    assert ids("recall", "deploy") == [id_]
    memory("context", "--project", "p", "--query", "deploy")
    assert opened == []


def test_the_setting_switches_meaning_on_and_lexical_off(opened: list[Any]) -> None:
    dshloop("config", "set", "memory.semantic", "true")
    id_ = remember("deploy on Fridays")
    assert len(opened) == 1
    assert ids("recall", "deploy") == [id_]
    assert len(opened) == 2
    assert ids("recall", "deploy", "--lexical") == [id_]
    assert len(opened) == 2


def test_the_settings_of_the_model_are_handed_on(opened: list[Any]) -> None:
    dshloop("config", "set", "memory.embeddings.model", "some-model")
    remember("deploy on Fridays")
    memory("recall", "deploy", "--semantic")
    assert opened[0].model == "some-model"


@pytest.mark.usefixtures("no_model")
def test_a_model_that_is_missing_fails_only_what_asks_for_it() -> None:
    id_ = remember("deploy on Fridays")
    for words in (["recall", "deploy"], ["context", "--project", "p", "--query", "deploy"]):
        ran = memory(*words, "--semantic", "--json")
        assert (ran.code, ran.error["code"], ran.out) == (1, "SEMANTIC_UNAVAILABLE", "")
    dshloop("config", "set", "memory.semantic", "true")
    assert ids("recall", "deploy") == [id_]
    assert "there is no model" in memory("recall", "deploy").err
    assert memory("remember", "stored all the same").code == 0
