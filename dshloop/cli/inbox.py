"""The bundles of the user's dsh for the commands that compose a profile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from dshloop.cli.invocation import Invocation

if TYPE_CHECKING:
    from dshloop.profiles.inbox.source import Inbox


@contextmanager
def user_inbox(run: Invocation, *, silent: bool = False) -> Iterator[Inbox | None]:
    """Give the bundles of the dsh on PATH, with progress while it has to be asked for them.

    ``silent`` is for commands that show another progress meanwhile.
    """
    from dshloop.profiles.inbox.source import user_inbox

    with ExitStack() as shown:

        def progress(message: str) -> None:
            shown.close()
            shown.enter_context(run.progress(message))

        yield user_inbox(run.places, run.env.variables, None if silent else progress)


def notices(inbox: Inbox | None) -> list[str]:
    """Give what people should know of their dsh."""
    return [] if inbox is None else list(inbox.notices)
