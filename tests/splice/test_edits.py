"""Random edits of random texts: what was meant, and not a byte beside it."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dshloop.dsh_yaml import load
from dshloop.errors import SpliceRefusedError
from dshloop.splice import YamlText, same
from dshloop.splice.change import as_read, with_item, with_value, without_value
from dshloop.splice.lines import block_end, column, line_start, next_line
from tests.splice.texts import VALUES, paths, texts

Path = tuple[str | int, ...]
SLOW_DRAWS = settings(
    max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def lines_of(text: str) -> list[str]:
    return re.split(r"(?<=\n)", text)


def outside(text: str, path: Path) -> tuple[str, str]:
    """Give what stands before and behind the lines of the key or item at a path."""
    bare = text.removeprefix("\ufeff")
    places = YamlText(bare)._page.follow(path)
    entry, holder = places[-1].entry, places[-2].node
    assert entry is not None
    if holder.flow:
        return bare[: holder.start], bare[holder.end :]
    end = block_end(bare, entry.end, column(bare, holder.content))
    return bare[: line_start(bare, entry.at)], bare[next_line(bare, end) :]


@SLOW_DRAWS
@given(texts(), VALUES, st.data())
def test_set_gives_the_value_and_leaves_all_other_lines(
    text: str, value: Any, data: st.DataObject
) -> None:
    before = YamlText(text)
    options = paths(before.value)
    assume(options)
    path = data.draw(st.sampled_from(options))
    after = before.set(path, value).text
    assert same(load(after), with_value(before.value, path, as_read(value)))
    head, tail = outside(text, path)
    assert after.removeprefix("\ufeff").startswith(head)
    assert after.endswith(tail)
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    if "\r\n" in text:
        assert "\n" not in after.replace("\r\n", "")


@SLOW_DRAWS
@given(texts(), st.data())
def test_unset_takes_the_key_and_leaves_all_other_lines(text: str, data: st.DataObject) -> None:
    before = YamlText(text)
    options = paths(before.value)
    assume(options)
    path = data.draw(st.sampled_from(options))
    after = before.unset(path).text
    assert same(load(after), without_value(before.value, path))
    head, tail = outside(text, path)
    if len(at(before.value, path[:-1])) > 1:
        assert after.removeprefix("\ufeff").startswith(head.rstrip("\r\n") if not tail else head)
        assert after.endswith(tail.lstrip())  # the next key may be pulled up to the dash
    assert not set(comments(after)) - set(comments(text))


@SLOW_DRAWS
@given(texts(), VALUES, st.sampled_from(["new", "7", "@a/b", "on"]), st.data())
def test_a_new_key_adds_lines_and_takes_none(
    text: str, value: Any, key: str, data: st.DataObject
) -> None:
    before = YamlText(text)
    maps = [path for path in [(), *paths(before.value)] if isinstance(at(before.value, path), dict)]
    assume(maps)
    path = (*data.draw(st.sampled_from(maps)), key)
    after = before.set(path, value).text
    assert same(load(after), with_value(before.value, path, as_read(value)))
    assert_only_added(text, after)


@SLOW_DRAWS
@given(texts(lists=True), VALUES, st.data())
def test_a_new_item_adds_lines_and_takes_none(text: str, value: Any, data: st.DataObject) -> None:
    before = YamlText(text)
    lists = [
        path for path in [(), *paths(before.value)] if isinstance(at(before.value, path), list)
    ]
    path = data.draw(st.sampled_from(lists))
    index = data.draw(st.integers(0, len(at(before.value, path))))
    after = before.insert(path, index, value).text
    assert same(load(after), with_item(before.value, path, index, as_read(value)))
    assert_only_added(text, after)


@SLOW_DRAWS
@given(texts(lists=True), st.dictionaries(st.sampled_from(["id", "config"]), VALUES, min_size=1))
def test_an_item_that_comes_and_goes_leaves_the_bytes_it_found(
    text: str, row: dict[str, Any]
) -> None:
    before = YamlText(text)
    assume(before.value and not before._page.root.node.flow)
    added = before.append((), row)
    blank = len(added.text) - len(text)
    back = added.unset((len(before.value),)).text
    assert re.sub(r"[\r\n]", "", back) == re.sub(r"[\r\n]", "", text)
    assert abs(len(back) - len(text)) <= 2 < blank  # a blank line that set the item off stays


@SLOW_DRAWS
@given(texts(anchors=True), VALUES, st.booleans(), st.data())
def test_with_anchors_an_edit_is_exact_or_refused_with_the_reason(
    text: str, value: Any, remove: bool, data: st.DataObject
) -> None:
    before = YamlText(text)
    options = paths(before.value)
    assume(options)
    path = data.draw(st.sampled_from(options))
    try:
        after = (before.unset(path) if remove else before.set(path, value)).text
    except SpliceRefusedError as refused:
        assert re.search(r"(alias|anchor) [*&]|the anchor of", refused.message)  # noqa: PT017
        return
    if remove:
        assert same(load(after), without_value(before.value, path))
    else:
        assert same(load(after), with_value(before.value, path, as_read(value)))
    head, tail = outside(text, path)
    if not remove:
        assert after.removeprefix("\ufeff").startswith(head)
        assert after.endswith(tail)


def comments(text: str) -> list[str]:
    return re.findall(r"# note-\d+-", text)


def assert_only_added(before: str, after: str) -> None:
    """All lines are still there in order, but for one that a flow list or an empty place is in."""
    old = [line.rstrip("\r\n") for line in lines_of(before)]
    new = [line.rstrip("\r\n") for line in lines_of(after)]
    assert len(new) >= len(old)
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    rest = old[first:]
    assert (
        not rest
        or rest == new[len(new) - len(rest) :]
        or rest[1:] == (new[len(new) - len(rest) + 1 :])
    )
