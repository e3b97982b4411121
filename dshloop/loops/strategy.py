"""Strategies as data: what an entry of loops.yml may say, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dshloop.loops.fields import Fields
from dshloop.loops.teaming import MOST_AGENTS, MOST_DEPTH, TeamLimits

KEYS = (
    "label",
    "description",
    "prompt",
    "tools",
    "provider",
    "model",
    "effort",
    "driver",
    "presets",
    "hooks",
    "budget",
    "team",
)
_TARGET = "an import path MODULE:OBJECT"


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of the system prompt; lower orders come first."""

    name: str
    text: str
    order: float = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """What one turn may use; None is no limit."""

    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the limits there are."""
        limits = {"steps": self.steps, "tokens": self.tokens, "seconds": self.seconds}
        return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy loop without code. ``allow`` None hides no tool; ``hooks`` are event, target.

    With a ``team`` its agents may start teams.
    """

    id: str
    label: str | None = None
    description: str | None = None
    prompt: tuple[PromptSection, ...] = ()
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    driver: str | None = None
    presets: tuple[str, ...] = ()
    hooks: tuple[tuple[str, str], ...] = ()
    budget: Budget = Budget()
    team: TeamLimits | None = None

    def as_json(self) -> dict[str, Any]:
        """Give what it does, as `loop show --json` prints it."""
        tools = {"allow": self.allow and list(self.allow), "deny": list(self.deny)}
        found: Mapping[str, Any] = {
            "prompt": [
                {"name": part.name, "order": part.order, "text": part.text} for part in self.prompt
            ],
            "tools": {name: names for name, names in tools.items() if names},
            "effort": self.effort,
            "presets": list(self.presets),
            "hooks": [{"event": event, "target": target} for event, target in self.hooks],
            "budget": self.budget.as_json(),
            "team": self.team and self.team.as_json(),
        }
        return {key: value for key, value in found.items() if value}


def read_strategy(loop_id: str, fields: Fields) -> Strategy:
    """Check an entry of ``loops``; raises the page's error for the first thing that is wrong."""
    fields.only(KEYS)
    allow, deny = _tools(fields)
    return Strategy(
        id=loop_id,
        label=fields.text("label"),
        description=fields.text("description"),
        prompt=_prompt(fields),
        allow=allow,
        deny=deny,
        provider=fields.text("provider"),
        model=fields.text("model"),
        effort=fields.text("effort"),
        driver=fields.name("driver", "a driver name"),
        presets=fields.texts("presets") or (),
        hooks=_hooks(fields),
        budget=_budget(fields),
        team=_team(fields),
    )


def is_target(value: object) -> bool:
    """Whether a value has the form MODULE:OBJECT."""
    module, colon, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    parts = [*module.split("."), *name.split(".")]
    return bool(colon) and all(part.isidentifier() for part in parts)


def _prompt(fields: Fields) -> tuple[PromptSection, ...]:
    """Read sections: one text, or a list of texts and of {name?, order?, text}."""
    given = fields.value.get("prompt")
    if isinstance(given, str) and given:
        return (PromptSection(fields.path.rpartition(".")[2], given),)
    items = fields.items("prompt", "a non-empty string, or a list of them and of sections") or ()
    return tuple(_section(fields, index, item) for index, item in enumerate(items))


def _section(fields: Fields, index: int, item: object) -> PromptSection:
    name = f"{fields.path.rpartition('.')[2]}-{index + 1}"
    if isinstance(item, str) and item:
        return PromptSection(name, item)
    sections = fields.value["prompt"]
    inner = fields.page.fields(sections, index, f"{fields.at('prompt')}[{index}]")
    inner.only(("name", "order", "text"))
    text = inner.text("text")
    if text is None:
        inner.refuse(f"{inner.path} needs a text")
    return PromptSection(inner.text("name") or name, text, inner.number("order", None) or 0)


def _tools(fields: Fields) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    tools = fields.inner("tools")
    if tools is None:
        return None, ()
    tools.only(("allow", "deny"))
    allow, deny = tools.texts("allow"), tools.texts("deny") or ()
    for name in deny:
        if name in (allow or ()):
            tools.refuse(f"{tools.path} both allows and denies {name}", "deny")
    return allow, deny


def _hooks(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Read listeners: a mapping of events to one import path or a list of them."""
    hooks = fields.inner("hooks")
    if hooks is None:
        return ()
    found = []
    for event in hooks.value:
        targets = hooks.texts(event) or ()
        for target in targets:
            if not is_target(target):
                hooks.refuse(f"{hooks.at(event)} must be {_TARGET}, or a list of them", event)
        found += [(event, target) for target in targets]
    return tuple(found)


def _budget(fields: Fields) -> Budget:
    budget = fields.inner("budget")
    if budget is None:
        return Budget()
    budget.only(("steps", "tokens", "seconds"))
    seconds = budget.number("seconds")
    if seconds == 0:
        budget.refuse(f"{budget.at('seconds')} must be more than 0", "seconds")
    return Budget(budget.whole("steps"), budget.whole("tokens"), seconds)


def _team(fields: Fields) -> TeamLimits | None:
    """Read ``true``, or a mapping of limits."""
    given = fields.value.get("team", False)
    if isinstance(given, bool):
        return TeamLimits() if given else None
    team = fields.inner("team")
    assert team is not None
    team.only(("agents", "depth"))
    usual = TeamLimits()
    return TeamLimits(
        _capped(team, "agents", MOST_AGENTS) or usual.agents,
        _capped(team, "depth", MOST_DEPTH) or usual.depth,
    )


def _capped(fields: Fields, key: str, most: int) -> int | None:
    found: int | None = fields.get(
        key,
        lambda value: type(value) is int and 1 <= value <= most,
        f"a whole number from 1 to {most}",
    )
    return found
