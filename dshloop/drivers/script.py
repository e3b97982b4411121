"""Scripts of the fake driver: what its model says, request by request, as a YAML file says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dshloop.errors import ScriptInvalidError
from dshloop.files import require_text, shown
from dshloop.loops.fields import Fields, Page, is_number
from dshloop.loops.names import is_object, is_text, listed

Ending = Literal["stop", "tool-calls", "max-tokens", "disconnect"]
After = Literal["repeat", "last", "fail"]
AFTER: tuple[After, ...] = ("repeat", "last", "fail")
ENDS: tuple[Ending, ...] = ("stop", "max-tokens", "disconnect")
KEYS = ("text", "reasoning", "calls", "error", "end", "delay", "pace", "usage")
_ORDERED = "a number of seconds, or two of them: [least, most]"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` is the JSON text the model gives."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that fails; ``times`` requests do so before the rest of the answer comes.

    ``retry_after`` is what the provider asks to wait, in milliseconds.
    """

    message: str
    code: str = "UNKNOWN"
    times: int | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one request. Times are in seconds; a pair is drawn from evenly."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    failure: Failure | None = None
    end: Ending = "stop"
    delay: tuple[float, float] = (0, 0)
    pace: tuple[float, float] = (0, 0)
    input_tokens: int = 0
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """All answers in order. ``seed`` fixes every draw; ``after`` is what follows the last one."""

    replies: tuple[Reply, ...]
    seed: int = 0
    after: After = "fail"


def read_script(path: Path) -> Script:
    """Read and check a script.

    Raises UNREADABLE_FILE, and SCRIPT_INVALID with file, line and column.
    """
    return parse_script(require_text(path).value, shown(path))


def parse_script(text: str, file: str = "script") -> Script:
    """Read and check the text of a script; raises as `read_script`."""
    page = Page.read(text, file, ScriptInvalidError)
    whole = page.fields(page.document.value, None, "")
    whole.only(("seed", "after", "turns"))
    turns = whole.items("turns")
    if not turns:
        whole.refuse("a script needs turns", "turns" if "turns" in whole.value else None)
    replies = [reply for index in range(len(turns)) for reply in _turn(page, turns, index)]
    after = whole.get("after", lambda value: value in AFTER, f"one of {listed(list(AFTER))}")
    return Script(tuple(replies), whole.whole("seed", 0) or 0, after or "fail")


def _turn(page: Page, turns: Any, index: int) -> Iterator[Reply]:
    """Read a turn: a text, one answer, or ``steps`` with one for each request of the turn."""
    value, path = turns[index], f"turns[{index}]"
    if isinstance(value, str):
        yield Reply(text=value)
        return
    if is_object(value) and "steps" in value:
        fields = page.fields(turns, index, path)
        fields.only(("steps",))
        steps = fields.items("steps") or ()
        for number in range(len(steps)):
            step = steps[number]
            where = f"{path}.steps[{number}]"
            is_text_alone = isinstance(step, str)
            yield Reply(text=step) if is_text_alone else _reply(page.fields(steps, number, where))
        return
    yield _reply(page.fields(turns, index, path))


def _reply(fields: Fields) -> Reply:
    fields.only(KEYS)
    if not fields.value:
        fields.refuse(f"{fields.path} says nothing", hint=f"Keys: {listed(list(KEYS))}.")
    calls = tuple(_calls(fields))
    given = fields.get("end", lambda value: value in ENDS, f"one of {listed(list(ENDS))}")
    spent = fields.inner("usage")
    if spent is not None:
        spent.only(("input", "output"))
    return Reply(
        text=fields.get("text", lambda value: isinstance(value, str), "a string") or "",
        reasoning=fields.text("reasoning") or "",
        calls=calls,
        failure=_failure(fields),
        end=given or ("tool-calls" if calls else "stop"),
        delay=_span(fields, "delay"),
        pace=_span(fields, "pace"),
        input_tokens=(spent.whole("input", 0) if spent is not None else None) or 0,
        output_tokens=spent.whole("output", 0) if spent is not None else None,
    )


def _calls(fields: Fields) -> Iterator[Call]:
    calls = fields.items("calls") or ()
    for index in range(len(calls)):
        call = fields.page.fields(calls, index, f"{fields.at('calls')}[{index}]")
        call.only(("name", "arguments"))
        name = call.text("name")
        if name is None:
            call.refuse(f"{call.path} needs a name")
        yield Call(name, _arguments(call))


def _arguments(call: Fields) -> str:
    """Give the JSON of a mapping; a text is taken as it is, so that it may be broken."""
    import json

    given = call.value.get("arguments", {})
    if isinstance(given, str):
        return given
    if not is_object(given):
        call.refuse(
            f"{call.at('arguments')} must be a mapping, or the JSON text itself", "arguments"
        )
    return json.dumps(given, ensure_ascii=False)


def _failure(fields: Fields) -> Failure | None:
    given = fields.value.get("error")
    if "error" not in fields.value:
        return None
    if is_text(given):
        return Failure(given)
    error = fields.inner("error")
    assert error is not None
    error.only(("message", "code", "times", "retry-after"))
    message = error.text("message")
    if message is None:
        error.refuse(f"{error.path} needs a message")
    code = error.text("code") or "UNKNOWN"
    return Failure(message, code, error.whole("times"), error.number("retry-after"))


def _span(fields: Fields, key: str) -> tuple[float, float]:
    given = fields.value.get(key, 0)
    pair = given if isinstance(given, list) else [given, given]
    if len(pair) != 2 or not all(is_number(one) and one >= 0 for one in pair):
        fields.refuse(f"{fields.at(key)} must be {_ORDERED}", key)
    least, most = pair
    if least > most:
        fields.refuse(f"{fields.at(key)} must be {_ORDERED}", key)
    return least, most
