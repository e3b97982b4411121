"""A team's transcript as text: whole lines, each behind the name of the agent it is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dshloop.runs.kept.show import event_text
from dshloop.runs.watching.reply import Reply
from dshloop.terminal import one_line

_SHOWN = frozenset({"tool/call", "tool/result"})


class Labelled:
    """Turns records, as `agent team run --json` has them, into lines.

    Agents talk at the same time, so that a line is given when it is whole.
    """

    def __init__(self) -> None:
        self._width = 0
        self._replies: dict[str, Reply] = {}
        self._open: dict[str, str] = {}  # what an agent has said of a line that isn't whole

    def names(self, agents: Sequence[str]) -> None:
        """Make room for the names of these agents."""
        self._width = max((self._width, *(len(one_line(name)) for name in agents)))

    def text_of(self, record: Mapping[str, Any]) -> str | None:
        """Give the lines that a record adds; None for none."""
        kind = record["type"]
        if kind == "team":
            self.names(record["agents"])
            return None
        name = record["agent"]
        label = f"{one_line(name):<{self._width}}"
        lines = "".join(f"{label} | {line}\n" for line in self._lines(record, name))
        return lines or None

    def _lines(self, record: Mapping[str, Any], name: str) -> Iterator[str]:
        if record["type"] == "agent":
            self._replies[name] = Reply()
        elif record["type"] == "event":
            yield from self._event(record["event"], name)
        elif record["type"] == "agent-end":
            yield from self._rest(name)
            if record["outcome"] != "completed":
                failure = record["failure"]
                yield (
                    f"({record['outcome']}: {failure['message']})"
                    if failure
                    else (f"({record['outcome']})")
                )

    def _event(self, event: Mapping[str, Any], name: str) -> Iterator[str]:
        said = self._replies[name].text_of(dict(event))
        if said:
            *whole, rest = (self._open.get(name, "") + said).split("\n")
            self._open[name] = rest
            yield from whole
        if event["type"] in _SHOWN:
            yield from self._rest(name)
            shown = event_text(dict(event))
            yield from (shown or "").splitlines()
        elif event["type"] == "user/message":
            yield from _prompt(event["data"])

    def _rest(self, name: str) -> Iterator[str]:
        rest = self._open.pop(name, "")
        if rest:
            yield rest


def _prompt(message: Mapping[str, Any]) -> Iterator[str]:
    """Give what an agent was told to do; what plugins add is left out."""
    source = message.get("source")
    kind = source.get("kind") if isinstance(source, Mapping) else None
    if kind in ("user", "coordinator"):
        texts = (block.get("text") for block in message["content"] if block.get("type") == "text")
        for line in "".join(str(text) for text in texts).splitlines():
            yield f"> {line}"
