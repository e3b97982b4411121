"""The place in the text, line and indentation: what every part of the reader moves.

This package is a port of js-yaml 4.2's lib/loader.js (MIT, Copyright (C) 2011-2015 by Vitaly
Puzrin), so that DSH and dshloop accept the same files, with the same errors at the same places.
"""

from __future__ import annotations

import re

from dshloop.dsh_yaml.document import TextMap
from dshloop.dsh_yaml.reader.snippet import snippet
from dshloop.errors import DshYamlInvalidError

END = "\0"
SPACE = frozenset(" \t")
BREAK = frozenset("\n\r")
SPACE_OR_BREAK = frozenset(" \t\n\r")
FLOW_INDICATORS = frozenset(",[]{}")
_END_OF_LINE = re.compile("[\n\r\0]")
_SPACES = re.compile(" *")
_PAST_END = END * 4  # what looks three characters ahead needs no bounds check


class Cursor:
    """Walks one text; `pos` is an offset, `line_start` that of the line's first character."""

    def __init__(self, text: str, source: str) -> None:
        if text and text[-1] not in BREAK:
            text += "\n"
        text = text.removeprefix("\ufeff")
        self.source = source
        self.text_map = TextMap(text)
        self.length = len(text)
        self.pos = 0
        self.line_start = 0
        self.line = 0
        self.indent = 0
        self.first_tab = -1
        """Offset of the first tab before content in this line, -1 when there is none."""
        self.text = text + _PAST_END
        if END in text:
            self.pos = text.index(END)
            raise self.fault("null byte is not allowed in input")

    def fault(
        self, reason: str, at: int | None = None, *, says_place: bool = True
    ) -> DshYamlInvalidError:
        """Make the error for the place `at` (an offset), else for where we are.

        Without `says_place` the message has no line, as js-yaml's has none; the details have it.
        """
        offset = self.pos if at is None else at
        place = self.text_map.position(offset)
        shown = f" ({place.line}:{place.column})" if says_place else ""
        return DshYamlInvalidError(
            f"{self.source}: {reason}{shown}",
            file=self.source,
            line=place.line,
            column=place.column,
            reason=reason,
            snippet=snippet(self.text_map.text, offset),
        )

    def read_break(self) -> None:
        """Step over one line break."""
        char = self.text[self.pos]
        if char not in BREAK:
            raise self.fault("a line break is expected")
        self.pos += 2 if self.text.startswith("\r\n", self.pos) else 1
        self.line += 1
        self.line_start = self.pos
        self.first_tab = -1

    def skip_space(self, *, comments: bool = True) -> int:
        """Step over blanks, line breaks and comments; give the number of line breaks."""
        breaks = 0
        text = self.text
        while True:
            char = text[self.pos]
            while char in SPACE:
                if char == "\t" and self.first_tab == -1:
                    self.first_tab = self.pos
                self.pos += 1
                char = text[self.pos]
            if char == "#" and comments:
                self.to_end_of_line()
                char = text[self.pos]
            if char not in BREAK:
                return breaks
            self.read_break()
            breaks += 1
            self.indent = self.skip_spaces()

    def skip_spaces(self) -> int:
        """Step over spaces (no tabs); give their number."""
        start = self.pos
        match = _SPACES.match(self.text, start)
        self.pos = match.end() if match else start
        return self.pos - start

    def skip_blanks(self) -> None:
        """Step over spaces and tabs of this line."""
        while self.text[self.pos] in SPACE:
            self.pos += 1

    def to_end_of_line(self) -> None:
        """Go to the next line break, or to the end."""
        match = _END_OF_LINE.search(self.text, self.pos)
        self.pos = match.start() if match else self.length

    def at_separator(self) -> bool:
        """Tell whether `---` or `...` stands here; asked at the start of a line only."""
        return (
            self.text.startswith(("---", "..."), self.pos)
            and self.text[self.pos + 3] in " \t\n\r\0"
        )
