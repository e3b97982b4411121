"""What git ignores: the patterns of `.gitignore` files, as gitignore(5) has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple


class Rule(NamedTuple):
    """A pattern; ``base`` is the folder its file stands in, from the root, "" or with a slash.

    For a file above the root, ``above`` is the way from its folder down to the root.
    """

    base: str
    matches: re.Pattern[str]
    folders_only: bool
    keeps: bool
    above: str = ""

    def applies(self, path: str) -> bool:
        """Whether the pattern matches a path from the root."""
        if not path.startswith(self.base):
            return False
        return self.matches.fullmatch(self.above + path[len(self.base) :]) is not None


def read_rules(text: str, base: str = "", above: str = "") -> Iterator[Rule]:
    """Read the patterns of one file; what is no pattern is passed over."""
    for line in text.splitlines():
        pattern = _stripped(line)
        if not pattern or pattern.startswith("#"):
            continue
        keeps = pattern.startswith("!")
        pattern = pattern[1:] if keeps else pattern
        folders_only = pattern.endswith("/")
        pattern = pattern.rstrip("/") if folders_only else pattern
        if pattern:
            try:
                yield Rule(base, _compiled(pattern), folders_only, keeps, above)
            except re.error:
                continue


def is_ignored(rules: Sequence[Rule], path: str, *, folder: bool) -> bool:
    """Whether the last rule that matches a path from the root takes it out."""
    for rule in reversed(rules):
        if rule.folders_only and not folder:
            continue
        if rule.applies(path):
            return not rule.keeps
    return False


def _stripped(line: str) -> str:
    """Take blanks at the end away, but for one behind a backslash."""
    kept = line.rstrip(" \t\r")
    blank = len(kept) < len(line) and kept.endswith("\\") and not kept.endswith("\\\\")
    return kept + " " if blank else kept


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    return re.compile(("" if anchored else "(?:.*/)?") + "".join(_parts(pattern)), re.DOTALL)


_TOKEN = re.compile(
    r"(?P<lead>^\*\*/)|(?P<trail>/\*\*$)|(?P<middle>/\*\*/)|(?P<star>\*+)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?[^\]]*\])|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)
_FIXED = {
    "lead": "(?:.*/)?",
    "trail": "/.+",
    "middle": "/(?:.*/)?",
    "star": "[^/]*",
    "one": "[^/]",
}


def _parts(pattern: str) -> Iterator[str]:
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup or ""
        if kind in _FIXED:
            yield _FIXED[kind]
        elif kind == "set":
            inner = token[0][1:-1]
            negated = inner[:1] in ("!", "^")
            inner = (inner[1:] if negated else inner).replace("\\", "\\\\").replace("[", "\\[")
            yield f"(?!/)[{'^' if negated else ''}{inner}]"
        else:
            yield re.escape(token[kind])
