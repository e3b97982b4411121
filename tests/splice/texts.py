"""Random YAML texts in all the ways people write them, for the property tests of edits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dshloop.dsh_yaml import JsExpr

KEYS = ["id", "name", "config", "a.b", "url", "12", "y", "中文", "@s/p", "x y", "-", "a: b"]
WORDS = [
    "x", "web", "yes", "012", "1_000", "a: b", "a #b", "@scope/pkg", "中文字", "😀 ok", "", " pad ",
    "two\nlines", "two\nlines\n", "keep\n\n", " lead\nx", "tab\there", "it's", 'say "hi"', "a, b",
    "]", "- x", "? y", "*a", "&b", "!t", "%c", "`", "|", "~", "null", "1e3", "2020-01-01", "...",
    "x" * 90, "word " * 25, "\r\n", "\u2028", "a\n\n b\nc", "#", "key:", "\n", "\n\nx",
]  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.sampled_from(WORDS),
    st.floats(allow_nan=False), st.just(float("nan")), st.text(max_size=8),
    st.sampled_from(["env.HOME", "a ? b : 'c'", "{ x: 1 }", "f()\ng()"]).map(JsExpr),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)


@dataclass
class Layout:
    """Choices of one text, drawn as they are needed; each comment has a number of its own."""

    draw: Callable[[Any], Any]
    step: int = 2
    dash: int = 2
    comments: int = 0
    anchors: int = -1
    """How many anchors there are; -1 when there shall be none."""

    def anchored(self, written: str) -> str:
        """Put an anchor before a value, or an alias in its place, now and then."""
        if self.anchors > 0 and self.chance(4):
            return f"*a{self.draw(st.integers(1, self.anchors))}"
        if self.anchors >= 0 and self.chance(3):
            self.anchors += 1
            return f"&a{self.anchors} {written}"
        return written

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(1, one_in)) == one_in)

    def comment(self) -> str:
        self.comments += 1
        return f"# note-{self.comments}-"

    def behind(self) -> str:
        return f"  {self.comment()}" if self.chance(4) else ""

    def above(self, columns: int) -> list[str]:
        found = []
        if self.chance(6):
            found.append("")
        if self.chance(5):
            found.append(" " * columns + self.comment())
        return found


# A bare dash that ends a nested list swallows the outer list's items in js-yaml, so none is drawn.
def scalar(layout: Layout, value: Any, *, in_flow: bool) -> str:
    from dshloop.splice.write import Habits, write_inline

    if isinstance(value, str) and layout.chance(3):
        from dshloop.dsh_yaml.dump_scalars import quote_double

        return quote_double(value)
    return write_inline(value, Habits(), in_flow=in_flow)


def flow(layout: Layout, value: Any) -> str:
    if isinstance(value, dict):
        if layout.chance(5) and value:
            inner = ",\n      ".join(
                f"{scalar(layout, k, in_flow=True)}: {flow(layout, v)}" for k, v in value.items()
            )
            return "{\n      " + inner + (",\n" if layout.chance(2) else "\n") + "    }"
        inner = ", ".join(
            f"{scalar(layout, k, in_flow=True)}: {flow(layout, v)}" for k, v in value.items()
        )
        return "{" + inner + ("," if inner and layout.chance(4) else "") + "}"
    if isinstance(value, list):
        inner = ", ".join(flow(layout, item) for item in value)
        return "[ " + inner + " ]" if layout.chance(2) else f"[{inner}]"
    return scalar(layout, value, in_flow=True)


def block(layout: Layout, value: Any, columns: int, head: str, *, item: bool) -> list[str]:
    """Give the lines of a value whose key or dash is `head`, already indented."""
    pad = " " * columns
    if not isinstance(value, dict | list) or not value or layout.chance(5):
        if value is None and not item and layout.chance(2):
            return [head.rstrip() + layout.behind()]
        if isinstance(value, str) and "\n" in value and layout.chance(2):
            lines = value.split("\n")
            printable = all(
                line == "" or (line.isprintable() and line.strip() and line[0] != " ")
                for line in lines
            )
            if printable and lines[0] and len(lines) > 1:
                keep = value.endswith("\n\n")
                mark = "+" if keep else "" if value.endswith("\n") else "-"
                body = value.removesuffix("\n").split("\n")
                note = layout.behind()
                return [f"{head}|{mark}{note}"] + [pad + "  " + x if x else "" for x in body]
        return [head + layout.anchored(flow(layout, value)) + layout.behind()]
    lines: list[str] = []
    if isinstance(value, dict):
        inner = columns + (2 if item else layout.step)
        first = head if item else head.rstrip() + layout.behind()
        compact = item and not layout.chance(5)
        if not compact:
            lines.append(first.rstrip())
        for number, (key, member) in enumerate(value.items()):
            name = scalar(layout, key, in_flow=False)
            lead = first if compact and number == 0 else " " * inner
            if not (compact and number == 0):
                lines += layout.above(inner)
            if layout.chance(12):
                lines += [f"{lead}? {name}"]
                lines += block(layout, member, inner, " " * inner + ": ", item=False)
            else:
                lines += block(layout, member, inner, f"{lead}{name}: ", item=False)
        return lines
    inner = columns + (2 if item else layout.dash)
    compact = item and layout.chance(2)
    if not compact:
        lines.append(head.rstrip() + layout.behind())
    for number, member in enumerate(value):
        lead = head if compact and number == 0 else " " * inner
        if not (compact and number == 0):
            lines += layout.above(inner)
        lines += block(layout, member, inner, f"{lead}- ", item=True)
    return lines


@st.composite
def texts(draw: Callable[[Any], Any], *, lists: bool = False, anchors: bool = False) -> str:
    """Draw a text whose root is a map or list: comments, blank lines, CR LF, BOM, `---`, `...`."""
    layout = Layout(draw, draw(st.sampled_from([2, 4])), draw(st.sampled_from([0, 2])))
    layout.anchors = 0 if anchors else -1
    maps = st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=4)
    value = draw(st.lists(maps, max_size=4) if lists or draw(st.booleans()) else maps)
    lines = layout.above(0)
    if draw(st.integers(1, 6)) == 1:
        lines.append("---")
    if not value:
        lines.append("[]" + layout.behind())
    elif isinstance(value, dict):
        for key, member in value.items():
            lines += layout.above(0)
            name = scalar(layout, key, in_flow=False)
            lines += block(layout, member, 0, f"{name}: ", item=False)
    else:
        for member in value:
            lines += layout.above(0)
            lines += block(layout, member, 0, "- ", item=True)
    lines += layout.above(0)
    text = "\n".join(lines)
    if draw(st.integers(1, 8)) == 1:
        text += "\n..."
    if draw(st.integers(1, 4)) != 1:
        text += "\n"
    if draw(st.integers(1, 4)) == 1:
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.integers(1, 6)) == 1 else "") + text


def paths(value: Any, base: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Give the paths of all that is in a value."""
    found = [base] if base else []
    if not isinstance(value, dict | list):
        return found
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in pairs:
        found += paths(member, (*base, key))
    return found
