"""The commands of a conversation: the table of them, and what a line means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dshloop.cli.repl import branches, giving, looks, offers
from dshloop.cli.repl.keys import KEYS
from dshloop.errors import ExitCode

if TYPE_CHECKING:
    from dshloop.cli.repl.talk import Talk

Run = Callable[["Talk", str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Command:
    """One command: how its arguments are called, what it does, how, and what completion offers."""

    arguments: str
    meaning: str
    run: Run
    offers: offers.Offers = offers.nothing


async def leave(talk: Talk, _words: str) -> None:
    """End the conversation."""
    talk.ending.code = ExitCode.DONE


async def show_help(talk: Talk, _words: str) -> None:
    """List the commands and the keys."""
    talk.screen.write(help_text())


COMMANDS: dict[str, Command] = {
    "/help": Command("", "show this", show_help),
    "/loop": Command(
        "[ID]", "run a session that has not begun on another loop", branches.loop, offers.loops
    ),
    "/driver": Command("[NAME]", "… on another driver", branches.driver, offers.drivers),
    "/preset": Command("[ID]", "… on another preset", branches.preset, offers.presets),
    "/model": Command(
        "[NAME [EFFORT]]", "go on with another model: MODEL, PROVIDER/MODEL", branches.model,
        offers.models,
    ),
    "/undo": Command("[N]", "go on in a fork before the last turn, or the last N", branches.undo),
    "/retry": Command("", "say the last prompt again, in a fork before it", branches.retry),
    "/fork": Command(
        "[loop|driver|preset NAME]", "go on in a fork, on something else if named", branches.fork,
        offers.forks,
    ),
    "/memory": Command("", "show what was recalled, and why", looks.memory),
    "/show": Command(
        "[N]", "unfold line N, or all of the last turn; Ctrl-O does too", looks.show, offers.folds
    ),
    "/json": Command("[N|all]", "print the last turn, or the last N, as JSON", giving.json),
    "/export": Command(
        "[FORMAT] [FILE]", "print or write the session: markdown, html, json, jsonl",
        giving.export, offers.formats,
    ),
    "/save": Command("FILE", "write it in the format that the name ends with", giving.save,
                     offers.files),
    "/compact": Command("", "put a summary in the place of what was said so far", looks.compact),
    "/edit": Command("[TEXT]", "write what you say in $EDITOR; an empty text says nothing",
                     looks.edit),
    "/exit": Command("", "leave; Ctrl-D does too", leave),
}  # fmt: skip
_ALIASES = {"/quit": "/exit", "/?": "/help"}


class Meant(NamedTuple):
    """What a line means: a command with its words, a name that is none, or something to say."""

    command: Command | None = None
    words: str = ""
    unknown: str | None = None
    said: str | None = None


def meaning_of(line: str) -> Meant | None:
    """Tell what to do with a line, None for a blank one; ``//x`` says ``/x``."""
    text = line.strip()
    if not text:
        return None
    if not text.startswith("/"):
        return Meant(said=line)
    if text.startswith("//"):
        return Meant(said=line.replace("//", "/", 1))
    name, *rest = text.split(maxsplit=1)
    command = COMMANDS.get(_ALIASES.get(name, name))
    if command is None:
        return Meant(unknown=name)
    return Meant(command, rest[0] if rest else "")


def near_to(name: str) -> str:
    """Say which command may be meant."""
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return f"; did you mean {near[0]}?" if near else "; /help lists them"


def help_text() -> str:
    """List the commands and the keys."""
    rows = [(f"{name} {one.arguments}".strip(), one.meaning) for name, one in COMMANDS.items()]
    rows.append(("//text", "say a text that begins with a slash"))
    width = max(len(name) for name, _ in rows)
    return "".join(
        f"{name:<{width}}  {meaning}".rstrip() + "\n" for name, meaning in [*rows, ("", ""), *KEYS]
    )
