"""`dshloop memory status`: whether stores answer, what waits for them, what mends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory.common import WriteVerb, given, module_app
from dshloop.cli.memory.opening import way_to_open
from dshloop.cli.params import invocation
from dshloop.errors import DshloopError, ExitCode, StoreUnsupportedError, UsageError
from dshloop.result import Caution, Result
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.outbox import Outbox
    from dshloop.memory.status import Status, Waiting
    from dshloop.memory.store import MemoryReader
    from dshloop.runs.bridge_check import Checked

app = module_app()
_SECONDS = 5.0
_NAMING = frozenset({"store", "stores", "all_stores"})
_LOCAL = ("agentmemory:local", "patchouli:dshloop")
"""Outboxes of what goes to our own store."""


class StatusVerb(WriteVerb):
    """A verb about one store or several, or those of a profile's rows."""

    extra = ("profile",)
    sets = ("stores",)


@app.command(cls=StatusVerb, epilog="Example: dshloop memory status --store agentmemory --check")
def status(
    ctx: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Run the boot checks of dsh-agentmemory, too.")
    ] = False,
) -> Result[Any]:
    """Tell whether a store answers, its version, what it holds, what waits for it, what mends it.

    With --profile the stores that its memory rows use. Exit 5 when one can't be reached, 1 when a
    check fails; the answer is printed all the same.
    """
    run = invocation(ctx)
    named = not _NAMING.isdisjoint(given(ctx))
    if run.profile is not None:
        if named:
            raise UsageError("--profile and --store exclude each other", hint="Give one of them.")
        meant = list(_of_profile(run))
    elif check and not named:
        meant = [("agentmemory", {})]
    else:
        from dshloop.cli.memory.several import names_meant

        meant = [(name, {}) for name in names_meant(ctx)]
    with run.progress("Asking …"):
        found = [_status(ctx, name, variables) for name, variables in meant]
    if check:
        return _checked(found)
    code = next((one.exit_code for one in found if one.error is not None), ExitCode.DONE)
    views = ["\n".join(_lines(one)) for one in found]
    several = len(found) != 1
    data = [one.as_json() for one in found] if several else found[0].as_json()
    return Result(data, "\n".join(views), warnings=_others(run, found), exit_code=code)


def _of_profile(run: Invocation) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Give the stores of a profile's memory rows, and the secret that a row has for one."""
    from dshloop.cli.docked import run_rows
    from dshloop.memory.agentmemory_client.address import SECRET_VARIABLE
    from dshloop.memory.stores import AGENTMEMORY, PATCHOULI
    from dshloop.plugins.agentmemory.config import LOCAL, read_bridge_config
    from dshloop.plugins.agentmemory.secret import ROW, resolve

    own, found = _own(run), False
    for row in run_rows(run).rows:
        if row.off is not None:
            continue
        if row.name == ROW:
            config, found = read_bridge_config(row.config), True
            secret = resolve(config.secret, run.env.variables).value
            local = config.store == LOCAL
            name = own if local else f"{AGENTMEMORY}:{config.base_url}"
            yield name, {SECRET_VARIABLE: secret} if secret else {}
        elif row.name == "dsh-patchouli-agent-loop":
            found = True
            yield PATCHOULI, {}
    if not found:
        yield own, {}


def _own(run: Invocation) -> str:
    """Name the store that rows mean where they name none."""
    from dshloop.runs.memory import store_of_rows

    return store_of_rows(run.config.get, run.env.variables)


def _status(ctx: typer.Context, name: str, variables: Mapping[str, str]) -> Status:
    from dshloop.memory.status import status_of
    from dshloop.memory.stores import kind_and_place

    run = invocation(ctx)
    where = _where(run, name)
    seconds = float(given(ctx).get("timeout") or run.config.get("memory.timeout") or _SECONDS)
    reader = _opener(ctx, name, variables)
    told = f"{kind_and_place(name)[0]}:{where}" if "@" in name else name  # no password is shown
    return status_of(told, where, reader, list(_outboxes(run, name, where)), seconds=seconds)


def _opener(
    ctx: typer.Context, name: str, variables: Mapping[str, str]
) -> Callable[[], MemoryReader]:
    from dshloop.memory.stores import open_reader

    run = invocation(ctx)

    def notice(text: str) -> None:
        run.cautions.append(Caution(f"{name}: {text}", "STORE_NOTICE"))

    _, options = way_to_open(ctx, notice, name)
    options["variables"] = {**options["variables"], **variables}
    return lambda: open_reader(name, **options, readonly=_is_there(run, name))


def _is_there(run: Invocation, name: str) -> bool:
    """Whether a store may be opened for reading only: an embedded one has a file then."""
    return name != "embedded" or run.places.memory_db.exists()


