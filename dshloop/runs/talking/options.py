"""What is asked of a run: which session, on what, and what comes with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.models import ModelAsked
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from dshloop.drivers.script import Script
    from dshloop.drivers.settings import EngineSettings
    from dshloop.llm.providers import Providers
    from dshloop.runs.process import Process
    from dshloop.runs.talking.approving import Ask, Asking
    from dshloop.runs.talking.attaching import Attachment
    from dshloop.sessions.session import Session


class Watcher(Protocol):
    """Told of a session from its opening to its end, event by event."""

    def begin(self, session: Session) -> None:
        """Take what the session holds already."""
        ...

    def see(self, event: Event) -> None:
        """Take a new event."""
        ...

    def end(self) -> None:
        """Let go; nothing comes any more."""
        ...


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which session to open, and on what.

    ``moved`` says that ``cwd`` was asked for: a session that works elsewhere is refused then.
    ``resume`` is ``last``, an id or the beginning of one; without it a new session begins, named
    ``session_id`` if given. ``driver`` is a name as typed; ``loop`` and ``preset`` are ids.
    With ``force_rebind`` a log that can't be read is gone on with in a new session, bound anew;
    with ``rebind`` a session where nothing was said yet runs on what is named here, whatever it
    recorded before.
    ``engines`` is for drivers of other programs, ``ask`` a yes-or-no question to the person; with
    ``allow_partial`` a driver leaves out what it doesn't carry of a loop.
    ``fork`` goes on in a copy of ``resume``, named ``session_id`` if given; with ``read_only`` the
    tools that change something are off, and ``resume`` is not written to, unless it is ``ours``:
    made for this conversation.
    ``script`` is what the fake driver says; ``model`` what was typed of a real one, which is of the
    ``providers`` that are set up. ``system`` is added to the prompt.
    ``attached`` goes along with the first prompt; ``watcher`` is told of every event;
    ``prepare`` sees what runs before a session is opened.
    """

    cwd: Path
    command: str
    moved: bool = False
    driver: str | None = None
    loop: str | None = None
    preset: str | None = None
    session_id: str | None = None
    resume: str | None = None
    force_rebind: bool = False
    script: Script | None = None
    model: ModelAsked = field(default_factory=ModelAsked)
    providers: Callable[[], Providers] | None = None
    rows: ProfileRows = field(default_factory=ProfileRows)
    engines: EngineSettings | None = None
    ask: Ask | Asking | None = None
    allow_partial: bool = False
    rebind: bool = False
    fork: bool = False
    read_only: bool = False
    ours: bool = False
    system: str | None = None
    attached: Sequence[Attachment] = ()
    watcher: Watcher | None = None
    prepare: Callable[[Process], object] | None = None

    @property
    def seed(self) -> int | None:
        """What fixes the draws of who answers."""
        return self.model.seed
