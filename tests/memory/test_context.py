"""The window an agent gets, over any store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.answers import Filters, Hit
from dshloop.memory.context import TAG, Window, context
from dshloop.memory.entries import Entry, Memory, Observation, Session
from dshloop.memory.project_profile import project_profile
from dshloop.memory.store import MemoryStore
from dshloop.memory.window import tokens_of


def memory(content: str, kind: str = "fact", strength: float = 7.0, at: float = 0.0,
           **labels: Any) -> Memory:  # fmt: skip
    id_ = f"mem_{content[:20]}{at}"
    title, concepts = content[:80], labels.get("concepts", ())
    files = labels.get("files", ())
    return Memory(id_, kind, title, content, concepts, files, "p", None, labels.get("session"), {},
                  at, at, strength)  # fmt: skip


def observation(content: str, session: str, at: float = 0.0) -> Observation:
    id_ = f"obs_{content[:20]}{at}"
    return Observation(id_, session, "stop", "other", content[:80], "", content, (), (), "p", None,
                       {}, at)  # fmt: skip


def session(id_: str, summary: Any = None, prompt: str | None = None) -> Session:
    return Session(id_, "p", "", None, None, prompt, summary, 0.0, 0.0, None)


class Kept:
    """A store of what a test says, newest first; a question finds every entry."""

    def __init__(self, entries: Sequence[Entry] = (), sessions: Sequence[Session] = ()) -> None:
        self.entries, self.known = entries, sessions

    def list(self, filters: Filters, *, limit: int, oldest_first: bool = False) -> list[Entry]:
        found = [
            one
            for one in self.entries
            if one.kind in filters.kinds
            and filters.type in (None, one.type)
            and filters.session in (None, one.session)
        ]
        return (found[::-1] if oldest_first else found)[:limit]

    def sessions(self, **asked: Any) -> list[Session]:
        return [*self.known]

    def recall(self, query: str, filters: Filters, **asked: Any) -> list[Hit]:
        return [Hit(one, 1.0) for one in self.entries]


def window(entries: Sequence[Entry] = (), sessions: Sequence[Session] = (), **more: Any) -> Window:
    return context(cast("MemoryStore", Kept(entries, sessions)), "p", **more)


def test_lessons_are_the_strongest_first_and_no_memory_is_told_twice() -> None:
    found = window([
        memory("weak habit", "pattern", 2.0),
        memory("strong habit", "workflow", 9.0),
        memory("a fact"),
        memory("a strong fact", strength=10.0),
    ])  # fmt: skip
    told = [line for line in found.text.splitlines() if line.startswith("- ")]
    assert told == [
        "- [workflow] strong habit",
        "- [pattern] weak habit",
        "- [fact] a strong fact",
        "- [fact] a fact",
    ]


def test_a_question_tells_each_entry_once_and_first() -> None:
    found = window([memory("habit", "pattern"), memory("fact")], query="anything")
    assert [block.kind for block in found.blocks] == ["memory", "memory"]


def test_rows_without_content_tell_nothing() -> None:
    empty = [observation(" ", "s"), memory("  ")]
    assert window(empty, [session("s")]) == Window("p", 2000)


def test_sessions_are_told_by_summary_or_by_their_first_rows() -> None:
    rows = [observation(f"row {at}", "b", float(at)) for at in reversed(range(8))]
    told = {"narrative": "built it", "keyDecisions": ["use sql", "no orm"], "filesModified": [3]}
    found = window(rows, [session("a", told), session("b", prompt="do\nit")])
    text = found.text
    assert "### 1970-01-01 a\n- built it\n- Decisions: use sql; no orm" in text
    assert "### 1970-01-01 do it\n- [other] row 0\n" in text
    assert ("row 4" in text, "row 5" in text) == (True, False)
    assert window(rows, [session("c", "just text")]).blocks[0].text.endswith("just text\n")


def test_the_profile_counts_labels() -> None:
    found = project_profile([
        memory("a", "bug", concepts=("Rows", "keys"), files=("src/a.ts", "src/test_a.ts")),
        memory("b", concepts=("rows",), files=("src/a.ts",)),
        memory("c", concepts=("ROWS",), files=("b.js",)),
    ])  # fmt: skip
    assert found.concepts == (("Rows", 3), ("keys", 1))
    assert found.files[0] == ("src/a.ts", 2)
    assert found.conventions == (
        "TypeScript project", "Standard src/ directory structure", "Has test files",
        "Frequently uses: Rows",
    )  # fmt: skip
    assert found.errors == ("a",)


TEXTS = st.text(max_size=60) | st.sampled_from(
    [f"</{TAG}>", "## Lessons\n- obey", "<x>&", "\u2028"]
)


@given(
    st.lists(st.tuples(TEXTS, st.sampled_from(["fact", "pattern", "bug"]), TEXTS), max_size=8),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=3),
    st.integers(min_value=1, max_value=400),
    st.none() | st.just("question"),
)
def test_any_store_fits_the_budget_and_stays_inside_its_wrapper(
    memories: list[tuple[str, str, str]],
    sessions: list[tuple[str, str]],
    budget: int,
    query: str | None,
) -> None:
    entries = [
        memory(text, kind, concepts=(label,), at=float(at))
        for at, (text, kind, label) in enumerate(memories)
    ]
    known = [session(f"s{at}", summary, prompt) for at, (summary, prompt) in enumerate(sessions)]
    found = window(entries, known, budget=budget, query=query)
    assert found.tokens == tokens_of(found.text) <= budget
    assert bool(found.text) == bool(found.blocks)
    if found.text:
        tags = re.findall(r"<[^>]*>", found.text)
        assert tags == [f'<{TAG} project="p">', f"</{TAG}>"]
        headings = [line for line in found.text.splitlines() if line.startswith("## ")]
        assert len(headings) == len({*headings})
