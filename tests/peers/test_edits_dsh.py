"""Patch files edited here are read and composed by the real dsh as by us (dsh 0.2.1)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dshloop.dsh_yaml import JsExpr
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.edits.desk import Desk
from dshloop.profiles.edits.edit import disable_row, enable_row, set_config, unset_config
from dshloop.profiles.edits.layer_edit import LayerEdit
from dshloop.profiles.edits.row_edit import drop_row, insert_row
from dshloop.profiles.stack import user_layers
from tests.profiles.desks import Stage, written

pytestmark = [pytest.mark.peer, pytest.mark.slow]

PROFILE = """\
\ufeff# rows of mine
- insert:
  - id: one  # first
    name: '@me/one'
    config: {url: http://a, list: [1, 2], js: !!js env.HOME}
  - id: two
    name: ./two.mjs
    config:
      text: |
        a
        b
      ? k
      : - v
  - {id: g, name: cordis:group, group: true, config: []}
"""
HOME = "- id: two\r\n  config: &c\r\n    a: 1 # c\r\n- id: one\r\n  intercept: *c"
VALUES = [
    "yes", "012", "1_000", "2020-01-01", "@a/b", "a: b", "中文 😀", "a\nb\n", "x\n\n", " lead\nx",
    "tab\t", -0.0, 5e-324, 1e21, float("inf"), None, True, JsExpr("a ? b : 'c'"),
    JsExpr("f()\ng()"), "",
    {"1": "a", "b": [[], {}, [{"c": "d,e"}]]}, "w " * 60, "\u2028", "- x", "key:", "<<", "~", "#",
]  # fmt: skip
EDITS: list[tuple[str, Callable[[Desk], LayerEdit]]] = [
    *(
        ("profile", lambda desk, n=n, v=v: set_config(desk, desk.parse(f"one.new{n}.x"), v))
        for n, v in enumerate(VALUES)
    ),
    *(
        ("profile", lambda desk, v=v: set_config(desk, desk.parse("one.list[0]"), v))
        for v in VALUES
    ),
    ("profile", lambda desk: insert_row(desk, {"id": "in", "name": "./in.mjs"}, group="g")),
    ("profile", lambda desk: set_config(desk, desk.parse("in.a.b"), {"c": 1})),
    ("home", lambda desk: set_config(desk, desk.parse("in.a.b.d"), "x")),
    ("home", lambda desk: disable_row(desk, "one")),
    ("home", lambda desk: insert_row(desk, {"id": "late", "name": "@me/late"})),
    ("profile", lambda desk: unset_config(desk, desk.parse("one.url"))),
    ("home", lambda desk: enable_row(desk, "one")),
    ("profile", lambda desk: drop_row(desk, "in")),
    ("profile", lambda desk: drop_row(desk, "two")),
    ("home", lambda desk: drop_row(desk, "late")),
]


@pytest.fixture
def dsh() -> str:
    """Give the real dsh's program."""
    program = os.environ.get("DSHLOOP_TEST_DSH")
    if not program:
        pytest.skip("set DSHLOOP_TEST_DSH to a dsh 0.2.1 (tests/peers/dsh-setup.sh installs one)")
    if shutil.which(program) is None:
        pytest.skip(f"DSHLOOP_TEST_DSH names no program: {program}")
    return program


def test_the_real_dsh_composes_what_was_edited(tmp_path: Path, dsh: str) -> None:
    stage = Stage(tmp_path, "[]\n")
    stage.profile.manifest.write_text('{"dsh": {"profile": {"bundles": []}}}', encoding="utf-8")
    stage.profile.patch.write_bytes(PROFILE.encode())
    stage.profile.home_patch.write_bytes(HOME.encode())
    for number, (layer, make) in enumerate(EDITS):
        written(make(stage.desk(layer)))
        if number % len(VALUES) and number < 2 * len(VALUES):  # dsh takes a quarter of a second
            continue
        composition = compose(user_layers(stage.profile))
        theirs = subprocess.run(
            [dsh, "--profile", "web", "--dump-config"],
            env={**os.environ, "DSH_HOME": str(tmp_path), "DSH_TELEMETRY_DISABLED": "1"},
            cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False, timeout=60,
        )  # fmt: skip
        assert theirs.returncode == 0, theirs.stderr
        assert theirs.stdout == dump_text(composition)
        warned = [line for line in theirs.stderr.splitlines() if line.startswith("dsh: [")]
        assert warned == [f"dsh: [{layer}] {said}" for layer, said in composition.warnings]
