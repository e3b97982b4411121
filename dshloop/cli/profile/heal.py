"""The verbs that find what is wrong with a profile and mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.common import (
    DryRun,
    Name,
    app,
    case_for,
    meant,
    sole_writer,
)
from dshloop.errors import ExitCode, UsageError
from dshloop.result import Document, Result

if TYPE_CHECKING:
    from dshloop.profiles.checks.findings import Finding
    from dshloop.profiles.checks.repair import Repair


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile check web --fix")
def check(
    ctx: typer.Context,
    name: Name = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended safely, then check again.")
    ] = False,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Find what is wrong with a profile.

    That is what keeps it from booting, or from doing what it says. Needs neither dsh nor node,
    and reads files that do not parse. Exits with 1 when there are errors.
    """
    from dshloop.profiles.checks.check import check_profile
    from dshloop.profiles.checks.repair import plan_repair

    run = invocation(ctx)
    profile = meant(run, name)
    mended: list[dict[str, Any]] = []
    told: list[str] = []
    planned: dict[str, Any] = {}
    if dry_run and not fix:
        raise UsageError("--dry-run is for --fix; without it nothing is written")
    journal = run.journal_for(dry_run=dry_run or not fix)
    with user_inbox(run) as inbox:
        case = case_for(run, profile, inbox)
        if fix:
            repair = plan_repair(case, safe_only=True)
            if dry_run:
                planned = {"dry_run": True, "diff": repair.plan.diff()}
            elif repair.plan.changes:
                with sole_writer(run, profile):
                    journal.record(run.command, repair.plan.changes, cwd=run.env.cwd)
            mended, told = repair.as_json()["mends"], _mends(repair.mended, planned=dry_run)
            report = repair.left
        else:
            report = check_profile(case)
    data = {**report.as_json(), "mended": mended, **planned}
    view = Document(planned["diff"]) if planned else report.as_text()
    code = ExitCode.DONE if report.ok else ExitCode.FAILED
    return Result(data, view, notices=[*notices(inbox), *told], exit_code=code)


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile repair web --apply")
def repair(
    ctx: typer.Context,
    name: Name = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the mends; without it they are only shown.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Show or make the mends of a damaged profile.

    They are shown as a diff, and made with --apply. All mends are one change, which dshloop undo
    takes back. Exits with 1 when errors are left.
    """
    from dshloop.profiles.checks.repair import plan_repair

    run = invocation(ctx)
    profile = meant(run, name)
    journal = run.journal_for(dry_run=not apply)
    with user_inbox(run) as inbox:
        plan = plan_repair(case_for(run, profile, inbox))
    written = apply and bool(plan.plan.changes)
    entry = None
    if written:
        with sole_writer(run, profile):
            entry = journal.record(run.command, plan.plan.changes, cwd=run.env.cwd)
    data = {**plan.as_json(), "applied": written, "entry": entry.id if entry else None}
    view = "\n".join(_mends(plan.mended)) if written else Document(plan.plan.diff())
    code = ExitCode.DONE if plan.left.ok else ExitCode.FAILED
    said = [*notices(inbox), *_after(plan, written)]
    return Result(data, view, notices=said, exit_code=code)


def _mends(mended: tuple[Finding, ...], *, planned: bool = False) -> list[str]:
    done = "would mend" if planned else "mended"
    return [f"{done} {one.code}: {one.mend.what}" for one in mended if one.mend is not None]


def _after(plan: Repair, written: bool) -> list[str]:
    import shlex

    left = len(plan.left.findings)
    name = shlex.quote(plan.profile)
    rest = f"{left} finding{'s' * (left != 1)} left: dshloop profile check {name}" if left else ""
    if not plan.plan.changes:
        return [text for text in ("nothing to mend", rest) if text]
    if written:
        return [text for text in (rest,) if text]
    how = f"To write it: dshloop profile repair {name} --apply"
    return [text for text in (*_mends(plan.mended, planned=True), how, rest) if text]
