"""Where the prompts of a run come from: the command line, and standard input in three formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, Literal, TextIO

from dshloop.errors import PromptLineError, PromptMissingError

Format = Literal["text", "lines", "jsonl"]
FORMATS: tuple[Format, ...] = ("text", "lines", "jsonl")


def prompts(argument: str | None, stdin: TextIO | None, kind: Format) -> Iterator[str]:
    """Give each turn's prompt.

    ``stdin`` is None when it isn't to be read. As text, all of it is one prompt, put behind the
    argument after a blank line; as lines or jsonl each line is a turn, read when its turn has
    come, behind the argument's. Raises PROMPT_MISSING at once when there is nothing to say;
    PROMPT_LINE_INVALID when a bad line's turn has come.
    """
    argument = argument if argument and argument.strip() else None
    if kind == "text":
        parts = (argument, None if stdin is None else _whole_text(stdin))
        found: Iterator[str] = iter(filter(None, ["\n\n".join(filter(None, parts))]))
    else:
        lines = iter(()) if stdin is None else _line_prompts(stdin, kind)
        found = chain([argument] if argument else [], lines)
    first = next(found, None)
    if first is None:
        raise PromptMissingError("there is no prompt: the argument and standard input are empty")
    return chain([first], found)


def parse_line(line: str, number: int) -> str:
    """Give the prompt of a jsonl line: a JSON string, or an object with ``prompt``."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        column = error.colno if isinstance(error, json.JSONDecodeError) else 1
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise _bad_line(number, f"is not JSON ({reason} at column {column})", column) from None
    prompt = value.get("prompt") if isinstance(value, dict) else value
    if not isinstance(prompt, str):
        raise _bad_line(number, "holds no prompt")
    if not prompt.strip():
        raise _bad_line(number, "holds an empty prompt")
    return prompt


def _line_prompts(stdin: TextIO, kind: Format) -> Iterator[str]:
    for number, raw in enumerate(_lines(stdin), 1):
        line = _decode(raw, number).removesuffix("\n").removesuffix("\r")
        if line.strip():
            yield parse_line(line, number) if kind == "jsonl" else line


def _whole_text(stdin: TextIO) -> str:
    text = "".join(_decode(raw, number) for number, raw in enumerate(_lines(stdin), 1))
    return text.strip("\r\n") if text.strip() else ""


def _lines(stdin: TextIO) -> Iterator[bytes | str]:
    """Give lines that end at LF only, as bytes where the stream has them."""
    buffer = getattr(stdin, "buffer", None)
    return iter(stdin if buffer is None else buffer)


def _decode(raw: bytes | str, number: int) -> str:
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 text (byte {error.start + 1})"
        raise _bad_line(number, what, error.start + 1, "Prompts are text in UTF-8.") from None


def _bad_line(
    number: int,
    what: str,
    column: int = 1,
    hint: str = 'Each line is a JSON string or {"prompt": "…"}, in UTF-8.',
) -> PromptLineError:
    return PromptLineError(
        f"line {number} of standard input {what}",
        hint=hint,
        line=number,
        column=column,
    )
