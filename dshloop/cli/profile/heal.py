"""The verbs that find what is wrong with a profile and mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.common import Name, app, case_for, meant, sole_writer
from dshloop.errors import ExitCode
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
    with user_inbox(run) as inbox:
        case = case_for(run, profile, inbox)
        if fix:
            repair = plan_repair(case, safe_only=True)
            if repair.plan.changes:
                with sole_writer(run, profile):
                    run.journal.record(run.command, repair.plan.changes, cwd=run.env.cwd)
                mended, told = repair.as_json()["mends"], _mends(repair.mended)
            report = repair.left
        else:
            report = check_profile(case)
    data = {**report.as_json(), "mended": mended}
    code = ExitCode.DONE if report.ok else ExitCode.FAILED
    return Result(data, report.as_text(), notices=[*notices(inbox), *told], exit_code=code)


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
    with user_inbox(run) as inbox:
        plan = plan_repair(case_for(run, profile, inbox))
    written = apply and bool(plan.plan.changes)
    entry = None
    if written:
        with sole_writer(run, profile):
            entry = run.journal.record(run.command, plan.plan.changes, cwd=run.env.cwd)
    data = {**plan.as_json(), "applied": written, "entry": entry.id if entry else None}
    view = "\n".join(_mends(plan.mended)) if written else Document(plan.plan.diff())
    code = ExitCode.DONE if plan.left.ok else ExitCode.FAILED
    said = [*notices(inbox), *_after(plan, written)]
    return Result(data, view, notices=said, exit_code=code)


def _mends(mended: tuple[Finding, ...]) -> list[str]:
    return [f"mended {one.code}: {one.mend.what}" for one in mended if one.mend is not None]


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
    planned = [text.replace("mended ", "would mend ", 1) for text in _mends(plan.mended)]
    return [text for text in (*planned, how, rest) if text]
