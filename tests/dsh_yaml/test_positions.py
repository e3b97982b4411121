"""Where the parts of a document stand."""

from __future__ import annotations

from dshloop.dsh_yaml import Document, Position, load_document

TEXT = """\
# a comment
- id: a
  config: {x: 1, "é😀": {y: 2}, 5: [b, {c: d}]}
-
  id: b
- &row
  insert:
  - id: c
    5: x
    name: !!js f
- *row
-
- ? long
  : 1
"""


def place(document: Document, *path: str | int) -> Position | None:
    container = document.value
    for step in path[:-1]:
        container = container[step]
    return document.position(container, path[-1])


def test_items_and_keys_have_lines_and_columns() -> None:
    document = load_document(TEXT, source="f.yml")
    assert document.position(document.value) == (2, 1)
    assert place(document, 0) == (2, 3)
    assert place(document, 0, "config") == (3, 3)
    assert place(document, 0, "config", "x") == (3, 12)
    assert place(document, 0, "config", "é😀") == (3, 18)
    assert place(document, 0, "config", "é😀", "y") == (3, 26)  # 😀 is two UTF-16 units
    assert place(document, 0, "config", "5", 1) == (3, 40)
    assert place(document, 0, "config", "5", 1, "c") == (3, 41)
    assert place(document, 1) == (5, 3)
    assert place(document, 2, "insert", 0, "5") == (9, 5)
    assert place(document, 2, "insert", 0, "name") == (10, 5)
    assert place(document, 4) == (12, 1)
    assert place(document, 5, "long") == (13, 4)


def test_an_alias_stands_where_its_anchor_does() -> None:
    document = load_document(TEXT, source="f.yml")
    assert place(document, 2) == (6, 3)
    assert place(document, 3) == (11, 3)
    assert document.position(document.value[3]) == document.position(document.value[2])


def test_what_is_not_of_the_document_has_no_place() -> None:
    document = load_document(TEXT, source="f.yml")
    assert document.position({"id": "a"}) is None
    assert place(document, 0, "nope") is None
    assert place(document, 99) is None


def test_lines_end_as_in_javascript() -> None:
    document = load_document("a: 1\r\nb: '\u2028'\rc: 3\n", source="f.yml")
    assert [document.position(document.value, key) for key in "abc"] == [(1, 1), (2, 1), (3, 1)]
