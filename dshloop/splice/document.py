"""A YAML text that can be edited: each edit gives a new one, read back and compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

from dshloop.dsh_yaml import Document, Value, load_document
from dshloop.dsh_yaml.spans import Span, load_spans
from dshloop.errors import DshYamlInvalidError, SpliceRefusedError
from dshloop.splice.change import Edit, Path, as_read, with_value
from dshloop.splice.ending import add_last_item
from dshloop.splice.entries import insert_item, insert_key, remove_entry
from dshloop.splice.habits import learn_habits
from dshloop.splice.page import Cut, Page, overlapping, spliced
from dshloop.splice.replace import fill, replace
from dshloop.splice.same import same
from dshloop.splice.window import Window, find_window
from dshloop.splice.write import Habits

_BOM = "\ufeff"


class YamlText:
    """One YAML document as text. Only the bytes of what is edited change.

    Paths are keys (text) and indexes. Each edit reads its result back; when that is not exactly
    the intended value it raises SPLICE_REFUSED and nothing is done. `portable` quotes new text
    so that YAML 1.1 readers see the same; without it text is quoted as DSH's dump does.
    `document` spares reading a text that was read already.
    """

    def __init__(
        self,
        text: str,
        *,
        source: str = "text",
        portable: bool = False,
        document: Document | None = None,
    ) -> None:
        self.text = text
        self.source = source
        self.portable = portable
        self.document = document or load_document(text, source=source)
        self._bare = text.removeprefix(_BOM)

    @property
    def value(self) -> Value:
        """What the text holds; nobody changes it."""
        return self.document.value

    def set(self, path: Path, value: Value) -> YamlText:
        """Put a value at a path, in the maps that are missing on the way.

        A new key goes behind the last one of its map. SPLICE_REFUSED where no map is in the way.
        """
        return self._edited(Edit("set", tuple(path), as_read(value)))

    def unset(self, path: Path) -> YamlText:
        """Remove a key or an item; KeyError when it isn't there.

        Comments inside its block go with it, comments above it stay. What becomes empty is
        written ``{}`` or ``[]``.
        """
        return self._edited(Edit("unset", tuple(path)))

    def insert(self, path: Path, index: int, value: Value) -> YamlText:
        """Put an item into the list at a path (null is an empty one) before that of an index."""
        return self._edited(Edit("insert", tuple(path), as_read(value), index))

    def append(self, path: Path, value: Value) -> YamlText:
        """Put an item behind the last one of the list at a path."""
        here = self.value
        for step in path:
            here = here[step]
        return self.insert(path, len(here) if isinstance(here, list) else 0, value)

    def edited(self, edits: Sequence[Edit]) -> YamlText:
        """Make many edits, of which each holds for what those before it made.

        When they go from the end of the document to its beginning, they are made on one text and
        read back once; where some touch the same bytes, in as few steps as that takes.
        """
        if len(edits) < 2:
            return self._edited(edits[0]) if edits else self
        new = self._at_once(edits)
        if new is not None:
            return new
        half = len(edits) // 2
        return self.edited(edits[:half]).edited(edits[half:])

    def _at_once(self, edits: Sequence[Edit]) -> YamlText | None:
        cuts: list[Cut] = []
        layouts: dict[int, dict[str, int]] = {}
        wanted = self.value
        for edit in edits:
            habits = learn_habits(self.document, edit.path, portable=self.portable, known=layouts)
            try:
                cuts = [*_cuts(self._page, self.value, edit, habits), *cuts]
            except (SpliceRefusedError, LookupError, TypeError):
                return None  # made one by one, the one at fault says why
            wanted = edit.of(wanted)
        if overlapping(cuts):
            return None
        text = spliced(self._bare, cuts)
        read = _read(text, self.source)
        return self._with(text, read) if read and same(wanted, read.value) else None

    @cached_property
    def _page(self) -> Page:
        return Page(self._bare, load_spans(self._bare, source=self.source))

    def _edited(self, edit: Edit) -> YamlText:
        habits = learn_habits(self.document, edit.path, portable=self.portable)
        window = find_window(self.document, self._bare, edit)
        text = self._in_window(edit, window, habits) if window is not None else None
        if text is not None:
            document = dataclasses.replace(self.document, value=edit.of(self.value))
            return self._with(text, document)
        guess = add_last_item(self.document, self._bare, edit, habits)
        read = None if guess is None else _read(guess, self.source)
        if guess is not None and read is not None and same(edit.of(self.value), read.value):
            return self._with(guess, read)
        text = _make(self._page, self.value, edit, habits)
        wanted = edit.of(self.value)
        new = self._with(text, _read_back(text, edit, self.source))
        if not same(wanted, new.value):
            raise _unsafe(edit, self.source, "the text would not read back as intended")
        return new

    def _with(self, text: str, document: Document) -> YamlText:
        bom = _BOM if self.text.startswith(_BOM) else ""
        return YamlText(bom + text, source=self.source, portable=self.portable, document=document)

    def _in_window(self, edit: Edit, window: Window, habits: Habits) -> str | None:
        """Make an edit on a few items; None when they can't be told from the rest safely."""
        depth = len(window.path)
        piece = self._bare[window.start : window.end]
        inner = edit.within(depth, window.first)
        items = self.value
        for step in window.path:
            items = items[step]
        items = items[window.first : window.last]
        try:
            spans = load_spans(piece, source=self.source)
            if spans.anchored or spans.uses or not same(items, spans.document.value):
                return None
            made = _make(Page(piece, spans), items, inner, habits)
            back = load_document(made + window.following, source=self.source).value
        except (DshYamlInvalidError, SpliceRefusedError, KeyError):
            return None  # the whole text gives the reason with the right line
        if not same(inner.of(items) + ([None] if window.following else []), back):
            return None
        return self._bare[: window.start] + made + self._bare[window.end :]


