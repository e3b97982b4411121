"""A session's folder, and the only way into it: no path, link or swap leads out of it.

Every folder on a path is opened from the one above it, never through a link: a link is read and
its target walked from where it stands, so that whatever is swapped meanwhile, each file that is
opened lies beneath the root as it was opened first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from dshloop.files import require_file, shown, why
from dshloop.host.tools import ToolFailure

WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether folders can be opened from one another; elsewhere the file tools refuse."""

_MOST_LINKS = 40
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_LINKED = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


class Place(NamedTuple):
    """A folder that is open, and the name in it that a path means; "" is the folder itself."""

    folder: int
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that tools work in, an absolute path."""

    root: Path

    @contextlib.contextmanager
    def place(self, path: str, *, make: bool = False) -> Iterator[Place]:
        """Open the folder a path ends in; its last name was no link when it was looked at.

        ``make`` makes the folders that are missing. Raises ToolFailure: OUTSIDE_WORKSPACE,
        NOT_FOUND, NOT_READABLE, UNSUPPORTED.
        """
        if not WALKS:
            said = "this system has no way to open files that surely lie in the workspace"
            raise ToolFailure(said, "WorkspaceError", "UNSUPPORTED")
        with _told(path), _Walk(self.root, path, make) as walk:
            walk.to_the_end()
            yield walk.place

    @contextlib.contextmanager
    def file(self, path: str) -> Iterator[tuple[int, os.stat_result]]:
        """Open a regular file for reading. Raises as `place`, and NOT_A_FILE."""
        with self.place(path) as place, _told(path):
            descriptor = _open(place, _FILE)
            try:
                found = os.fstat(descriptor)
                require_file(found)
                yield descriptor, found
            finally:
                os.close(descriptor)

    @contextlib.contextmanager
    def folder(self, path: str) -> Iterator[tuple[int, str]]:
        """Open a folder for listing; gives its path from the root too. Raises as `place`."""
        with self.place(path) as place, _told(path):
            if not place.name:
                yield place.folder, place.path
                return
            descriptor = _open(place, _FOLDER)
            try:
                yield descriptor, place.path
            finally:
                os.close(descriptor)


def refuse_gits(names: Sequence[str], path: str) -> None:
    """Raise ToolFailure, PROTECTED, for what is git's: a hook or a setting runs later."""
    if any(name.casefold() == ".git" for name in names):
        said = f"{shown(path)} is git's own, which edit leaves alone"
        raise ToolFailure(said, "ProtectedError", "PROTECTED")


class _Walk:
    """A way down from the root: the folders that are open, and the names still to go."""

    def __init__(self, root: Path, path: str, make: bool) -> None:
        self.root = root
        self._make = make
        self._text = path
        self._names = _names(path, root)
        self._folders: list[int] = []
        self._taken: list[str] = []
        self._links = 0

    def __enter__(self) -> _Walk:
        self._folders.append(os.open(self.root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)))
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._folders:
            os.close(descriptor)

    @property
    def place(self) -> Place:
        """Where the walk has come to."""
        name = self._names[0] if self._names else ""
        path = "/".join([*self._taken, *self._names])
        return Place(self._folders[-1], name, path)

    def to_the_end(self) -> None:
        """Go down until one name is left, which is no link."""
        while self._names:
            name = self._names[0]
            if name == "..":
                self._up()
            elif len(self._names) > 1:
                self._down(name)
            elif not self._follow(name):
                return

    def _up(self) -> None:
        self._names.pop(0)
        if not self._taken:
            raise outside(self._text)
        self._taken.pop()
        os.close(self._folders.pop())

    def _down(self, name: str) -> None:
        try:
            opened = os.open(name, _FOLDER, dir_fd=self._folders[-1])
        except FileNotFoundError:
            if not self._make:
                raise
            self._make_folder(name)
            return
        except OSError as error:
            if error.errno in _LINKED and self._follow(name):
                return
            raise
        self._folders.append(opened)
        self._taken.append(self._names.pop(0))

    def _make_folder(self, name: str) -> None:
        """Make the first folder that is missing, once nothing of the way is refused any more."""
        straight = _without_detours(self._names)  # behind it there are no links to follow
        if len(straight) < len(self._names):
            self._names = straight
            return
        refuse_gits([*self._taken, *self._names], self._text)
        os.mkdir(name, dir_fd=self._folders[-1])

    def _follow(self, name: str) -> bool:
        """Put a link's target in the place of its name; False where it is no link."""
        try:
            target = os.readlink(name, dir_fd=self._folders[-1])
        except OSError:
            return False
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        absolute = target.startswith("/")
        try:
            names = _names(target, self.root)
        except ToolFailure as error:
            raise outside(self._text) from error
        if absolute:
            while self._taken:
                self._taken.pop()
                os.close(self._folders.pop())
        self._names[:1] = names
        return True


def _names(path: str, root: Path) -> list[str]:
    """Split a path into names; an absolute one must lie in the root. Raises ToolFailure."""
    if "\0" in path:
        raise ToolFailure("a path holds no null character", "PathError", "NOT_FOUND")
    pure = PurePosixPath(path.replace(os.sep, "/"))
    if pure.is_absolute():
        for base in (root, Path(os.path.realpath(root))):
            try:
                return [name for name in pure.relative_to(base.as_posix()).parts if name != "."]
            except ValueError:
                continue
        raise outside(path)
    return [name for name in pure.parts if name != "."]


def _open(place: Place, flags: int) -> int:
    if not place.name:
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file")
    found = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    if flags == _FILE and not stat.S_ISLNK(found.st_mode):
        require_file(found)  # opening a device may already do something
    return os.open(place.name, flags, dir_fd=place.folder)


def outside(path: str) -> ToolFailure:
    """Make the failure for a path that leads out."""
    said = f"{shown(path)} leads out of the workspace"
    return ToolFailure(said, "WorkspaceError", "OUTSIDE_WORKSPACE")


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    """Turn what the system says into the failure of a call."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolFailure(f"there is no {shown(path)}", "NotFoundError", "NOT_FOUND") from error
    except OSError as error:
        said = f"can't open {shown(path)}: {why(error)}"
        raise ToolFailure(said, "WorkspaceError", "NOT_READABLE") from error


def _without_detours(names: Sequence[str]) -> list[str]:
    """Take each folder that a ``..`` leaves again out of a way."""
    kept: list[str] = []
    for name in names:
        if name == ".." and kept and kept[-1] != "..":
            kept.pop()
        else:
            kept.append(name)
    return kept
