"""`dshloop memory serve`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory.common import WriteVerb, module_app
from dshloop.cli.memory.opening import opener
from dshloop.cli.params import invocation
from dshloop.errors import ServeUnavailableError
from dshloop.result import End, Stream

if TYPE_CHECKING:
    from dshloop.memory.server.running import Listening
    from dshloop.memory.server.settings import Settings
    from dshloop.memory.store import MemoryStore

app = module_app()
HOST, PORT = "127.0.0.1", 3111


@app.command(cls=WriteVerb, epilog="Example: dshloop memory serve --port 3111")
def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Where it listens.")] = HOST,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="PORT", help="0 takes a free one.")
    ] = PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Answer to this name too; repeatable."),
    ] = None,
    stdio_log: Annotated[
        str | None,
        typer.Option("--stdio-log", metavar="FILE", help="Write the log there, not to stderr."),
    ] = None,
) -> Stream:
    """Serve the store to agents over HTTP, as agentmemory does.

    Plugins, hooks and scripts made for agentmemory 0.9.29 work unchanged; its variables
    AGENTMEMORY_SECRET, AGENT_ID, AGENTMEMORY_AGENT_SCOPE, TOKEN_BUDGET and MAX_OBS_PER_SESSION
    are read. Prints its address when it is ready, and runs until it is interrupted.
    """
    from dshloop.memory.server.settings import read_settings

    run = invocation(ctx)
    settings = read_settings(run.env.variables, host=host, port=port, hosts=tuple(allow_host or ()))
    return Stream(_serving(ctx, run, settings, stdio_log), _text)


def _serving(
    ctx: typer.Context, run: Invocation, settings: Settings, log_file: str | None
) -> Iterator[Mapping[str, Any] | End]:
    """Yield that the server is ready, then serve until the end."""
    with ExitStack() as stack:
        stream = stack.enter_context(_log_stream(run, log_file))
        listening, store = _started(ctx, run, settings, stream, stack)
        yield {
            "type": "ready",
            "url": listening.url,
            "pid": os.getpid(),
            "store": store,
            "secret": settings.secret is not None,
            "agent": settings.agent,
            "isolated": settings.isolated,
        }
        listening.serve()
    yield End("stopped")


def _started(
    ctx: typer.Context,
    run: Invocation,
    settings: Settings,
    stream: TextIO,
    stack: ExitStack,
) -> tuple[Listening, str]:
    """Open the store and the socket. Raises SERVE_UNAVAILABLE, SERVER_RUNNING, PORT_TAKEN."""
    try:
        from dshloop.memory.server.running import Listening, alone
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        message = f"memory serve needs {error.name}, which is not installed"
        raise ServeUnavailableError(message, module=error.name) from error
    from dshloop.memory.server.log import Log

    places = run.places
    log = Log(stream, run.env.clock)
    stack.callback(log.close)
    stack.enter_context(alone(places.locks, places.memory_db, run.command))
    opening = opener(ctx, log)
    name = _looked_at(opening(False))
    listening = Listening(settings, opening, log)
    stack.callback(listening.close)
    return listening, name


def _looked_at(store: MemoryStore) -> str:
    """Bring the store to its present schema before anybody reads it; give its name."""
    try:
        store.stats()
        return store.name
    finally:
        store.close()


@contextmanager
def _log_stream(run: Invocation, file: str | None) -> Iterator[TextIO]:
    """Give where the log goes: a file (0600), else stderr, with --quiet nowhere."""
    from dshloop.files import writing
    from dshloop.paths import absolute

    if file is None and not run.quiet:
        yield run.env.stderr
        return
    path = absolute(file or os.devnull, run.env.cwd, run.env.variables)
    with writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "a", encoding="utf-8", errors="backslashreplace") as stream:  # noqa: PTH123
        yield stream


def _text(record: Mapping[str, Any]) -> str | None:
    return f"{record['url']}\n" if record["type"] == "ready" else None
