"""A session as Markdown: tool calls, thoughts and injected context are folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from dshloop.sessions.export.about import About
from dshloop.sessions.export.pieces import Piece
from dshloop.terminal import one_line, visible

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_RUNS = re.compile(r"`+|~+")
_CODE_SPAN = re.compile(r"(`+[^`\n]+`+)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def markdown(about: About, said: Iterable[Piece]) -> str:
    """Write the page; what was said can't end or open a part of it."""
    head = [
        f"# {_inline(about.title or about.id)}",
        *(f"- {k}: {_value(v)}" for k, v in about.facts),
    ]
    parts = ["\n".join([head[0], "", *head[1:]]), *_parts(said)]
    return "\n\n".join(parts) + "\n"


def _parts(said: Iterable[Piece]) -> Iterator[str]:
    for piece in said:
        yield _WRITERS[piece.kind](piece)


def _turn(piece: Piece) -> str:
    return f"## Turn {_inline(piece.label)}"


def _user(piece: Piece) -> str:
    return "**You**\n\n" + "\n".join(f"> {line}".rstrip() for line in _lines(piece.text))


def _assistant(piece: Piece) -> str:
    name = f"**Assistant** ({_inline(piece.label)})" if piece.label else "**Assistant**"
    return f"{name}\n\n{_own_words(piece.text)}"


def _thinking(piece: Piece) -> str:
    return _folded("thinking", _fenced(piece.text))


def _context(piece: Piece) -> str:
    return _folded(f"context added by {piece.label}", _fenced(piece.text))


def _system(piece: Piece) -> str:
    return _folded(piece.label, _fenced(piece.text))


def _tool(piece: Piece) -> str:
    state = " (failed)" if piece.failed else " (no result)" if piece.result is None else ""
    body = _fenced(piece.text)
    if piece.result is not None:
        body += f"\n\n{_fenced(piece.result)}"
    return _folded(f"tool {piece.label}{state}", body)


def _end(piece: Piece) -> str:
    return f"*Turn {_inline(piece.label)} {_inline(piece.text)}*"


_WRITERS = {
    "turn": _turn,
    "user": _user,
    "assistant": _assistant,
    "thinking": _thinking,
    "context": _context,
    "system": _system,
    "tool": _tool,
    "end": _end,
}


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{escape(one_line(summary))}</summary>\n\n{body}\n\n</details>"


def _fenced(text: str) -> str:
    """Put a text in a fence that nothing in it closes."""
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *_lines(text, escaped=False), fence])


def _own_words(text: str) -> str:
    """Keep a model's Markdown: tags are shown, and a fence left open is closed."""
    lines, open_fence = [], ""
    for line in _lines(text, escaped=False):
        found = _FENCE.match(line)
        if open_fence:
            if found and found[1].startswith(open_fence) and not line.strip(" `~"):
                open_fence = ""
        elif found:
            open_fence = found[1]
        elif not found:
            line = _shown_tags(line)
        lines.append(line)
    return "\n".join([*lines, open_fence] if open_fence else lines)


def _shown_tags(line: str) -> str:
    parts = _CODE_SPAN.split(line)
    return "".join(part if at % 2 else _TAG.sub("&lt;", part) for at, part in enumerate(parts))


def _lines(text: str, *, escaped: bool = True) -> list[str]:
    shown = visible(text)
    return (_TAG.sub("&lt;", shown) if escaped else shown).split("\n")


def _value(text: str) -> str:
    """Write a path or an id as it is, in a code span where Markdown would change it."""
    shown = one_line(text)
    if _inline(shown) == shown:
        return shown
    return _inline(shown) if "`" in shown else f"`{shown}`"


def _inline(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", one_line(text))
