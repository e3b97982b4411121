"""The dock's cases as observed on the original; where it is to do better, our own expectations."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import DshloopError, MissingDriverError, UnknownLoopError
from dshloop.loops.binding import Recorded, read_binding
from dshloop.loops.check import check_config
from dshloop.loops.config import read_dock_config
from dshloop.loops.dock import Dock
from dshloop.loops.names import ABSENT
from dshloop.loops.selection import select_create, select_resume
from dshloop.loops.settings_default import list_drivers, set_default_driver
from tests.conformance.cases import DATA, load_cases
from tests.loops.stand_ins import (
    AgentService,
    Hooks,
    Maker,
    Persistence,
    Presets,
    Settings,
    StubAgent,
    loop_of,
)

WANTED: dict[str, Any] = json.loads((DATA / "loops_wanted.json").read_text(encoding="utf-8"))
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def wanted_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a case must show; skip one that the original gets wrong and we can't foresee."""
    if "deviation" not in case:
        return dict(case["output"])
    wanted = WANTED.get(case["id"])
    if wanted is None:
        pytest.skip(f"{case['id']} shows known defect {case['deviation']}, and has no expectation")
    if "sorted_by" in wanted:
        output = case["output"]["result"]
        return {"result": [in_order(value, wanted["sorted_by"]) for value in output]}
    return dict(wanted)


def in_order(value: Any, key: str) -> Any:
    if not isinstance(value, list):
        return value
    return sorted(value, key=lambda item: item[key] if isinstance(item, dict) else item)


@pytest.mark.parametrize("case", load_cases("loops.json"))
def test_the_dock_does_as_the_original(case: dict[str, Any]) -> None:
    run = RUNNERS[case["layer"]]
    wanted = wanted_of(case)
    shown: dict[str, Any] = {}
    try:
        shown["result"] = run(case, shown)
    except Exception as error:
        if "error" not in wanted:
            raise
        shown["error"] = error
    if "error" in wanted:
        check_error(shown.get("error"), wanted["error"])
    elif "readiness" in wanted:
        assert (shown["disagreeing"], shown["unexplained"]) == ([], [])
    else:
        if case["layer"] == "route" and not wanted["result"]["listenerInstalled"]:
            wanted["result"]["prepend"] = None  # says nothing about a listener that isn't there
        assert shown["result"] == wanted["result"]
    for name in ("writes", "findings"):
        if name in wanted:
            assert shown[name] == wanted[name]
    if case["layer"] == "hub":
        assert shown["warnings"] == wanted.get("warnings", [])


def check_error(error: Any, wanted: dict[str, Any]) -> None:
    assert error is not None, wanted
    if wanted["code"] is not None:
        assert error.code == wanted["code"]
        assert type(error).__name__ == wanted.get("name", type(error).__name__)
    if "message" in wanted:
        assert str(error).split("\n")[0] == wanted["message"]


