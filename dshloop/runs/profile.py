"""The rows of a profile as a run takes them: composed, completed, with what is to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dshloop.host.rows import JAVASCRIPT, HostRow, host_rows
from dshloop.plugins.built_in import REPLACED, ROWS, completed

if TYPE_CHECKING:
    from dshloop.loops.loops_file import LoopsFile
    from dshloop.loops.rows import DockRows
    from dshloop.profiles.compose import Composition
    from dshloop.profiles.inbox.source import Inbox
    from dshloop.profiles.layout import Profile


@dataclass(frozen=True, slots=True)
class ProfileRows:
    """What a run starts; without a profile the built-in one."""

    rows: tuple[HostRow, ...] = ROWS
    profile: str | None = None
    notices: tuple[str, ...] = ()
    file: LoopsFile | None = None
    composition: Composition | None = field(default=None, repr=False, compare=False)

    @property
    def dock_rows(self) -> DockRows | None:
        """The rows that matter to the dock; None without a profile."""
        if self.composition is None:
            return None
        from dshloop.loops.rows import dock_rows

        return dock_rows(self.composition)


def profile_rows(profile: Profile, inbox: Inbox | None = None) -> ProfileRows:
    """Compose a profile; one without a dock gets ours in memory, and says so.

    ``inbox`` gives the bundles of the user's dsh. Raises what the profile's files have wrong.
    """
    from dshloop.loops.loops_file import NAME, read_loops_file
    from dshloop.profiles.compose import compose
    from dshloop.profiles.stack import stack_layers

    stack = stack_layers(profile, inbox=inbox)
    composition = compose(stack.layers)
    done = completed([_refusing(row) for row in host_rows(composition)])
    notices = [skipped.line.removeprefix("dsh: ") for skipped in stack.skipped]
    if done.added:
        names = _listed([row.name for row in done.added])
        notices.append(f"profile {profile.name} has no loop dock: {names} added in memory")
    file = read_loops_file(profile.folder / NAME)
    return ProfileRows(done.rows, profile.name, tuple(notices), file, composition)


def _refusing(row: HostRow) -> HostRow:
    """Have a dock or engine row whose config only dsh can evaluate say so when it starts.

    Left out, it would be replaced by ours, whose routes are others.
    """
    ours = row.name in REPLACED
    return replace(row, off=None) if ours and row.off == JAVASCRIPT else row


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
