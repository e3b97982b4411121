"""What was learned of a dsh, kept in our data folder for as long as that very program is there.

One file for each dsh, named by the path of its program; it holds the path, size and mtime of all
files that start it, and is learned anew when these change, or when it can't be read. Processes
that need the same thing at once wait for the one that learns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dshloop.dsh import Program
from dshloop.errors import DshloopError, LockHeldError, ProgramFailedError, WriteFailedError
from dshloop.files import digest, read_bytes, replace_file
from dshloop.paths import Places, private_folder
from dshloop.profiles.inbox.difference import from_plain, plain
from dshloop.profiles.inbox.installation import Installation
from dshloop.profiles.inbox.learned import Learned, learned_layer
from dshloop.profiles.inbox.source import Found, Unusable, age_notices, askable

SCHEMA = 1
WAIT = 120.0  # seconds for another process that is learning


@dataclass(slots=True)
class Record:
    """One cache file: which dsh it is of, its version, and what was learned."""

    key: list[list[str | int]]
    version: str | None = None
    learned: Learned = field(default_factory=Learned)

    def as_bytes(self) -> bytes:
        """Give the file's content."""
        value = {
            "schema": SCHEMA,
            "files": self.key,
            "version": self.version,
            "bundles": self.learned.bundles,
            "lists": self.learned.lists,
        }
        return plain(value).encode() + b"\n"


def read_record(path: Path, key: list[list[str | int]]) -> Record | None:
    """Read what was learned of the dsh with this key; None when that can't be had."""
    try:
        value = from_plain(read_bytes(path) or b"null")
        if value["schema"] != SCHEMA or value["files"] != key:
            return None
        bundles, lists, version = value["bundles"], value["lists"], value["version"]
        kept = all(map(_is_bundle, bundles.values())) and all(map(_is_list, lists.values()))
    except (DshloopError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return Record(key, version, Learned(bundles, lists)) if kept else None


class LearnedInbox:
    """The bundles of a dsh that is asked for them where they aren't known yet.

    A dsh that can't be asked has none, and ``notices`` say why.
    """

    def __init__(
        self,
        program: Program,
        installation: Installation,
        places: Places,
        variables: Mapping[str, str],
        progress: Callable[[str], None] | None = None,
    ) -> None:
        name = f"{(digest(str(installation.files[0]).encode()) or '')[:16]}.json"
        self.path = places.data / "inbox" / name
        self._lock = places.locks / f"inbox-{name}.lock"
        self._program, self._variables = program, variables
        self._key, self._progress = installation.key, progress
        self._record: Record | None = None
        self._fault: str | None = None

    @property
    def version(self) -> str | None:
        """What was learned with the bundles, else what dsh says now."""
        self._record = self._record or read_record(self.path, self._key)
        return self._record.version if self._record is not None else self._said

    @cached_property
    def _said(self) -> str | None:
        from dshloop.dsh import version_of

        return version_of(self._program, self._variables)

    @property
    def notices(self) -> list[str]:
        """Say what went wrong, and when this dsh is older than what we know."""
        fault = [self._fault] if self._fault else []
        return [*fault, *age_notices(self._record.version if self._record else None)]

    def find(self, bundles: Sequence[Any]) -> list[Found | None]:
        """Give layers for a bundle list, asking dsh for what isn't known yet."""
        names = [name for name in bundles if askable(name)]
        learned = Learned()
        try:
            if names and self._fault is None:  # a dsh that gave no answer is not asked again
                learned = self._learned(names)
        except ProgramFailedError as fault:
            self._fault = f"the bundles of dsh are left out: {fault.message}"
        usable = learned.usable(names)
        layers = iter(map(learned_layer, usable, learned.patches(usable)))
        return [self._found(learned.bundles.get(name), layers) for name in map(_name, bundles)]

    @staticmethod
    def _found(known: Any, layers: Iterator[Found]) -> Found | None:
        if isinstance(known, list):
            return next(layers)
        return None if known is None else Unusable(known)

    def _learned(self, names: Sequence[str]) -> Learned:
        self._record = self._record or read_record(self.path, self._key)
        if self._record is None or not self._record.learned.knows(names):
            with self._alone():
                self._learn(names)
        assert self._record is not None
        return self._record.learned

    def _learn(self, names: Sequence[str]) -> None:
        """Learn what another process hasn't learned meanwhile, and keep it."""
        import tempfile

        from dshloop.profiles.inbox.ask import Questions
        from dshloop.profiles.inbox.learn import learn

        record = read_record(self.path, self._key)
        if record is None or not record.learned.knows(names):
            if self._progress is not None:
                self._progress("asking dsh for its bundles (once)")
            if record is None and self._said is None:
                raise ProgramFailedError(f"{self._program.path} does not tell its version")
            record = record or Record(self._key, self._said)
            with tempfile.TemporaryDirectory(prefix="dshloop-inbox-") as home:
                learn(record.learned, names, Questions(self._program, self._variables, Path(home)))
            self._keep(record)
        self._record = record

    def _keep(self, record: Record) -> None:
        """Write the cache; where that can't be done, dsh is asked again the next time."""
        try:
            private_folder(self.path.parent)
            replace_file(self.path, record.as_bytes(), mode=0o600)
        except (WriteFailedError, OSError):
            return

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from learning the same; go on when that can't be had."""
        from dshloop.locks import hold

        with ExitStack() as stack:
            try:
                stack.enter_context(hold(self._lock, command="learn dsh's bundles", wait=WAIT))
            except (LockHeldError, WriteFailedError):
                pass
            yield


def _name(bundle: Any) -> str:
    return bundle if askable(bundle) else ""


def _is_patches(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(patch, dict) for patch in value)


def _is_bundle(value: Any) -> bool:
    return value is None or isinstance(value, str) or _is_patches(value)


def _is_list(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_patches, value)))
