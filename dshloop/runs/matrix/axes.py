"""The axes of a matrix in its file: loops or agents, drivers, models."""

from __future__ import annotations

from typing import Any

from dshloop.loops.fields import Fields
from dshloop.loops.loops_file import Registered
from dshloop.loops.names import is_name, is_text
from dshloop.loops.strategy import is_target, read_strategy
from dshloop.runs.matrix.design import DriverChoice, ModelChoice, Subject
from dshloop.runs.matrix.entries import Entries, each, read_needs, read_words, require_distinct

_AGENT = ("id", "loop", "preset", "driver", "model", "effort", "max_tokens", "needs")


def read_loops(whole: Fields) -> tuple[tuple[Registered, ...], tuple[Subject, ...]]:
    """Read a list of ids, or a mapping that may describe them as loops.yml does."""
    defined, names = [], []
    for entries, key, value, path in each(whole, "loops"):
        name = key if isinstance(key, str) else value
        if not is_name(name):
            entries.refuse(f"{path} must be a loop id", key)
        names.append(name)
        if isinstance(key, str) and value is not None:
            defined.append(_registered(entries, key, value, path))
    require_distinct(whole, "loops", names)
    return tuple(defined), tuple(Subject(name, name) for name in names)


def _registered(entries: Entries, name: str, value: Any, path: str) -> Registered:
    page = entries.page
    line = page.line(entries.value, name) or 1
    if is_target(value):
        return Registered(name, "loop", page.file, line, target=value)
    strategy = read_strategy(name, page.fields(entries.value, name, path))
    return Registered(name, "loop", page.file, line, strategy=strategy)


def read_agents(whole: Fields) -> tuple[Subject, ...]:
    found = []
    for entries, key, value, path in each(whole, "agents"):
        if isinstance(key, str) and value is None:
            value = key
        if is_text(value):
            found.append(Subject(value, entry=True))
            continue
        fields = entries.fields(key, path)
        fields.only(_AGENT)
        name = fields.text("id") or (key if isinstance(key, str) else None)
        if name is None:
            fields.refuse(f"{path} needs an id")
        found.append(
            Subject(
                name,
                fields.name("loop", "a loop id"),
                fields.text("preset"),
                fields.text("driver"),
                fields.text("model"),
                fields.text("effort"),
                fields.whole("max_tokens"),
                read_needs(fields),
            )
        )
    require_distinct(whole, "agents", [one.id for one in found])
    return tuple(found)


def read_drivers(whole: Fields) -> tuple[tuple[Registered, ...], tuple[DriverChoice, ...]]:
    """Read a list of names, or a mapping that may say where a driver is imported from."""
    defined, found = [], []
    for entries, key, value, path in each(whole, "drivers"):
        if isinstance(key, str) and (value is None or is_target(value)):
            if not is_name(key):
                entries.refuse(f"{path} is no driver name", key)
            found.append(DriverChoice(key, key))
            if value is not None:
                line = entries.page.line(entries.value, key) or 1
                defined.append(Registered(key, "driver", entries.page.file, line, target=value))
        elif isinstance(key, int) and is_text(value):
            found.append(DriverChoice(value, value))
        else:
            found.append(_driver(entries.fields(key, path), key))
    require_distinct(whole, "drivers", [one.id for one in found])
    return tuple(defined), tuple(found)


def _driver(fields: Fields, key: str | int) -> DriverChoice:
    fields.only(("id", "driver", "command", "needs"))
    driver = fields.text("driver")
    name = fields.text("id") or (key if isinstance(key, str) else driver)
    if name is None:
        fields.refuse(f"{fields.path} needs a driver")
    return DriverChoice(name, driver or name, read_words(fields), read_needs(fields))


def read_models(whole: Fields) -> tuple[ModelChoice, ...]:
    found = []
    for entries, key, value, path in each(whole, "models"):
        if isinstance(key, int) and is_text(value):
            found.append(ModelChoice(value, value))
            continue
        fields = entries.fields(key, path)
        fields.only(("id", "model", "effort", "max_tokens", "needs"))
        model = fields.text("model")
        name = fields.text("id") or (key if isinstance(key, str) else model)
        if name is None:
            fields.refuse(f"{path} needs a model")
        effort, most = fields.text("effort"), fields.whole("max_tokens")
        found.append(ModelChoice(name, model, effort, most, read_needs(fields)))
    require_distinct(whole, "models", [one.id for one in found])
    return tuple(found)
