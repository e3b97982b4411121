"""`dshloop session run`: one prompt, piped prompts, or a conversation on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.params import invocation, new_app
from dshloop.cli.session.run_asked import input_format, run_options
from dshloop.cli.session.run_checks import refuse_in_conversation, refuse_nonsense
from dshloop.cli.session.run_options import RunVerb, Typed, typed
from dshloop.cli.session.run_records import id_notice, record_stream
from dshloop.errors import PromptMissingError
from dshloop.result import Result, Stream

if TYPE_CHECKING:
    from dshloop.runs.talking.conversation import RunOptions

app = new_app("session", "")


@app.command(cls=RunVerb)
def run(
    ctx: typer.Context,
    prompt: Annotated[
        str | None, typer.Argument(help="What to say; - takes it from standard input.")
    ] = None,
) -> Stream | Result[Any]:
    """Talk to an agent: one prompt, piped prompts, or a conversation on a terminal.

    Lines of --input-format lines and jsonl are turns, read as they come; a jsonl line is a JSON
    string or {"prompt": text}. The run stops at the first turn that fails. Without a profile the
    built-in one is used: a loop dock, and the drivers headless, dsh, acp, fake and ping.
    """
    invoked, asked = invocation(ctx), typed(ctx)
    refuse_nonsense(asked, prompt)
    kind = input_format(asked)
    options = run_options(invoked, asked)
    said = None if prompt == "-" else prompt
    if said is None and prompt != "-" and not asked.stdin and invoked.env.stdin_tty:
        return _converse(invoked, options, asked)
    reads = said is None or asked.stdin
    from dshloop.runs.talking.bounds import Bounds
    from dshloop.runs.talking.prompts import prompts
    from dshloop.runs.talking.run import run_session

    texts = prompts(said, invoked.env.stdin if reads else None, kind)
    bounds = Bounds(asked.max_turns, asked.timeout)
    records = run_session(invoked.places, options, texts, invoked.env.clock, bounds)
    return record_stream(records, verbose=invoked.verbose)


def _converse(invoked: Invocation, options: RunOptions, asked: Typed) -> Result[Any]:
    """Hold a conversation on the terminal; without one, say which command to use."""
    if not invoked.env.interactive or invoked.json:
        raise PromptMissingError(
            "there is no prompt, and a conversation needs a terminal on both sides and no --json"
        )
    refuse_in_conversation(asked)
    from dshloop.cli.repl import converse

    ended = converse(invoked, options)
    data = {"id": ended.id, "turns": ended.turns}
    notices = [id_notice(ended.id)] if ended.turns else []
    return Result(data, notices=notices, exit_code=ended.exit_code)