def _where(run: Invocation, name: str) -> str | None:
    from dshloop.cli.memory.place import where_of, without_password
    from dshloop.memory.stores import POSTGRES, kind_and_place
    from dshloop.paths import absolute

    kind, named = kind_and_place(name)
    if not named:
        return where_of(run, name)
    if kind == POSTGRES:
        return without_password(named)
    if "://" in named:
        from dshloop.memory.agentmemory_client.address import shown_url

        return shown_url(named)
    return str(absolute(named, run.env.cwd, run.env.variables))


def _outboxes(run: Invocation, name: str, where: str | None) -> Iterator[Outbox]:
    """Give the outboxes of what is on its way to a store."""
    from dshloop.memory.outbox_flush import outboxes

    for outbox in outboxes(run.places.outbox, clock=run.env.clock):
        if _is_for(outbox.store, name, where, _own(run)):
            yield outbox


def _is_for(outbox: str, store: str, where: str | None, own: str) -> bool:
    """Whether an outbox, called KIND:NAME, is for a store; ``own`` is that of rows.

    Those of hooks are called by the store, a daemon's by its address."""
    kind, _, name = outbox.partition(":")
    if kind == "hook":
        return name == store
    if outbox in _LOCAL:
        return store == own
    if kind != store.partition(":")[0]:
        return False
    return "://" not in name or name.rstrip("/") == (where or "").rstrip("/")


def _others(run: Invocation, found: Sequence[Status]) -> list[Caution]:
    """Tell of what waits for other stores."""
    from dshloop.memory.outbox_flush import outboxes
    from dshloop.memory.status import waiting_in

    told = {name for one in found for name in one.waiting.outboxes}
    broken: list[DshloopError] = []
    others = [
        waiting_in([one], broken.append)
        for one in outboxes(run.places.outbox)
        if one.store not in told
    ]
    waiting = {one.outboxes[0]: one.pending for one in others if one.pending}
    cautions = [Caution(error.message, error.code) for error in broken]
    if not waiting:
        return cautions
    text = f"{sum(waiting.values())} entries wait for other stores: {', '.join(waiting)}"
    return [*cautions, Caution(text, "OUTBOX_ELSEWHERE", details={"stores": waiting})]


def _checked(found: Sequence[Status]) -> Result[Any]:
    from dshloop.runs.bridge_check import boot_checks

    [one] = found if len(found) == 1 else [None]
    if one is None or one.store.partition(":")[0] != "agentmemory":
        raise StoreUnsupportedError(
            "the boot checks are those of agentmemory",
            hint="Run: dshloop memory status --store agentmemory --check",
            store=None if one is None else one.store,
        )
    checks = boot_checks(one)
    lines = [*_lines(one), *(_check_line(check) for check in checks)]
    data = {**one.as_json(), "checks": [check.as_json() for check in checks]}
    failed = ExitCode.DONE if all(check.passed for check in checks) else ExitCode.FAILED
    return Result(data, "\n".join(lines), exit_code=one.exit_code or failed)


def _check_line(check: Checked) -> str:
    mark = "ok" if check.passed else "FAILED"
    return f"  {mark:<6} {check.name:<18} {one_line(check.said)}"


def _lines(one: Status) -> Iterator[str]:
    yield f"{one.store}{f' at {one_line(one.where)}' if one.where else ''}"
    yield f"  reachable    {'yes' if one.reachable else 'no'}"
    if one.probe.version:
        health = f" ({', '.join(one.probe.health)})" if one.probe.health else ""
        yield f"  version      {one_line(one.probe.version + health)}"
    if one.probe.auth:
        yield f"  auth         {one.probe.auth}"
    if one.stats is not None:
        counts = ("memories", "observations", "sessions")
        yield "  holds        " + ", ".join(f"{getattr(one.stats, n)} {n}" for n in counts)
    yield from _waiting_lines(one.waiting)
    if one.error is not None:
        yield f"  error        {one_line(one.error.message)} ({one.error.code})"
        if one.error.hint:
            yield f"               {one_line(one.error.hint)}"
    if one.mend is not None:
        yield f"  mend         {one.mend}"


def _waiting_lines(waiting: Waiting) -> Iterator[str]:
    from dshloop.times import iso_time

    given_up = f", {waiting.given_up} given up" if waiting.given_up else ""
    dropped = f", {waiting.dropped} dropped" if waiting.dropped else ""
    oldest = f", the oldest of {iso_time(waiting.oldest)}" if waiting.oldest else ""
    yield f"  outbox       {waiting.pending} waiting{given_up}{dropped}{oldest}"
    if waiting.last_success is not None:
        yield f"  last success {iso_time(waiting.last_success)}"
    if waiting.last_error:
        yield f"  last error   {one_line(waiting.last_error)}"
