"""Sessions as Markdown and HTML: whole, folded, and harmless whatever was said."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dshloop.sessions.export.about import About
from dshloop.sessions.export.markdown import markdown
from dshloop.sessions.export.page import page
from dshloop.sessions.export.pieces import Piece, last_turns, pieces
from tests.sessions.logs import conversation, message
from tests.transcripts.logs import event

ABOUT = About("s-1", "A title", (("Folder", "/home/dev"),))
EVIL = '</pre></details><script src="https://evil.example/x.js">x</script>\n```\n# Turn 9\n<!--'


class Tags(HTMLParser):
    """Collects tags, attributes and text; complains about tags that don't match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    return tags


def said(*texts: str) -> list[Piece]:
    return [
        Piece("turn", label="1"),
        *(Piece("user", text) for text in texts),
        *(Piece("assistant", text, "m") for text in texts),
        *(Piece("tool", text, text, text, failed=True) for text in texts),
        *(Piece("context", text, text) for text in texts),
        *(Piece("thinking", text) for text in texts),
        *(Piece("system", text, "system prompt") for text in texts),
        *(Piece("end", text, text) for text in texts),
    ]


def test_calls_and_results_are_one_piece() -> None:
    found = [each for each in pieces(conversation(1, calls=2)) if each.kind == "tool"]
    assert [(each.label, each.text, each.result) for each in found] == [
        ("read", "{}", "result of c1-0"),
        ("read", "{}", "result of c1-1"),
    ]
    cut = [each for each in conversation(1) if each["type"] != "tool/result"]
    (lonely,) = [each for each in pieces(cut) if each.kind == "tool"]
    assert lonely.result is None


def test_injected_context_is_never_the_users_words() -> None:
    events: list[dict[str, Any]] = []
    for form in ("recall", "semantic"):
        injected = message("remembered", kind="plugin", plugin="agentmemory", form=form)
        events.append(event("user/message", len(events), injected, surfaceOp="append"))
    found = list(pieces(events))
    assert [(each.kind, each.label) for each in found] == [
        ("context", "plugin agentmemory recall"),
        ("context", "plugin agentmemory semantic"),
    ]
    text = markdown(ABOUT, found)
    assert "context added by plugin agentmemory recall" in text
    assert "**You**" not in text
    assert "You" not in parsed(page(ABOUT, found)).text


def test_the_last_turns_begin_at_a_turn() -> None:
    events = conversation(3)
    assert last_turns(events, None) == events
    assert last_turns(events, 9) == events
    assert last_turns(events, 0) == []
    starts = [each for each in last_turns(events, 2) if each["type"] == "turn/start"]
    assert [each["data"]["turn"] for each in starts] == [2, 3]


def test_markdown_has_turns_words_and_folded_tools() -> None:
    text = markdown(ABOUT, pieces(conversation(1)))
    assert text.startswith("# A title\n\n- Folder: /home/dev\n\n## Turn 1\n\n**You**\n\n> hello\n")
    assert "<details><summary>tool read</summary>\n\n```\n{}\n```\n\n```\nresult of c1-0\n" in text
    assert text.endswith("**Assistant** (m)\n\nanswer 1\n")


def test_nothing_that_was_said_breaks_out_of_its_place_in_markdown() -> None:
    text = markdown(ABOUT, said(EVIL))
    outside, fence = [], ""
    for line in text.split("\n"):
        marks = line.strip() if set(line.strip()) == {"`"} else ""
        if fence:
            fence = "" if marks == fence else fence
        elif marks:
            fence = marks
        else:
            outside.append(line)
    assert fence == ""
    assert not [line for line in outside if re.search(r"(?<!\\)<(script|!--)", line)]
    assert sum(line.startswith("<details>") for line in outside) == 4
    assert sum(line == "</details>" for line in outside) == 4


def test_a_models_markdown_stays_and_an_open_fence_is_closed() -> None:
    text = "Use `a<b>` and:\n\n```html\n<b>\n"
    shown = markdown(ABOUT, [Piece("assistant", text), Piece("user", "next")])
    assert "Use `a<b>` and:\n\n```html\n<b>\n\n```\n\n**You**" in shown


def test_the_page_is_whole_self_contained_and_has_two_themes() -> None:
    text = page(ABOUT, pieces(conversation(2)))
    tags = parsed(text)
    names = {name for name, _ in tags.tags}
    assert {"html", "head", "title", "style", "body", "main", "details", "summary"} <= names
    assert not names & {"script", "link", "img", "iframe", "object", "form", "a"}
    assert not [attrs for _, attrs in tags.tags if {"src", "href", "onclick"} & attrs.keys()]
    assert "prefers-color-scheme: dark" in text
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text
    assert "://" not in text
    assert "answer 2" in tags.text


@given(st.text(max_size=60) | st.just(EVIL))
def test_any_text_is_text_on_the_page(text: str) -> None:
    tags = parsed(page(About(text, text, ((text, text),)), said(text)))
    assert "script" not in {name for name, _ in tags.tags}
    expected = parsed(page(ABOUT, said("x"))).tags
    assert [name for name, _ in tags.tags] == [name for name, _ in expected]


@given(st.text(max_size=60))
def test_any_text_makes_markdown(text: str) -> None:
    assert markdown(About(text, text, ((text, text),)), said(text)).count("\n## Turn") == 1 + (
        0 if "\n## Turn" not in text else text.count("\n## Turn")
    )


def test_an_end_tells_what_aborted_the_turn() -> None:
    reason = {"kind": "aborted", "reason": {"kind": "hook", "reason": "no answer within 1 s"}}
    (end,) = pieces([event("turn/end", 0, {"turn": 1, "reason": reason})])
    assert end.text == "ended: aborted: no answer within 1 s"
