"""``compose(edit(file)) == apply(compose(file))`` for random layers and edits."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dshloop.dsh_yaml.values import text_of
from dshloop.errors import EditRefusedError, RowKeyNotFoundError, SpliceRefusedError
from dshloop.profiles.edits.edit import disable_row, enable_row, set_config, unset_config
from dshloop.profiles.edits.row_edit import drop_row, insert_row
from dshloop.profiles.row_path import RowPath
from dshloop.splice import same
from dshloop.splice.change import as_read, with_value
from tests.profiles.desks import Stage, written
from tests.splice.texts import KEYS, VALUES, Layout, block

IDS = ["a", "b", "c.d", "g", "@s/p"]
CONFIGS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3)


@st.composite
def rows(draw: Any, ids: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for row_id in ids:
        row: dict[str, Any] = {"id": row_id, "name": draw(st.sampled_from(["@x/y", "z"]))}
        if row_id == "g":
            row |= {"group": True, "config": [{"id": "child", "name": "x"}]}
        elif draw(st.booleans()):
            row["config"] = draw(CONFIGS)
        if draw(st.integers(0, 3)) == 0:
            row["disabled"] = draw(st.booleans())
        found.append(row)
    return found


@st.composite
def layer(draw: Any, ids: list[str], others: list[str]) -> str:
    """Draw a patch file that inserts rows and patches those of other layers."""
    items: list[Any] = []
    if ids:
        items.append({"insert": draw(rows(ids))})
    for row_id in draw(st.lists(st.sampled_from(others), max_size=3)) if others else []:
        item: dict[str, Any] = {"id": row_id}
        if draw(st.booleans()):
            item["disabled"] = draw(st.booleans())
        if row_id not in ("g",) and draw(st.booleans()):
            item["config"] = draw(CONFIGS)
        items.append(item)
    layout = Layout(draw, draw(st.sampled_from([2, 4])), draw(st.sampled_from([0, 2])))
    lines = layout.above(0)
    for item in items:
        lines += layout.above(0)
        lines += block(layout, item, 0, "- ", item=True)
    text = "\n".join(lines if items else [*lines, "[]" + layout.behind()]) + "\n"
    text = text.replace("\n", "\r\n") if draw(st.integers(0, 4)) == 0 else text
    return ("\ufeff" if draw(st.integers(0, 5)) == 0 else "") + text


@st.composite
def stacks(draw: Any) -> tuple[str, str, str]:
    own = draw(st.permutations(IDS))
    low, mid, top = own[:2], own[2:4], own[4:]
    return (
        draw(layer(low, low)),
        draw(layer(mid, [*low, *mid, "child"] if "g" in [*low, *mid] else [*low, *mid])),
        draw(layer(top, [*low, *mid, *top])),
    )


def by_id(rows: list[Any]) -> dict[str, Any]:
    """Give all rows by their ids; those of a group count as rows of their own."""
    found: dict[str, Any] = {}
    for row in rows:
        found[text_of(row["id"])] = row
        if row.get("group"):
            found[row["id"]] = {**row, "config": "its rows"}
            found |= by_id(row["config"])
    return found


@settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(stacks(), st.sampled_from(["profile", "home"]), VALUES, st.data())
def test_an_edit_changes_the_row_it_names_and_nothing_else(
    texts: tuple[str, str, str], name: str, value: Any, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), texts[0])
        stage.profile.patch.write_bytes(texts[1].encode())
        stage.profile.home_patch.write_bytes(texts[2].encode())
        before = by_id(stage.composition().rows)
        row_id = data.draw(st.sampled_from([row for row in before if row != "g"]))
        old = before[row_id]
        desk = stage.desk(name)
        kind = data.draw(st.sampled_from(["set", "unset", "off", "on", "drop", "insert"]))
        wanted: dict[str, Any] | None = dict(old)
        try:
            if kind == "set":
                keys = (data.draw(st.sampled_from([*KEYS, "new"])),)
                edit = set_config(desk, RowPath(row_id, keys), value)
                wanted["config"] = with_value(old.get("config"), keys, as_read(value))
            elif kind == "unset":
                assume(old.get("config"))
                keys = (data.draw(st.sampled_from(list(old["config"]))),)
                edit = unset_config(desk, RowPath(row_id, keys))
                wanted["config"] = {k: v for k, v in old["config"].items() if k not in keys}
            elif kind in ("off", "on"):
                edit = (disable_row if kind == "off" else enable_row)(desk, row_id)
                wanted["disabled"] = kind == "off"
            elif kind == "drop":
                edit = drop_row(desk, row_id)
                wanted = None
            else:
                edit = insert_row(desk, {"id": "fresh", "name": "n", "config": {"v": value}})
                row_id, wanted = (
                    "fresh",
                    as_read({"id": "fresh", "name": "n", "config": {"v": value}}),
                )
        except EditRefusedError as refused:
            assert "applies after" in refused.message or "is no map" in refused.message  # noqa: PT017
            return
        except RowKeyNotFoundError:
            assert desk.overriding(desk.row(row_id), "config")
            return
        except SpliceRefusedError:
            raise AssertionError(texts) from None
        if edit.changes:
            written(edit)
        after = by_id(stage.composition().rows)
        codes = {note.code for note in edit.notes}
        others = {key: row for key, row in before.items() if key != row_id}
        assert same(others, {key: row for key, row in after.items() if key != row_id})
        if "overridden" in codes:
            assert same(after[row_id], old)
        elif kind == "drop" and "disabled-instead" not in codes:
            assert row_id not in after
        else:
            wanted = {**old, "disabled": True} if wanted is None else wanted
            if kind in ("off", "on"):
                assert bool(after[row_id].get("disabled")) is wanted["disabled"]
                wanted.pop("disabled", None)
                after[row_id].pop("disabled", None)
            assert same({"row": wanted}, {"row": after[row_id]}, {id(wanted): wanted})
