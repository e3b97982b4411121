from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from dshloop.profiles.layout import Manifest, new_manifest
from dshloop.profiles.plugins.disabled import disabled_plugins, forget, with_disabled, with_enabled

AT = "2026-11-30T10:00:00+00:00"


def manifest(*bundles: str) -> Manifest:
    return new_manifest("p", bundles).with_specs(dict.fromkeys(bundles, "1.0.0"))


def off(found: Manifest, names: Sequence[str], reason: str | None = None) -> Manifest:
    for name in names:
        found = with_disabled(found, name, reason=reason, at=AT)
    return found


def test_a_disabled_plugin_is_off_the_list_and_no_production_dependency() -> None:
    found = off(manifest("a", "b", "c"), ["b"], "it is slow")
    assert found.bundles == ("a", "c")
    assert found.dependencies == {"a": "1.0.0", "c": "1.0.0"}
    assert found.value["devDependencies"] == {"b": "1.0.0"}
    assert found.recorded["b"] == "1.0.0"
    (record,) = disabled_plugins(found).values()
    assert (record.after, record.group) == (("a",), "dependencies")
    assert record.why == "disabled by dshloop on 2026-11-30: it is slow"


def test_enabling_leaves_no_trace() -> None:
    before = manifest("a", "b", "c")
    assert with_enabled(off(before, ["b"]), "b").as_bytes() == before.as_bytes()


def test_a_bundle_that_is_no_dependency_just_leaves_the_list() -> None:
    before = new_manifest("web", ["base", "app"])
    found = off(before, ["app"])
    assert found.bundles == ("base",)
    assert "devDependencies" not in found.value
    assert with_enabled(found, "app").as_bytes() == before.as_bytes()


def test_another_group_is_kept() -> None:
    before = new_manifest("p", ["a"])
    value = {**before.value, "optionalDependencies": {"a": "1.0.0"}}
    before = Manifest(value, before.bundles)
    found = off(before, ["a"])
    assert found.value["optionalDependencies"] == {"a": "1.0.0"}
    assert with_enabled(found, "a").as_bytes() == before.as_bytes()


def test_a_reason_can_be_given_later_and_the_place_stays() -> None:
    found = off(off(manifest("a", "b", "c"), ["b"]), ["b"], "later")
    assert disabled_plugins(found)["b"].after == ("a",)
    assert disabled_plugins(found)["b"].group == "dependencies"
    assert with_enabled(found, "b").bundles == ("a", "b", "c")


def test_off_without_a_record_comes_back_last() -> None:
    found = manifest("a", "b").with_bundles(["a"]).with_bundles(["b"])
    assert with_enabled(found, "a").bundles == ("b", "a")


def test_a_record_is_forgotten_and_others_stay() -> None:
    found = off(manifest("a", "b"), ["a", "b"])
    assert list(disabled_plugins(forget(found, ["a", "x"]))) == ["b"]
    assert "dshloop" not in forget(found, ["a", "b"]).value


def test_other_keys_of_ours_and_odd_records_stay() -> None:
    before = manifest("a")
    odd = {"other": 1, "disabled": {"x": 5, "y": {"after": "a", "reason": 3}}}
    found = off(Manifest({**before.value, "dshloop": odd}, before.bundles), ["a"])
    assert found.value["dshloop"]["other"] == 1
    assert found.value["dshloop"]["disabled"]["x"] == 5
    assert list(disabled_plugins(found)) == ["y", "a"]
    assert disabled_plugins(found)["y"].after == ()


@given(st.integers(1, 7), st.data())
def test_any_order_of_switching_restores_the_list(size: int, data: st.DataObject) -> None:
    names = [f"b{number}" for number in range(size)]
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True))
    back = data.draw(st.permutations(chosen))
    before = manifest(*names)
    found = off(before, chosen)
    assert found.bundles == tuple(name for name in names if name not in chosen)
    for name in back:
        found = with_enabled(found, name)
    assert found.as_bytes() == before.as_bytes()


@given(st.permutations(["a", "b", "c", "d"]), st.permutations(["a", "b", "c", "d"]))
def test_bundles_added_meanwhile_stay_behind(gone: list[str], back: list[str]) -> None:
    found = off(manifest("a", "b", "c", "d"), gone)
    found = found.with_bundles([*found.bundles, "new"])
    for name in back:
        found = with_enabled(found, name)
    assert found.bundles == ("a", "b", "c", "d", "new")
