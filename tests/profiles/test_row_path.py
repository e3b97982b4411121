"""How people name a row and a key in it."""

from __future__ import annotations

import pytest

from dshloop.errors import RowKeyNotFoundError, RowNotFoundError, RowPathInvalidError
from dshloop.profiles.row_path import RowPath, parse_row_path, resolve_keys

IDS = ["a", "a.b", "a.b[0]", 12, "中文", "x y"]


@pytest.mark.parametrize(
    ("text", "row", "keys"),
    [
        ("a", "a", ()),
        ("a.c.d", "a", ("c", "d")),
        ("a.b", "a.b", ()),
        ("a.b.c", "a.b", ("c",)),
        (r"a\.b.c", "a.b", ("c",)),
        (r"a.c\.d", "a", ("c.d",)),
        ("a.c[0][1].x", "a", ("c", 0, 1, "x")),
        ("a.b[0].x", "a.b[0]", ("x",)),
        ("a.b[1]", "a.b", (1,)),
        (r"a.\[x]", "a", ("[x]",)),
        ("a.c.0", "a", ("c", "0")),
        ("12.k", 12, ("k",)),
        ("中文.键", "中文", ("键",)),
        ("x y.z w", "x y", ("z w",)),
    ],
)
def test_the_longest_row_id_wins(text: str, row: object, keys: tuple[str | int, ...]) -> None:
    path = parse_row_path(text, IDS)
    assert path == RowPath(row, keys)
    assert parse_row_path(str(path), IDS) == path


@pytest.mark.parametrize("text", ["", ".", "a.", "a..b", ".a", "a.b.", "a["])
def test_an_empty_key_is_refused(text: str) -> None:
    with pytest.raises((RowPathInvalidError, RowNotFoundError)):
        parse_row_path(text, IDS)


def test_an_unknown_row_is_told_with_what_is_near() -> None:
    with pytest.raises(RowNotFoundError, match='no row "b"') as caught:
        parse_row_path("b.c", ["bb", "zz"])
    assert caught.value.details["near"] == ["bb"]


def test_digits_are_indexes_in_lists_and_keys_in_maps() -> None:
    config = {"l": [{"0": "x"}], "m": {"1": "y"}}
    assert resolve_keys(config, RowPath("a", ("l", "0", "0"))) == ("l", 0, "0")
    assert resolve_keys(config, RowPath("a", ("m", 1))) == ("m", "1")
    assert resolve_keys(None, RowPath("a", ("new", "0"))) == ("new", "0")
    for key in ("1", "x", 7):
        with pytest.raises(RowKeyNotFoundError, match="has 1 items"):
            resolve_keys(config, RowPath("a", ("l", key)))
