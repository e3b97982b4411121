"""A text of the person's, written in the editor of their choice."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from dshloop.errors import EditorFailedError


async def edited(text: str, variables: Mapping[str, str], unsaid: Callable[[str], object]) -> str:
    """Have a text edited in $VISUAL or $EDITOR; gives it without line ends at its own ends.

    Cancelled, it ends the editor. What was written with an editor that failed or was ended is
    given to ``unsaid``. Raises EDITOR_FAILED.
    """
    from dshloop.profiles.edits.hand_edit import editor_command

    command = editor_command(variables)
    descriptor, name = tempfile.mkstemp(suffix=".md", prefix="dshloop-")
    path = Path(name)
    try:
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            file.write(text)
        try:
            await _run([*command, name], variables)
        except (EditorFailedError, asyncio.CancelledError):
            unsaid(_read(path))
            raise
        return _read(path)
    finally:
        path.unlink(missing_ok=True)


def _read(path: Path) -> str:
    """Read what was written, nothing from a file that is gone."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\n")
    except OSError:
        return ""


async def _run(words: list[str], variables: Mapping[str, str]) -> None:
    try:
        process = await asyncio.create_subprocess_exec(*words, env=dict(variables))
    except OSError as fault:
        raise EditorFailedError(f"{words[0]} could not be started: {fault.strerror}") from fault
    try:
        status = await process.wait()
    except asyncio.CancelledError:
        process.terminate()
        raise
    if status != 0:
        raise EditorFailedError(f"{words[0]} ended with status {status}", status=status)
