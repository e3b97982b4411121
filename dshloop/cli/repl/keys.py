"""The keys of a prompt beside those of Emacs that prompt_toolkit has."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

KEYS = (
    ("Enter", "say it; with \\ at the end of the line, begin another line"),
    ("Alt-Enter", "begin another line (Esc and then Enter does too)"),
    ("Up, Down", "go through what was said in this project"),
    ("Ctrl-R", "search it"),
    ("Tab", "complete a command or its argument"),
    ("Ctrl-O", "unfold the calls and thoughts of the last turn"),
    ("Ctrl-X Ctrl-E", "edit the line in $EDITOR"),
    ("Ctrl-C", "stop the answer or clear the line; twice within a second: leave"),
    ("Ctrl-D", "leave"),
    ("Ctrl-Z", "have the shell; fg comes back"),
)


def key_bindings(unfold: Callable[[], None]) -> KeyBindings:
    """Bind what `KEYS` has that is ours; the text is one of several lines all the time."""
    bindings = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)  # and not what is searched for

    @bindings.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if goes_on(buffer.document):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @bindings.add("c-x", "c-e", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.text = f"/edit {event.current_buffer.text}"
        event.current_buffer.validate_and_handle()

    @bindings.add("c-o")
    def _(_event: KeyPressEvent) -> None:
        run_in_terminal(unfold)

    return bindings


def goes_on(document: Document) -> bool:
    r"""Whether the cursor is behind a ``\`` at the end of a line; ``\\`` is one that is meant."""
    before = document.current_line_before_cursor
    slashes = len(before) - len(before.rstrip("\\"))
    return bool(slashes % 2) and not document.current_line_after_cursor
