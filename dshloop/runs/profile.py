"""The rows of a profile as a run takes them: composed, completed, with what is to be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dshloop.host.rows import HostRow, host_rows
from dshloop.plugins.built_in import ROWS, completed

if TYPE_CHECKING:
    from dshloop.loops.loops_file import LoopsFile
    from dshloop.profiles.inbox.source import Inbox
    from dshloop.profiles.layout import Profile


@dataclass(frozen=True, slots=True)
class ProfileRows:
    """What a run starts; without a profile the built-in one."""

    rows: tuple[HostRow, ...] = ROWS
    profile: str | None = None
    notices: tuple[str, ...] = ()
    file: LoopsFile | None = None


def profile_rows(profile: Profile, inbox: Inbox | None = None) -> ProfileRows:
    """Compose a profile; one without a dock gets ours in memory, and says so.

    ``inbox`` gives the bundles of the user's dsh. Raises what the profile's files have wrong.
    """
    from dshloop.loops.loops_file import NAME, read_loops_file
    from dshloop.profiles.compose import compose
    from dshloop.profiles.stack import stack_layers

    stack = stack_layers(profile, inbox=inbox)
    composition = compose(stack.layers)
    done = completed(host_rows(composition))
    notices = [skipped.line.removeprefix("dsh: ") for skipped in stack.skipped]
    if done.added:
        names = " and ".join(row.name for row in done.added)
        notices.append(f"profile {profile.name} has no loop dock: {names} added in memory")
    file = read_loops_file(profile.folder / NAME)
    return ProfileRows(done.rows, profile.name, tuple(notices), file)
