"""Registries, config and selection beyond the cases; and that they stay cheap to import."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dshloop.loops
from dshloop.errors import (
    DshloopError,
    InvalidLoopDefinitionError,
    InvalidLoopIdError,
    LoopSwitchError,
)
from dshloop.loops.config import DockConfig, read_dock_config
from dshloop.loops.names import ABSENT, is_name, quoted, require_loop_id
from dshloop.loops.registry import DriverRegistry, LoopRegistry, read_loop
from dshloop.loops.selection import Route, Selection, select_create, select_resume
from tests.loops.stand_ins import Maker

PURE = ("registry", "config", "selection", "binding", "names", "javascript")
NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,5}", fullmatch=True)


@pytest.mark.parametrize("name", PURE)
def test_the_pure_modules_import_the_standard_library_and_errors_only(name: str) -> None:
    source = Path(dshloop.loops.__path__[0], f"{name}.py").read_text(encoding="utf-8")
    allowed = {"dshloop.errors", *(f"dshloop.loops.{pure}" for pure in PURE)}
    for node in ast.walk(ast.parse(source)):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in names:
            known = str(module).split(".")[0] in sys.stdlib_module_names
            assert module in allowed or (known and module != "asyncio"), module


@pytest.mark.parametrize("good", ["a", "0", "a.b", "a_b", "a-b", "a..", "9z-_."])
def test_good_names(good: str) -> None:
    assert is_name(good)


@pytest.mark.parametrize("bad", ["", "A", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", 7, None])
def test_bad_names(bad: Any) -> None:
    with pytest.raises(InvalidLoopIdError, match="expected a non-empty string matching"):
        require_loop_id(bad)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ABSENT, "undefined"),
        (None, "null"),
        ("a\n", '"a\\n"'),
        (7.0, "7"),
        (True, "true"),
        ("ä",) * 2,
    ],
)
def test_values_in_messages_are_json(value: Any, text: str) -> None:
    assert quoted(value) == (f'"{text}"' if value == "ä" else text)


def test_a_value_that_is_no_json_is_still_shown() -> None:
    assert "object" in quoted(object())
    assert quoted("\ud800") == '"\\ud800"'


class ObjectLoop:
    """A loop as a class of its own, with Python names."""

    id = "own"
    kind = "driver"
    label = 5
    model = "m"

    async def create_agent(self, owner: Any, options: Any) -> Any:
        return None

    async def resume(self, owner: Any, options: Any) -> Any:
        return None


def test_any_object_with_the_fields_is_a_loop() -> None:
    loop = read_loop(ObjectLoop())
    assert loop.summary() == {"id": "own", "kind": "driver", "label": "5"}
    assert loop.pin == {"model": "m"}
    assert read_loop(loop) is loop


def test_what_a_loop_brings_beyond_its_fields_is_kept_in_a_copy() -> None:
    given = {"id": "a", "kind": "strategy", "setup": print, "mine": [1], "driver": "d"}
    loop = read_loop(given)
    given["mine"] = []
    assert loop.extra == {"mine": [1]}
    assert loop.driver == "d"


def test_the_driver_of_a_driver_loop_is_not_looked_at() -> None:
    makers = {"createAgent": print, "resume": print}
    assert read_loop({"id": "a", "kind": "driver", "driver": 7, **makers}).driver is None


@pytest.mark.parametrize("field", ["provider", "model", "driver"])
def test_null_is_no_pin_and_no_driver(field: str) -> None:
    with pytest.raises(InvalidLoopDefinitionError):
        read_loop({"id": "a", "kind": "strategy", "setup": print, field: None})


def test_an_old_disposer_leaves_a_new_registration_alone() -> None:
    loops, drivers = LoopRegistry(), DriverRegistry()
    loop = {"id": "a", "kind": "strategy", "setup": print}
    old_loop, old_driver = loops.register(loop), drivers.register("d", Maker("1", {}))
    old_loop()
    old_driver()
    loops.register(loop)
    drivers.register("d", Maker("2", {}))
    old_loop()
    old_driver()
    assert loops.has("a")
    assert drivers.has("d")


@given(st.dictionaries(NAMES, st.tuples(NAMES, st.none() | NAMES), max_size=4), NAMES)
def test_a_normalised_config_reads_as_itself(routes: Any, name: str) -> None:
    written = {key: Route(*route).as_json() for key, route in routes.items()}
    raw = {"defaultLoop": name, "presetLoops": written, "agents": [{"id": name, "maxTokens": 8.0}]}
    config = read_dock_config(raw)
    assert read_dock_config(config.as_json()) == DockConfig(
        config.default_loop,
        config.default_driver,
        config.preset_loops,
        config.session_loops,
        config.ping_reply,
        config.agents,
        "default",
    )


JUNK = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.lists(st.none())
RAW = st.recursive(
    JUNK,
    lambda inner: st.dictionaries(st.sampled_from(["loop", "driver", "s"]), inner),
    max_leaves=6,
)
OPTIONS = st.dictionaries(
    st.sampled_from(["loop", "driver", "sessionId", "resumeSessionId", "meta", "agentOptions"]), RAW
)


def ours(call: Callable[[], Selection]) -> Selection | DshloopError:
    """Give what comes out of a selection; an exception that isn't ours goes through."""
    try:
        return call()
    except DshloopError as error:
        return error


@given(OPTIONS | JUNK, RAW, RAW, RAW, RAW)
def test_whatever_comes_gives_a_selection_or_an_error_of_ours(
    options: Any, routes: Any, presets: Any, persisted: Any, header: Any
) -> None:
    stored = {"persisted": persisted, "header_preset": header}
    for found in (
        ours(lambda: select_create(options, routes, presets, "d")),
        ours(lambda: select_resume(options, routes, presets, "d", **stored)),
    ):
        if isinstance(found, Selection):
            assert is_name(found.loop)
            assert found.driver is None or is_name(found.driver)


@given(NAMES, st.none() | NAMES, st.none() | NAMES, st.none() | NAMES)
def test_a_resume_never_leaves_what_is_stored(
    loop: str, driver: str | None, asked_loop: str | None, asked_driver: str | None
) -> None:
    stored = {"loop": loop, **({"driver": driver} if driver else {})}
    options = {"resumeSessionId": "s", "loop": asked_loop, "driver": asked_driver}
    found = ours(lambda: select_resume(options, {}, {}, "d", persisted=stored))
    if asked_loop in (None, loop) and (driver is None or asked_driver in (None, driver)):
        assert isinstance(found, Selection)
        assert (found.loop, found.driver) == (loop, driver or asked_driver)
    else:
        assert isinstance(found, LoopSwitchError)
        assert found.details["stored"] == stored[found.details["field"]]
