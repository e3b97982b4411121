"""The verbs that go through many sessions: search and stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.params import Command, invocation, new_app
from dshloop.cli.session.common import Here, Session, Since, finding_warnings, narrowed
from dshloop.result import Result

if TYPE_CHECKING:
    from dshloop.sessions.search import Hit

app = new_app("session", "")


@app.command(cls=Command, epilog='Example: dshloop session search "deploy script"')
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="Words that must all be in what was said.")],
    cwd: Here = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many hits.")] = 20,
) -> Result[list[dict[str, Any]]]:
    """Find what was said in any session, ours and those of dsh, the newest first.

    Words are found in every form, in any script. What sessions say is kept in an index in our
    data folder, which follows them and can be removed at any time.
    """
    from dshloop.runs.kept.listing import short_ids
    from dshloop.sessions import search as searching
    from dshloop.sessions.catalog import entries
    from dshloop.sessions.index import SessionIndex

    invoked = invocation(ctx)
    everything = entries(invoked.places)
    index = SessionIndex(invoked.places.session_index)
    with invoked.progress("Reading what is new in the sessions …"):
        if everything:
            searching.bring_up_to_date(index, everything)
    found = searching.search(index, narrowed(invoked, everything, cwd, since), query, limit=limit)
    short = short_ids([entry.id for entry in everything], {hit.session for hit in found.hits})
    notices = ["nothing was found"] if not found.hits else []
    if found.more:
        notices.append(f"there is more: --limit {limit * 5}")
    return Result([hit.as_json() for hit in found.hits], _by_session(found.hits, short), notices)


@app.command(cls=Command)
def stats(
    ctx: typer.Context,
    session: Annotated[str | None, Session] = None,
    cwd: Here = None,
    since: Since = None,
) -> Result[dict[str, Any]]:
    """Count turns, tokens, tools and models of one session, or of all."""
    from dshloop.sessions.catalog import entries
    from dshloop.sessions.stats import gather, stats_of

    invoked = invocation(ctx)
    if session is None:
        with invoked.progress("Reading the sessions …"):
            found = gather(narrowed(invoked, entries(invoked.places), cwd, since))
        return Result(found.as_json(), _stats_text(found.as_json()))
    from dshloop.sessions.locate import locate

    one, findings = stats_of(locate(invoked.places, session, invoked.env.cwd).path)
    return Result(one.as_json(), _stats_text(one.as_json()), warnings=finding_warnings(findings))


def _by_session(hits: list[Hit], short: dict[str, str]) -> str:
    lines: list[str] = []
    last = ""
    for hit in hits:
        if hit.session != last:
            last = hit.session
            moment = hit.as_json()["time"][:16].replace("T", " ")
            lines.append(f"{short[hit.session]}  {moment}")
        who = {"user": "you", "context": "context"}.get(hit.kind, hit.kind)
        lines.append(f"  turn {hit.turn} {who}: {hit.snippet}")
    return "\n".join(lines)


def _stats_text(found: dict[str, Any]) -> str:
    names = ("sessions", "turns", "steps", "messages", "answers", "calls", "events", "bytes")
    lines = [f"{name:<10}{found[name]:>14,}" for name in names]
    if found["unreadable"]:
        lines.append(f"{'unreadable':<10}{found['unreadable']:>14,}")
    lines += [f"{'ended':<10}{count:>14,}  {kind}" for kind, count in found["ends"].items()]
    lines += [
        f"{'tokens':<10}{count:>14,}  {kind}" for kind, count in found["tokens"].items() if count
    ]
    lines += [
        f"{'model':<10}{each.get('answers', 0):>14,}  {name}"
        for name, each in found["models"].items()
    ]
    for tool in found["tools"]:
        failed = f" ({tool['failed']} failed)" if tool["failed"] else ""
        lines.append(f"{'tool':<10}{tool['calls']:>14,}  {tool['name']}{failed}")
    if found["first"]:
        lines.append(f"from {found['first'][:16]} to {found['last'][:16]}")
    return "\n".join(lines)
