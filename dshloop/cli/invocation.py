"""One run of the command line: what was asked of every verb alike, and where it works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dshloop.environment import Environment
from dshloop.paths import Places, find_places
from dshloop.result import Caution, Result

if TYPE_CHECKING:
    from dshloop.cli.output import Tell
    from dshloop.config import Config
    from dshloop.journal import Journal


@dataclass(slots=True)
class Invocation:
    """The common options of this run (filled in while the words are parsed) and its surroundings.

    ``answer`` is set by options that end the run by themselves, such as --help. ``cautions`` are
    told beside the answer, or beside the error that ends the run.
    """

    env: Environment
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    home: str | None = None
    data_dir: str | None = None
    profile: str | None = None
    words: tuple[str, ...] = ()
    answer: Result[Any] | None = None
    cautions: list[Caution] = field(default_factory=list)
    _journal: Journal | None = field(default=None, repr=False)

    @property
    def places(self) -> Places:
        """The folders this run works on."""
        env = self.env
        return find_places(env.variables, env.cwd, home=self.home, data_dir=self.data_dir)

    @property
    def config(self) -> Config:
        """What config.yml says, read at each call."""
        from dshloop.config import read_config

        return read_config(self.places)

    @property
    def command(self) -> str:
        """The command, quoted for a shell, for the journal and lock owners; without secrets."""
        import shlex

        from dshloop.redact import redact_text, redact_words

        return redact_text(shlex.join(("dshloop", *redact_words(self.words))))

    @property
    def journal(self) -> Journal:
        """The journal for this run's changes.

        Asked for by writers only: the first time, it puts in order what a killed command left.
        """
        if self._journal is None:
            self._journal = self.history
            self._journal.recover()
        return self._journal

    def journal_for(self, *, dry_run: bool) -> Journal:
        """Give the journal before a change is planned, for what a killed command left to be put in
        order by then; a dry run only reads it."""
        return self.history if dry_run else self.journal

    @property
    def history(self) -> Journal:
        """The journal for those who only read it: nothing is put in order."""
        from dshloop.journal import Journal

        return Journal(self.places.journal, clock=self.env.clock)

    @property
    def recovered(self) -> list[Caution]:
        """What was put in order, and other cautions, to be told beside the answer."""
        done = self._journal.recovered if self._journal else []
        return [*(Caution(one.message, code="RECOVERED") for one in done), *self.cautions]

    @contextmanager
    def progress(self, message: str) -> Iterator[Tell]:
        """Show that something takes its time, on a terminal only; lends a function that says how
        far it is."""
        from dshloop.cli.output import progress

        with progress(self.env, message, shown=not (self.json or self.quiet)) as tell:
            yield tell
