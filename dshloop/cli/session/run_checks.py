"""Options of `session run` that make no sense together; each pair is refused with exit code 2."""

from __future__ import annotations

from collections.abc import Iterator

from dshloop.cli.session.run_options import Typed
from dshloop.errors import UsageError


def refuse_nonsense(typed: Typed, prompt: str | None) -> None:
    """Raise USAGE for the first thing that makes no sense, naming the option."""
    for option, text in _nonsense(typed, prompt):
        raise UsageError(text, option=option)


def _nonsense(typed: Typed, prompt: str | None) -> Iterator[tuple[str, str]]:
    yield from _sessions(typed)
    yield from _input(typed, prompt)
    if typed.read_only and typed.allow:
        yield "--allow", "--allow lets tools change something, and --read-only lets none"
    if typed.timeout is not None and not 0 < typed.timeout < float("inf"):
        yield "--timeout", f"--timeout is a number of seconds above 0, not {typed.timeout:g}"


def _sessions(typed: Typed) -> Iterator[tuple[str, str]]:
    if typed.resume is None:
        if typed.force_rebind:
            yield "--force-rebind", "--force-rebind is for a session that --resume continues"
        if typed.fork and typed.agent is None:
            yield "--fork", "--fork is for a session that --resume names, or --agent has"
    else:
        if typed.session_id is not None and not typed.fork:
            yield "--session-id", _for_new("--session-id")
        if typed.preset is not None:
            yield "--preset", _for_new("--preset")
    if typed.fork and typed.force_rebind:
        yield (
            "--force-rebind",
            "--force-rebind begins a new session anyway: leave --fork away",
        )
    if typed.read_only and typed.force_rebind:
        yield "--force-rebind", "--force-rebind writes a new session, and --read-only changes none"
    if typed.agent is not None:
        own_id = None if typed.fork else typed.session_id  # else it names the copy
        for option, given in (("--resume", typed.resume), ("--session-id", own_id)):
            if given is not None:
                yield option, f"the agent of --agent has a session of its own: leave {option} away"


def _input(typed: Typed, prompt: str | None) -> Iterator[tuple[str, str]]:
    one_a_line = typed.input_format in ("lines", "jsonl")
    if one_a_line and prompt not in (None, "-") and not typed.stdin:
        text = f"--input-format {typed.input_format} is for standard input, which isn't read "
        yield "--input-format", f"{text}beside a PROMPT: add --stdin"


def refuse_in_conversation(typed: Typed) -> None:
    """Raise USAGE for what holds for prompts that are given, when a person is to type them."""
    for option, given in (("--max-turns", typed.max_turns), ("--timeout", typed.timeout)):
        if given is not None:
            text = f"{option} is for prompts that are given, and a conversation has none"
            raise UsageError(text, hint="Give the PROMPT, or pipe it in.", option=option)


def _for_new(option: str) -> str:
    return f"{option} is for a new session and --resume continues one: give only one of them"