def _make(page: Page, value: Value, edit: Edit, habits: Habits) -> str:
    """Give the text after an edit; KeyError or SPLICE_REFUSED when it can't be made."""
    return spliced(page.text, _cuts(page, value, edit, habits))


def _cuts(page: Page, value: Value, edit: Edit, habits: Habits) -> list[Cut]:
    """Plan an edit. Errors as of `_make`."""
    places = page.follow(edit.path)
    left = edit.path[len(places) - 1 :]
    for step in edit.path[: len(places) - 1]:
        value = value[step]
    place = places[-1]
    if edit.kind == "insert":
        if left or not isinstance(value, list | None):
            raise page.refusal(place.node.start, "it is no list")
        return insert_item(page, place, edit.index, edit.value, habits)
    if edit.kind == "unset":
        if left or not edit.path:
            raise KeyError(".".join(map(str, edit.path)))
        return remove_entry(page, place, places[-2], habits)
    if not left:
        return replace(page, place, edit.value, habits)
    _require_map(page, place.node, value, left[0])
    inner = with_value(None, left[1:], edit.value)
    if place.node.entries:
        return insert_key(page, place, str(left[0]), inner, habits)
    put = replace if place.holder is None else fill
    return put(page, place, {str(left[0]): inner}, habits)


def _require_map(page: Page, node: Span, value: Value, key: str | int) -> None:
    page.require_own(node)
    if isinstance(key, int) and value is not None:
        raise page.refusal(node.start, f"there is no item {key}")
    if node.kind == "pair" or (value is not None and node.kind != "mapping"):
        raise page.refusal(node.start, "the value there is no mapping")


def _read(text: str, source: str) -> Document | None:
    try:
        return load_document(text, source=source)
    except DshYamlInvalidError:
        return None


def _read_back(text: str, edit: Edit, source: str) -> Document:
    try:
        return load_document(text, source=source)
    except DshYamlInvalidError as error:
        raise _unsafe(edit, source, error.message) from None


def _unsafe(edit: Edit, source: str, why: str) -> SpliceRefusedError:
    name = ".".join(map(str, edit.path)) or "the document"
    return SpliceRefusedError(
        f"{source}: {name} can't be edited safely; nothing was changed ({why})",
        file=source,
        path=list(edit.path),
    )
