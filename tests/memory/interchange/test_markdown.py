"""Markdown files become memories."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.memory.entries import Memory
from dshloop.memory.interchange import sources
from dshloop.memory.interchange.markdown import memory_of, split
from dshloop.memory.interchange.report import Report
from dshloop.memory.interchange.untimed import Untimed
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.interchange.steps import carried, faulty, kept, store  # noqa: F401

NOTE = """\
---
title: How we deploy
type: workflow
permalink: ops/deploy
tags: [ops, "#ci"]
files:
  - deploy.sh
created: 2026-01-31
updated: 2026-02-01T10:00:00Z
strength: 9
---

# Deploying

We deploy on Fridays.
"""


def memory(text: str, name: str = "notes/a.md") -> Memory:
    made = memory_of(text, name, "p", 5.0)
    assert made is not None
    return made.memory if isinstance(made, Untimed) else made


def test_front_matter_tells_what_a_note_is() -> None:
    one = memory(NOTE)
    assert (one.title, one.type, one.strength) == ("How we deploy", "workflow", 9.0)
    assert (one.concepts, one.files) == (("ops", "ci"), ("deploy.sh",))
    assert one.content == "# Deploying\n\nWe deploy on Fridays."
    assert (one.created_at, one.updated_at) == (1769817600.0, 1769940000.0)
    assert one.source == {
        "kind": "markdown", "file": "notes/a.md", "front": {"permalink": "ops/deploy"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "title"),
    [("# Heading\n\ntext", "Heading"), ("just text", "just text"), ("---\nno end", "--- no end"),
     ("---\ntags: a, b\n---\ntext", "text"), ("---\n- list\n---\ntext", "text")],
)  # fmt: skip
def test_a_note_without_a_title_has_one(text: str, title: str) -> None:
    assert memory(text).title == title


def test_front_matter_that_is_no_yaml_is_read_line_by_line() -> None:
    one = memory("---\ntitle: Deploys: how\ntags: [a, b]\nweird\n---\ntext")
    assert (one.title, one.concepts) == ("Deploys: how", ("a", "b"))
    assert split("---\r\ntitle: x\r\n---\r\nbody")[1] == "body"


@pytest.mark.parametrize("text", ["", "\n \n", "---\ntitle: x\n---\n"])
def test_a_note_without_text_is_none(text: str) -> None:
    assert memory_of(text, "a.md", "p", 5.0) is None


def test_a_type_of_another_program_is_kept() -> None:
    one = memory("---\ntype: note\n---\ntext")
    assert (one.type, one.source["front"]) == ("fact", {"type": "note"})


def test_a_folder_is_read_in_order_without_what_is_hidden(tmp_path: Path) -> None:
    for name in ("b.md", "a/z.MD", ".obsidian/x.md", "node_modules/x.md", "c.txt", ".h.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    (tmp_path / "d.md").write_bytes(b"\xff\xfe")
    (tmp_path / "e.md").write_text("")
    items = list(sources.records(tmp_path, "auto", Report(), project="p"))
    assert [one.content for one in kept(items)] == ["text of b.md", "text of a/z.MD"]
    assert faulty(items, Report()).places == {
        "it can't be read (UNREADABLE_FILE)": ["d.md"], "it has no text": ["e.md"],
    }  # fmt: skip


def test_a_changed_note_is_kept_out_or_takes_the_place(
    store: SqliteStore,  # noqa: F811
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.md"

    def bring(how: str = "skip") -> Report:
        items = sources.records(file, "auto", Report(), project="p")
        return carried(store, items, on_conflict=how)

    file.write_text("first")
    assert bring().total("added") == 1
    assert bring().total("same") == 1
    file.write_text("second")
    assert bring().total("kept") == 1
    assert bring("overwrite").total("replaced") == 1
    assert [one.content for one in store.list()] == ["second"]
