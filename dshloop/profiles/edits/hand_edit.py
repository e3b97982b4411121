"""A patch file in the user's editor: on a copy, checked before it takes the file's place.

As visudo does, what a check refuses can be edited again, dropped, or written all the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from dshloop.errors import EditorFailedError
from dshloop.files import read_bytes
from dshloop.journal import Change
from dshloop.profiles.checks.check import check_profile
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.subject import Case
from dshloop.signals import uninterrupted

Choice = Literal["edit", "drop", "write"]
DEFAULT_EDITORS = ("sensible-editor", "nano", "vi", "notepad")


@dataclass(frozen=True, slots=True)
class Edited:
    """How an editing ended: the change to write (None: nothing to), and what is new in it."""

    change: Change | None
    findings: tuple[Finding, ...]


def edit_file(
    case: Case,
    path: Path,
    template: str,
    edit: Callable[[Path], None],
    choose: Callable[[Sequence[Finding]], Choice],
) -> Edited:
    """Let `edit` work on a copy until the check has nothing new of severity error, or as chosen.

    `template` is what a file that isn't there starts from.
    """
    before = read_bytes(path)
    start = template.encode() if before is None else before
    known = {_told(finding) for finding in check_profile(case).findings}
    with TemporaryDirectory(prefix="dshloop-edit-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(start)
        copy.chmod(0o600)
        while True:
            edit(copy)
            after = read_bytes(copy)
            if after is None or after in (start, before):
                return Edited(None, ())
            files = case.files.with_content(path, after)
            found = check_profile(replace(case, files=files)).findings
            new = tuple(one for one in found if _told(one) not in known)
            errors = [one for one in new if one.severity == "error"]
            choice = choose(errors) if errors else "write"
            if choice == "write":
                return Edited(Change(path, before, after), new)
            if choice == "drop":
                return Edited(None, new)


def _told(finding: Finding) -> tuple[str, str | None, str]:
    """Give what a finding says, wherever its line has moved."""
    return finding.code, finding.row, finding.why


def editor_command(variables: Mapping[str, str]) -> list[str]:
    """Give the words of the user's editor: $VISUAL, $EDITOR, else one that is there."""
    from dshloop.dsh import find_program

    for name in ("VISUAL", "EDITOR"):
        text = variables.get(name, "").strip()
        if text:
            try:
                return shlex.split(text)
            except ValueError as fault:
                raise EditorFailedError(f"${name} can't be read: {fault}", value=text) from None
    for name in DEFAULT_EDITORS:
        program = find_program(name, variables)
        if program is not None:
            return [str(program.path)]
    raise EditorFailedError("no editor is set and none was found")


def run_editor(command: Sequence[str], path: Path, variables: Mapping[str, str]) -> None:
    """Run the editor on a file, on the terminal of this process, Ctrl-C and all.

    Raises EDITOR_FAILED.
    """
    import subprocess

    try:
        with uninterrupted():
            done = subprocess.run([*command, str(path)], env=dict(variables), check=False)
    except OSError as fault:
        raise EditorFailedError(f"{command[0]} could not be started: {fault}") from fault
    if done.returncode != 0:
        raise EditorFailedError(
            f"{command[0]} ended with status {done.returncode}", status=done.returncode
        )
