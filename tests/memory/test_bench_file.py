"""Files of questions: what they may say, and where what is wrong stands."""

from __future__ import annotations

import pytest

from dshloop.errors import BenchInvalidError
from dshloop.memory.bench_file import Question, read_questions


def test_questions_are_read_with_their_lines() -> None:
    text = """\
k: 5
questions:
  - query: when do we deploy
    expect: Fridays
  - id: rows
    query: how are rows keyed
    expect: [mem_01a2, keyed by id]
    k: 1
"""
    assert read_questions(text, "q.yml") == (
        Question("1", "when do we deploy", ("Fridays",), 5, "q.yml:3"),
        Question("rows", "how are rows keyed", ("mem_01a2", "keyed by id"), 1, "q.yml:5"),
    )


def test_a_bare_list_is_enough() -> None:
    [question] = read_questions("- {query: a, expect: b}", "q.yml")
    assert (question.id, question.k) == ("1", 10)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", "1:1", "list of questions"),
        ("[]", "1:1", "list of questions"),
        ("text", "1:1", "list of questions"),
        ("questions: []", "1:1", "list of questions"),
        ("k: 3\nquestions: {}", "2:1", "list of questions"),
        ("questions:\n  - just words", "2:5", "must be a mapping"),
        ("- query: a", "1:3", "expect must be"),
        ("- query: a\n  expect: []", "2:3", "expect must be"),
        ("- query: a\n  expect: 8080", "2:3", "expect must be"),
        ("- query: a\n  expect:\n    - b\n    - 8080", "4:7", "quote a number"),
        ("- query: a\n  expect: ' '", "2:3", "not blank"),
        ("- query: ' '\n  expect: b", "1:3", "query must be"),
        ("- query: a\n  expect: b\n  k: 0", "3:3", "whole number"),
        ("- query: a\n  expect: b\n  k: .nan", "3:3", "whole number"),
        ("- query: a\n  expect: b\n  k: true", "3:3", "whole number"),
        ("- query: a\n  expect: b\n  k: 1001", "3:3", "whole number"),
        ("- query: a\n  expect: b\n  wants: 1", "3:3", "wants is no key"),
        ("- {id: x, query: a, expect: b}\n- {id: x, query: b, expect: b}", "2:3", "two questions"),
        ("- {id: '2', query: a, expect: b}\n- {query: a, expect: b}", "2:3", "two questions"),
        ("limit: 3\nquestions: [{query: a, expect: b}]", "1:1", "limit is no key"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(text: str, place: str, says: str) -> None:
    with pytest.raises(BenchInvalidError) as caught:
        read_questions(text, "q.yml")
    assert caught.value.message.startswith(f"q.yml:{place}: ")
    assert says in caught.value.message
    assert caught.value.details["file"] == "q.yml"


def test_what_is_no_yaml_is_refused_with_its_line() -> None:
    with pytest.raises(BenchInvalidError) as caught:
        read_questions("- {query: a, expect: b}\n- }", "q.yml")
    assert caught.value.details["line"] == 2