def run_resolve(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    given = case["input"]
    routes = (given["sessionRoutes"], given["presetLoops"], given["defaultLoop"])
    options = given.get("options", {})
    if case["op"] == "create":
        return select_create(options, *routes).as_json()
    return select_resume(
        options,
        *routes,
        persisted=given.get("persisted", ABSENT),
        header_preset=given.get("headerPreset", ABSENT),
    ).as_json()


def run_hub(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    given, verb, record = case["input"], case["op"], {}
    warnings: list[str] = shown.setdefault("warnings", [])
    settings = Settings(given["settings"]) if "settings" in given else None
    stored = Persistence(logs={}, log=given["persisted"]) if "persisted" in given else None
    dock = Dock(given["config"], settings=settings, sessions=stored, on_warning=warnings.append)
    events = []
    if verb == "resume" and stored is not None and "throws" not in given["persisted"]:
        events = list(given["persisted"]["events"])
    for loop in given["loops"]:
        dock.register(loop_of(loop, Maker(f"loop:{loop['id']}", record, events)))
    for name in given["drivers"]:
        dock.register_driver(name, Maker(f"driver:{name}", record, events))
    make = dock.create_agent if verb == "create" else dock.resume
    asyncio.run(make("owner", given["options"]))
    return record


def run_registry(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    dock = Dock()
    return [run_step(dock, step) for step in case["input"]]


def run_step(dock: Dock, step: dict[str, Any]) -> Any:
    name, value = next(item for item in step.items() if item[0] != "driver")
    if name == "register":
        dock.register(functions_in(value))
        return "ok"
    if name == "registerDriver":
        driver = functions_in(step["driver"]) if "driver" in step else Maker("d", {}, [])
        dock.register_driver(driver) if value == "$default" else dock.register_driver(value, driver)
        return "ok"
    steps: dict[str, Callable[[], Any]] = {
        "unregister": lambda: dock.unregister(value),
        "has": lambda: dock.loops.has(value),
        "require": lambda: dock.loops.require(value).summary(),
        "list": lambda: [loop.summary() for loop in dock.loops.in_order()],
        "listDrivers": lambda: dock.drivers.names,
        "hasDriver": lambda: dock.drivers.has(value),
    }
    return steps[name]()


def functions_in(value: Any) -> Any:
    """Put a function wherever a case says true in the place of one."""
    if not isinstance(value, dict):
        return value
    makers = ("setup", "createAgent", "resume")
    return {k: (print if k in makers and v is True else v) for k, v in value.items()}


def run_config(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    raw = case["input"]
    if raw == {"$undefined": True}:
        raw = ABSENT
    shown["findings"] = [finding.code for finding in check_config(raw)]
    return read_dock_config(raw).as_json()


def run_binding(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    found = read_binding(case["input"])
    return None if found is None else found.as_json()


def run_route(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    given, hooks = case["input"], Hooks()
    presets = (
        None if given.get("presetsService") is False else Presets(given.get("effectivePreset"))
    )
    dock = Dock(given["config"], presets=presets, hooks=hooks)
    for loop in given["loops"]:
        dock.register(loop_of(loop))
    agent = StubAgent([], None)
    setup = dock.follow_routes(given.get("agentOptionsAtCreation", {}))
    if setup is not None:
        setup(agent)
    return {
        "listenerInstalled": bool(hooks.listeners),
        "prepend": all(prepend for _, prepend in hooks.listeners) if hooks.listeners else None,
        "resolved": asyncio.run(hooks.request(agent, given["inner"])),
    }


def run_agents(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    return asyncio.run(_run_agents(case["input"], shown))


async def _run_agents(given: dict[str, Any], shown: dict[str, Any]) -> Any:
    warnings: list[str] = []
    service = None if given.get("noAgentsService") else AgentService(given.get("agentsFail"))
    ids = given.get("persistedIds")
    dock = Dock(
        given["config"],
        settings=Settings(given["settings"]) if "settings" in given else None,
        sessions=None if ids is None else Persistence(ids=ids),
        agents=service,
        on_warning=warnings.append,
    )
    for loop in given.get("loops", []):
        dock.register(loop_of(loop))
    for name in given.get("drivers", []):
        dock.register_driver(name, Maker(name, {}, []))
    await dock.agents.settle()
    calls = [] if service is None else service.calls
    shown["disagreeing"] = [
        options for verb, options in calls if not startable(dock, verb, options)
    ]
    shown["unexplained"] = [agent for agent in dock.agents.waiting if agent.missing is None]
    return {
        "calls": json.loads(UUID.sub("<uuid>", json.dumps(calls))),
        "warnings": warnings,
        "stillPending": [agent.entry.id for agent in dock.agents.waiting],
    }


def startable(dock: Dock, verb: str, options: Any) -> bool:
    """Whether the real selection finds what a start needs; other faults are the start's own."""
    try:
        select = dock.select_create if verb == "create" else by_log(dock)
        dock.resolve(select(options))
    except (UnknownLoopError, MissingDriverError):
        return False
    except DshloopError:
        return True
    return True


def by_log(dock: Dock) -> Callable[[Any], Any]:
    return lambda options: dock.select_resume(options, Recorded())


def run_remote(case: dict[str, Any], shown: dict[str, Any]) -> Any:
    given = case["input"]
    settings = Settings(given.get("settings"))
    shown["writes"] = settings.writes
    dock = Dock(settings=None if given.get("settingsService") is False else settings)
    for name in given["drivers"]:
        dock.register_driver(name, Maker(name, {}, []))
    if given["call"] == "listDrivers":
        return asyncio.run(list_drivers(dock))
    return asyncio.run(set_default_driver(dock, given.get("driver", ABSENT)))


RUNNERS = {
    "resolve": run_resolve,
    "hub": run_hub,
    "registry": run_registry,
    "config": run_config,
    "binding": run_binding,
    "route": run_route,
    "agents": run_agents,
    "remote": run_remote,
}


def test_every_expectation_of_ours_has_a_reason() -> None:
    path = Path(DATA / "loops.json")
    cases = {case["id"]: case for case in json.loads(path.read_text(encoding="utf-8"))["cases"]}
    for name in WANTED:
        assert name not in cases or cases[name]["deviation"]
