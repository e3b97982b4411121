"""A session as one HTML page that needs nothing else: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from dshloop.sessions.export.about import About
from dshloop.sessions.export.pieces import Piece
from dshloop.terminal import visible
from dshloop.times import iso_time

_STYLE = """\
:root { color-scheme: light dark; --text: #1c1e21; --back: #fff; --dim: #5c6470; --line: #d8dce2;
  --you: #eef4ff; --box: #f5f6f8; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e6ea; --back: #16181c; --dim: #9aa3af;
  --line: #343a43; --you: #1d2a40; --box: #1f2329; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem 1rem 4rem; color: var(--text);
  background: var(--back); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 .75rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--dim);
  font-size: .9rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.said { margin: .75rem 0; padding: .6rem .9rem; border-radius: .5rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.you { background: var(--you); }
.said b { display: block; color: var(--dim); font-size: .8rem; font-weight: 600; }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--box); }
summary { cursor: pointer; padding: .35rem .75rem; color: var(--dim); font-size: .9rem;
  overflow-wrap: anywhere; }
pre { margin: 0; padding: .5rem .75rem; overflow-x: auto; border-top: 1px solid var(--line);
  font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.bad, .failed summary { color: var(--bad); }
.end { color: var(--dim); font-style: italic; }
time { color: var(--dim); font-weight: 400; font-size: .8rem; margin-left: .75rem; }
"""

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""


def page(about: About, said: Iterable[Piece]) -> str:
    """Write the page; every text of the session is escaped."""
    title = _text(about.title or about.id)
    facts = "".join(
        f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>\n" for name, value in about.facts
    )
    return "".join(
        [
            _HEAD.format(title=title, style=_STYLE),
            f"<h1>{title}</h1>\n<dl>\n{facts}</dl>\n<main>\n",
            *_parts(said),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _parts(said: Iterable[Piece]) -> Iterator[str]:
    for piece in said:
        yield _WRITERS[piece.kind](piece) + "\n"


def _turn(piece: Piece) -> str:
    moment = iso_time(piece.time / 1000)
    return f'<h2>Turn {_text(piece.label)}<time datetime="{moment}">{moment}</time></h2>'


def _user(piece: Piece) -> str:
    return f'<div class="said you"><b>You</b>{_text(piece.text)}</div>'


def _assistant(piece: Piece) -> str:
    name = f"Assistant · {piece.label}" if piece.label else "Assistant"
    return f'<div class="said"><b>{_text(name)}</b>{_text(piece.text)}</div>'


def _thinking(piece: Piece) -> str:
    return _folded("thinking", [piece.text])


def _context(piece: Piece) -> str:
    return _folded(f"context added by {piece.label}", [piece.text])


def _system(piece: Piece) -> str:
    return _folded(piece.label, [piece.text])


def _tool(piece: Piece) -> str:
    state = " (failed)" if piece.failed else " (no result)" if piece.result is None else ""
    texts = [piece.text] if piece.result is None else [piece.text, piece.result]
    return _folded(f"tool {piece.label}{state}", texts, "failed" if piece.failed else "")


def _end(piece: Piece) -> str:
    return f'<p class="end">Turn {_text(piece.label)} {_text(piece.text)}</p>'


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


def _folded(summary: str, texts: list[str], kind: str = "") -> str:
    body = "".join(f"<pre>{_text(text)}</pre>" for text in texts)
    opening = f'<details class="{kind}">' if kind else "<details>"
    return f"{opening}<summary>{_text(summary)}</summary>{body}</details>"


def _text(text: str) -> str:
    return escape(visible(text))
