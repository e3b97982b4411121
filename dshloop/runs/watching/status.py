"""How a conversation stands, for the line below the prompt: what answers, what it has cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dshloop.drivers.fake import LOCAL_PROVIDERS
from dshloop.runs.talking.conversation import Conversation
from dshloop.terminal import one_line
from dshloop.transcripts.vocabulary import Event


@dataclass(slots=True)
class Spent:
    """Tokens of a session: what the last request took in, and what all answers gave out."""

    context: int = 0
    output: int = 0
    input: int = 0

    def see(self, events: Iterable[Event]) -> None:
        """Count events in."""
        for event in events:
            data = event["data"]
            usage = data.get("usage") if isinstance(data, Mapping) else None
            if event["type"] == "assistant/message" and isinstance(usage, Mapping):
                self._add(usage)

    def _add(self, usage: Mapping[str, Any]) -> None:
        """Counts of a usage are disjoint (dsh-sessions 5)."""
        taken = _sum(usage, "inputTokens", "cacheReadTokens", "cacheWriteTokens")
        given = _sum(usage, "outputTokens", "reasoningTokens")
        self.context = taken + given
        self.input += taken
        self.output += given


@dataclass(frozen=True, slots=True)
class Status:
    """What the next turn runs on. ``route`` is PROVIDER/MODEL, or what is known of it; ``pin`` the
    loop that pins it, ``window`` in tokens where somebody said."""

    loop: str
    driver: str | None
    preset: str | None
    route: str | None
    pin: str | None
    spent: Spent = field(default_factory=Spent)
    window: int | None = None

    def line(self) -> str:
        """Put it into one line, the more important first."""
        runs_on = f"{self.loop} on {self.driver}" if self.driver else self.loop
        pinned = f" (pinned by {self.pin})" if self.pin else ""
        parts = [runs_on, f"{self.route}{pinned}" if self.route else "", self._tokens()]
        if self.preset:
            parts.append(f"preset {self.preset}")
        return one_line(" · ".join(filter(None, parts)))

    def _tokens(self) -> str:
        spent = self.spent
        if not spent.context:
            return "no tokens yet"
        share = f" of {short(self.window)}" if self.window else ""
        return f"context {short(spent.context)}{share}, in {short(spent.input)}, out " + short(
            spent.output
        )


def _sum(usage: Mapping[str, Any], *names: str) -> int:
    counts = (usage.get(name) for name in names)
    return sum(count for count in counts if type(count) is int)


def short(count: int) -> str:
    """Write a count of tokens in at most five characters: 950, 12.3k, 1.2M."""
    if count < 1000:
        return str(count)
    if count < 999_950:
        return f"{count / 1000:.1f}".removesuffix(".0") + "k"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"


def status_of(conversation: Conversation, spent: Spent) -> Status:
    """Tell how a conversation stands before its next turn."""
    agent, bound = conversation.agent, conversation.binding
    context = agent.latest.get("request/context", {})
    preset = conversation.process.presets.composed(agent)
    pin, pinned_by = pin_of(conversation)
    if (agent.options.provider or context.get("provider")) in LOCAL_PROVIDERS:
        pin = {}  # those drivers go before any pin
    provider = pin.get("provider") or agent.options.provider or context.get("provider")
    model = pin.get("model") or agent.options.model or context.get("model")
    window = context.get("contextWindow") if context.get("model") == model else None
    return Status(
        bound.loop,
        bound.driver,
        preset,
        "/".join(str(part) for part in (provider, model) if part) or None,
        pinned_by if pin else None,
        spent,
        window if type(window) is int else None,
    )


def pin_of(conversation: Conversation) -> tuple[Mapping[str, str], str]:
    """Give the pin that lies over the next request, and the loop it is of (loop-dock 12)."""
    dock = conversation.process.dock
    preset = conversation.process.presets.composed(conversation.agent)
    route = None if preset is None else dock.config.preset_loops.get(preset)
    loop = None if route is None else dock.loops.get(route.loop)
    loop = loop or dock.loops.get(conversation.binding.loop)
    return ({}, "") if loop is None else (loop.pin, loop.id)
