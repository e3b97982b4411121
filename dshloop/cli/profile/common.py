"""What the verbs of `dshloop profile` share: the profile that is meant, and how answers look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.complete import profile_names
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import invocation, new_app
from dshloop.errors import UsageError
from dshloop.result import Caution

if TYPE_CHECKING:
    from dshloop.profiles.checks.findings import Finding
    from dshloop.profiles.checks.subject import Case
    from dshloop.profiles.compose import Composition
    from dshloop.profiles.inbox.source import Inbox
    from dshloop.profiles.layout import Profile
    from dshloop.profiles.stack import Stack

app = new_app("profile", "Show, check, edit and create DSH profiles.", profile=True)
WAIT = 2.0  # seconds for another writer to finish before we refuse

Name = Annotated[
    str | None,
    typer.Argument(metavar="NAME", autocompletion=profile_names, help="The profile."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be written, and change nothing.")
]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show secrets instead of masking them.")]
Force = Annotated[bool, typer.Option("--force", help="Write it in spite of errors that are found.")]


def meant(run: Invocation, name: str | None) -> Profile:
    """Give the profile that an argument, --profile, a variable or config.yml names."""
    from dshloop.profiles.layout import choose_profile, find_profile

    if name is not None and run.profile is not None and name != run.profile:
        raise UsageError(f"two profiles are named: {name} and --profile {run.profile}")
    named = name if name is not None else run.profile
    configured = None if named is not None else run.config.get("profile")
    chosen = choose_profile(run.places, named, run.env.variables, configured)
    return find_profile(run.places, chosen)


def file_at(run: Invocation, text: str) -> Path:
    from dshloop.paths import absolute

    if not text:
        raise UsageError("a patch file needs a path")
    return absolute(text, run.env.cwd, run.env.variables)


def cautions(stack: Stack, composition: Composition) -> Iterator[Caution]:
    for one in stack.skipped:
        details = {"bundle": one.bundle, "reason": one.reason}
        yield Caution(one.line.removeprefix("dsh: "), "BUNDLE_SKIPPED", one.line, details)
    yield from warned(composition)


def warned(composition: Composition) -> Iterator[Caution]:
    for layer, message in composition.warnings:
        line = f"dsh: [{layer}] {message}"
        yield Caution(message, "PATCH_SKIPPED", line, {"layer": layer})


def case_for(run: Invocation, profile: Profile, inbox: Inbox | None) -> Case:
    """Give a profile to check, with all that is known here of the user's dsh and node."""
    from dshloop.cli.row_schemas import ROW_SCHEMAS
    from dshloop.dsh import Program, find_program, version_of
    from dshloop.profiles.checks.check import dialect_of
    from dshloop.profiles.checks.subject import Case, Schema
    from dshloop.profiles.edits.pins import pins_in
    from dshloop.profiles.plugins.compatibility import Engines

    variables = run.env.variables
    dsh, node = find_program("dsh", variables), find_program("node", variables)

    def ask(program: Program, variables: Mapping[str, str]) -> str | None:
        known = inbox if program is dsh else None
        return version_of(program, variables) if known is None else known.version

    def schemas(case: Case) -> Mapping[str, Schema]:
        from dshloop.profiles.inbox.schema import dsh_schemas

        if dsh is None or inbox is None or inbox.version is None:
            return {}
        with ExitStack() as shown:

            def say(message: str) -> None:
                shown.enter_context(run.progress(message))

            return dsh_schemas(dsh, case.bundles, run.places, variables, say)

    return Case(
        profile,
        inbox=inbox,
        dialect=dialect_of(inbox.version if inbox else None),
        schemas=ROW_SCHEMAS,
        dsh_schemas=schemas,
        engines=Engines(dsh, node, variables, ask),
        pins=pins_in(run.history.entries()),
    )


@contextmanager
def sole_writer(run: Invocation, profile: Profile) -> Iterator[None]:
    """Be the profile's only writer, for dsh too."""
    from dshloop.locks import hold, hold_dsh, lock_path

    what = f"profile {profile.name}"
    lock = lock_path(run.places.locks, profile.folder)
    with (
        hold(lock, command=run.command, wait=WAIT, what=what),
        hold_dsh(profile.manifest, command=run.command, wait=WAIT, what=what),
    ):
        yield


def restart_notice(profile: Profile) -> str:
    """Say what a change of a profile's bundles or rows needs."""
    from dshloop.profiles.plugins.changing import boot_command

    return f"A running dsh takes up edits of patch files. To boot: {boot_command(profile)}"


def as_caution(finding: Finding) -> Caution:
    """Give a finding as a warning beside an answer."""
    from dshloop.profiles.checks.findings import where_text

    where = where_text(finding.place)
    text = f"{finding.why}{f' [{where}]' if where else ''}\n  {finding.fix}"
    return Caution(text, finding.code, details=finding.as_json())


def row_ids(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the rows of the profile that is meant."""
    from dshloop.profiles.compose import compose
    from dshloop.profiles.row_names import id_text
    from dshloop.profiles.stack import stack_layers

    rows = compose(stack_layers(meant(invocation(ctx), None)).layers).walk()
    named = [(id_text(placed.row.get("id")), str(placed.row.get("name", ""))) for placed in rows]
    return [(row, name) for row, name in named if row.startswith(incomplete)]
