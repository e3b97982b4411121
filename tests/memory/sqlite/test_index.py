"""What the index keeps of an entry."""

from __future__ import annotations

import pytest

from dshloop.memory.sqlite.index import FIELDS, length, manner_of


@pytest.mark.parametrize(
    ("content", "manner"),
    [
        ("Ann: we moved", "ann"),
        ("Ann Lee: did we?", "ann lee ?"),
        ("did we?", "?"),
        ("did we? [image: a photo of a van]", "?"),
        ("did we? yes", ""),
        ("看过了吗？", "?"),
        ("the rule is: never on Fridays", ""),
        ("see https://example.com", ""),
        ("Line\nTwo: three", ""),
        ("A very long beginning of a sentence, and then: more", ""),
        ("", ""),
        (": ", ""),
        ("]" * 1_000, ""),
        ("?", "?"),
    ],
)
def test_the_manner_is_the_speaker_and_whether_it_asks(content: str, manner: str) -> None:
    assert manner_of(content) == manner


def test_the_manner_is_not_counted_as_words() -> None:
    indexed = ("deploi dai", "on fridai", "", "", "ann ?")
    assert len(indexed) == len(FIELDS) + 1
    assert length(indexed) == 4
