"""Checks and repairs of files that hold anything at all: they answer, and never make it worse."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dshloop.profiles.checks.check import check_profile
from dshloop.profiles.checks.repair import plan_repair
from dshloop.profiles.checks.subject import Case
from tests.profiles.checks.made import profile

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from(
        ["a", "b", "g", "cordis:group", "./x", "${X}", "", "no", "@x/y", "sk-" + "a" * 24]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["id", "name", "config", "group", "disabled", "insert", "secret", "x"]),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=25,
)
TOKENS = st.lists(
    st.sampled_from(
        ["[]", "\n", "- ", "id: b", "  ", "insert:", "{", "}", "[", "]", "#c", "---", "&a", "*a",
         "!!js x", ": ", "config:", "\r\n", "\ufeff", "'", '"', "|", "null", "group: true", "\t"]
    ),
    max_size=24,
).map("".join)  # fmt: skip
TEXTS = st.one_of(
    st.binary(max_size=60),
    TOKENS.map(str.encode),
    VALUES.map(lambda value: dumped([value])),
    st.lists(VALUES, max_size=5).map(lambda value: dumped(value)),
)
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def dumped(value: list[object]) -> bytes:
    from dshloop.dsh_yaml import dump

    return dump(value).encode()


@FUZZ
@given(TEXTS, TEXTS)
def test_any_patch_files_are_answered(patch: bytes, home: bytes) -> None:
    with tempfile.TemporaryDirectory() as root:
        made = profile(Path(root), "b", patch=patch)
        made.home_patch.write_bytes(home)
        for dialect in ("012", "021"):
            check_profile(Case(made, dialect=dialect)).as_json()  # type: ignore[arg-type]
        before = check_profile(Case(made))
        repair = plan_repair(Case(made))
        assert len(repair.left.of("error")) <= len(before.of("error")) or not before.ok
        if before.ok:
            assert repair.left.ok
        before.as_text()


@FUZZ
@given(
    st.one_of(st.binary(max_size=40), VALUES.map(lambda v: __import__("json").dumps(v).encode()))
)
def test_any_manifest_lock_and_tree_are_answered(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as root:
        made = profile(Path(root), "b")
        for name in ("package.json", "pnpm-lock.yaml", "cordis.yml", "compatibility.json"):
            (made.folder / name).write_bytes(data)
        (made.modules / "b" / "package.json").write_bytes(data)
        check_profile(Case(made)).as_json()
        plan_repair(Case(made)).as_json()


@FUZZ
@given(VALUES)
def test_any_bundle_list_and_dependencies_are_answered(value: object) -> None:
    import json

    with tempfile.TemporaryDirectory() as root:
        made = profile(Path(root), "b")
        for manifest in (
            {"dsh": {"profile": {"bundles": [value, "b", value]}}},
            {"dsh": value, "dependencies": {"b": value, "x": value}},
        ):
            made.manifest.write_text(json.dumps(manifest))
            check_profile(Case(made)).as_json()
            plan_repair(Case(made)).as_json()
