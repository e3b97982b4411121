"""One change of one path: how it is noted, made and taken back."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.files import remove_file, replace_file, sync_folder, writing
from dshloop.journal.state import State, look, same, state_from
from dshloop.journal.store import Store
from dshloop.locks import remove_stale_locks


@dataclass(frozen=True, slots=True)
class Step:
    """A path, what was there and what comes there.

    `before_tree` is where a folder that has to go is set aside, `after_tree` where the one to
    come is taken from; taking the step back moves them the other way. `folders` had to be made,
    outermost first. A `watched` step leaves the change to another program: its `after` is what
    is found at the end.
    """

    path: Path
    before: State | None
    after: State | None
    before_tree: Path | None = None
    after_tree: Path | None = None
    folders: tuple[Path, ...] = ()
    watched: bool = False

    def reversed(self) -> Step:
        """Give the step that leads back, without making folders."""
        return Step(self.path, self.after, self.before, self.after_tree, self.before_tree)

    def as_json(self) -> dict[str, Any]:
        """Give the value that `step_from` reads."""
        values: dict[str, Any] = {
            "path": str(self.path),
            "before": self.before.as_json() if self.before else None,
            "after": self.after.as_json() if self.after else None,
        }
        if self.before_tree:
            values["before_tree"] = str(self.before_tree)
        if self.after_tree:
            values["after_tree"] = str(self.after_tree)
        if self.folders:
            values["folders"] = [str(folder) for folder in self.folders]
        if self.watched:
            values["watched"] = True
        return values


def step_from(values: Mapping[str, Any]) -> Step:
    """Read what `Step.as_json` gave; KeyError, TypeError or ValueError on anything else."""
    before_tree, after_tree = values.get("before_tree"), values.get("after_tree")
    return Step(
        path=Path(values["path"]),
        before=state_from(values["before"]),
        after=state_from(values["after"]),
        before_tree=Path(before_tree) if before_tree else None,
        after_tree=Path(after_tree) if after_tree else None,
        folders=tuple(Path(folder) for folder in values.get("folders", ())),
        watched=bool(values.get("watched", False)),
    )


def missing_folders(path: Path) -> tuple[Path, ...]:
    """List the folders above `path` that aren't there, outermost first."""
    missing: list[Path] = []
    for folder in path.parents:
        if os.path.lexists(folder):
            break
        missing.insert(0, folder)
    return tuple(missing)


def make(step: Step, store: Store, temporary: str) -> None:
    """Bring `step.path` from `before` to `after`; each move is atomic and lasting.

    Between a folder and something else the path is absent for a moment. `temporary` names what
    is put beside the path, so that a crash leaves nothing unknown.
    """
    with writing(step.path):
        for folder in missing_folders(step.path):
            folder.mkdir()
            sync_folder(folder.parent)
        _clear(step, temporary)
        _fill(step, store, temporary)


def take_back(step: Step, store: Store, temporary: str) -> bool:
    """Bring `step.path` back to `before` from wherever a crash left it.

    False, and nothing is done, when somebody else has put another content there.
    """
    discard(step.path.with_name(temporary))
    now, _ = look(step.path)
    if not same(now, step.before):
        if not (same(now, step.after) or _halfway(step, now)):
            return False
        if step.after_tree is not None and same(now, step.after):
            discard(step.after_tree)  # there only when a crash cut a move across disks short
        back = Step(step.path, now, step.before, step.after_tree, step.before_tree)
        make(back, store, temporary)
    else:
        _restore_mode(step, now)
        if step.before_tree is not None:
            discard(step.before_tree)
    remove_folders(step.folders)
    return True


def remove_folders(folders: tuple[Path, ...]) -> None:
    """Remove folders that we had made, innermost first, as far as they are empty.

    A lock of dsh that was left in one by a killed process doesn't keep it.
    """
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            remove_stale_locks(folder)
            folder.rmdir()
            sync_folder(folder.parent)


def _halfway(step: Step, now: State | None) -> bool:
    """Whether `now` is a state that the step, or the program it left the path to, passes."""
    if step.watched:
        return now is None or now.kind != "tree"
    kinds = {state.kind for state in (step.before, step.after) if state is not None}
    return now is None and "tree" in kinds


def _restore_mode(step: Step, now: State | None) -> None:
    """Undo a change of the mode alone; a mode that the step didn't touch is not its business."""
    if not (now and step.before and step.after and now.kind == "file"):
        return
    if step.before.mode not in (None, step.after.mode):
        with writing(step.path):
            step.path.chmod(step.before.mode or 0)


def _clear(step: Step, temporary: str) -> None:
    """Take away what can't be replaced by renaming something over it."""
    if step.before is None:
        return
    if step.before.kind == "tree":
        if step.before_tree is None:
            raise ValueError(f"no place to set the folder {step.path} aside")
        move_tree(step.path, step.before_tree, temporary)
    elif step.after is None or step.after.kind == "tree":
        remove_file(step.path)


def _fill(step: Step, store: Store, temporary: str) -> None:
    wanted = step.after
    if wanted is None:
        return
    if wanted.kind == "file":
        data = store.get(wanted.value)
        replace_file(step.path, data, mode=_mode_for(step), follow=False, temporary=temporary)
    elif wanted.kind == "link":
        _place_link(step.path, wanted.value, temporary)
    elif step.after_tree is None:
        raise ValueError(f"no place to take the folder {step.path} from")
    else:
        move_tree(step.after_tree, step.path, temporary)


def _mode_for(step: Step) -> int | None:
    """Give the mode to set; None keeps the file's own, where the step isn't about the mode."""
    if step.after is None:
        return None
    if step.before is not None and step.before.kind == "file":
        return None if step.before.mode == step.after.mode else step.after.mode
    return step.after.mode


def _place_link(path: Path, target: str, temporary: str) -> None:
    beside = path.with_name(temporary)
    discard(beside)
    beside.symlink_to(target)
    try:
        beside.replace(path)
    except BaseException:
        beside.unlink()
        raise
    sync_folder(path.parent)


def move_tree(source: Path, target: Path, temporary: str) -> None:
    """Move a folder so that it is at one of the two places, whole, at any time.

    Across file systems it is copied beside the target first; a crash then may leave it at both.
    """
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_by_copy(source, target, temporary)
    sync_folder(target.parent)
    sync_folder(source.parent)


def _move_by_copy(source: Path, target: Path, temporary: str) -> None:
    import shutil

    copy = target.with_name(temporary)
    discard(copy)
    try:
        shutil.copytree(source, copy, symlinks=True)
        _sync_tree(copy)
        copy.rename(target)
    except BaseException:
        discard(copy)
        raise
    leaving = source.with_name(temporary)
    source.rename(leaving)
    discard(leaving)


def _sync_tree(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                continue
            with path.open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(parent))


def discard(path: Path) -> None:
    """Remove a file, a link or a whole folder of ours; fine when it is absent."""
    if not os.path.lexists(path):  # nor can it be where its name is too long
        return
    if path.is_dir() and not path.is_symlink():
        import shutil

        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
