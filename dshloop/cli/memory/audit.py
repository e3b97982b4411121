"""`dshloop memory audit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.memory.common import FilterWriteVerb, chosen, module_app
from dshloop.cli.memory.opening import opened
from dshloop.cli.params import invocation
from dshloop.errors import ExitCode
from dshloop.result import Result
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.audit.findings import Audit, Finding

app = module_app()
_SHOWN = 20  # findings of one kind


@app.command(cls=FilterWriteVerb, epilog="Example: dshloop memory audit --fix")
def audit(
    ctx: typer.Context,
    fix: Annotated[
        bool, typer.Option("--fix", help="Put right what can be; undo takes that back.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Look for secrets, recalled text that was stored again, duplicates, contradictions, old junk.

    Exit 1 when something of severity error was found (and not put right). Nothing leaves the
    machine. What can't be measured is said so.
    """
    from dshloop.memory.audit.auditing import audit as look
    from dshloop.memory.audit.auditing import fix as put_right

    run, where = invocation(ctx), chosen(ctx)
    fixed: Sequence[Finding] = ()
    with opened(ctx) as store, run.progress("Looking through the store …") as tell:
        found = look(store, where, run.env.clock(), lambda n: tell(f"Looking through … {n:,}"))
        if fix:
            fixed = put_right(store, found)
    data = {**found.as_json(), "fixed_findings": [one.as_json() for one in fixed]}
    code = ExitCode.FAILED if found.failed else ExitCode.DONE
    return Result(data, "\n".join(_lines(found, fixed)), exit_code=code)


def _lines(found: Audit, fixed: Sequence[Finding]) -> list[str]:
    from dshloop.memory.audit.findings import KINDS

    lines = [f"{found.entries:,} entries looked at"]
    for code, kind in KINDS.items():
        count = found.counts[code]
        if not count:
            continue
        lines.append(f"{kind.severity:<8} {code}: {kind.meaning} ({count:,})")
        some = [one for one in found.findings if one.code == code]
        lines += [f"  {_named(one)}" for one in some[:_SHOWN]]
        if count > _SHOWN:
            lines.append(f"  and {count - _SHOWN:,} more")
        way = "dshloop memory audit --fix" if some and some[0].fixable else kind.advice
        lines.append(f"  -> {way}")
    lines += [f"{'-':<8} {code}: not measurable: {why}" for code, why in _unmeasurable(found)]
    for one in fixed[:_SHOWN]:
        lines.append(f"{'fixed':<8} {one.code}: {one.kind.fixed}: {_named(one)}")
    if len(fixed) > _SHOWN:
        lines.append(f"{'fixed':<8} and {len(fixed) - _SHOWN:,} more")
    if fixed:
        lines.append("dshloop memory undo takes it back")
    if not any(found.counts.values()):
        lines.append("nothing was found" if not fixed else "nothing else was found")
    return lines


def _unmeasurable(found: Audit) -> Sequence[tuple[str, str]]:
    return sorted(found.unmeasurable.items())


def _named(one: Finding) -> str:
    ids = " ".join(one.ids[:3]) + (f" and {len(one.ids) - 3} more" if len(one.ids) > 3 else "")
    return f"{ids}  {one_line(one.detail, 160)}".rstrip()
