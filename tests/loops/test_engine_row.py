"""The row that brings engines: what it reads, registers and takes away."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.errors import DuplicateDriverError, InvalidConfigError
from dshloop.loops.dock import Dock
from dshloop.loops.engine_row import EngineConfig, dock_engines, read_engine_config
from tests.loops.stand_ins import Maker


def made(name: str, seen: list[EngineConfig]) -> Any:
    def make(config: EngineConfig) -> Maker:
        seen.append(config)
        return Maker(name, {})

    return make


def test_the_engine_alone_gets_the_rows_parallelism() -> None:
    """Original 10."""
    dock, seen = Dock(), []
    config = read_engine_config({"maxParallelToolCalls": 7})
    dock_engines(dock, config, made("engine", seen), made("fake", seen))
    assert dock.drivers.names == ["default"]
    assert [one.max_parallel_tool_calls for one in seen] == [7]


def test_the_fake_driver_comes_after_the_engine_and_both_go() -> None:
    """Original 11."""
    dock, seen = Dock(), []
    dispose = dock_engines(
        dock, read_engine_config({"fakeDriver": True}), made("engine", seen), made("fake", seen)
    )
    assert dock.drivers.names == ["default", "fake-driver"]
    dispose()
    dispose()
    assert dock.drivers.names == []


@pytest.mark.parametrize("value", [False, 1, "true", None])
def test_only_a_literal_true_brings_the_fake_driver(value: Any) -> None:
    assert not read_engine_config({"fakeDriver": value}).fake_driver


@pytest.mark.parametrize("value", [0, -1, 1.5, "8", None, True])
def test_parallelism_is_a_positive_integer(value: Any) -> None:
    with pytest.raises(InvalidConfigError, match="maxParallelToolCalls must be a positive"):
        read_engine_config({"maxParallelToolCalls": value})
    with pytest.raises(InvalidConfigError):
        read_engine_config([])
    assert read_engine_config(None) == EngineConfig(10, False)


def test_a_fake_driver_that_is_there_already_leaves_no_engine_behind() -> None:
    dock, seen = Dock(), []
    dock.register_driver("fake-driver", Maker("mine", {}))
    config = EngineConfig(fake_driver=True)
    with pytest.raises(DuplicateDriverError):
        dock_engines(dock, config, made("engine", seen), made("fake", seen))
    assert dock.drivers.names == ["fake-driver"]
