"""What a line that begins with ``/`` means in a conversation."""

from __future__ import annotations

from typing import Literal

COMMANDS = {
    "/help": "show this",
    "/compact": "put a summary in the place of what was said so far",
    "/exit": "leave; Ctrl-D does too",
}

Action = Literal["say", "help", "compact", "leave", "unknown", "nothing"]


def action_of(line: str) -> Action:
    """Tell what to do with a line; a text that only begins with a slash is said with two."""
    word = line.strip().split(maxsplit=1)[:1]
    if not word:
        return "nothing"
    if not word[0].startswith("/") or word[0].startswith("//"):
        return "say"
    known: dict[str, Action] = {
        "/help": "help",
        "/compact": "compact",
        "/exit": "leave",
        "/quit": "leave",
    }
    return known.get(word[0], "unknown")


def said(line: str) -> str:
    """Give the words of a line that is said: ``//x`` stands for ``/x``."""
    return line[1:] if line.lstrip().startswith("//") else line


def help_text() -> str:
    """List the commands and keys."""
    rows = [*COMMANDS.items(), ("//text", "say a text that begins with a slash")]
    rows.append(("Ctrl-C", "stop the answer; what was said so far is kept"))
    return "".join(f"{name:<9} {meaning}\n" for name, meaning in rows)
