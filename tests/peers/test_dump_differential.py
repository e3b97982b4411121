"""The real dsh and dshloop give the same dump and the same warnings for the same layers."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dshloop.dsh_yaml import JsExpr, dump
from dshloop.errors import DshloopError
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.layers import read_layer

pytestmark = [pytest.mark.peer, pytest.mark.slow]

CHARACTERS = (
    "abZ \n\t\r:#-?'\"\\%@`&*!|>[]{},=~019.e+_é中😀\0\x07\x7f\x85\xa0\u2028\ufeff\ud800\u3000"
)
SEQUENCES = [
    "word",
    "  ",
    "\n\n",
    ": ",
    " #",
    "- ",
    "null",
    "true",
    "yes",
    "0x",
    "...",
    "---",
    "<<",
]
FRAGMENTS = [*CHARACTERS, *SEQUENCES]
WORDS = ["word", "x", "中文字", "😀", "\n", " ", "  ", "a:b", "https://example.com/a/long/path/"]
NUMBERS = [0, -0.0, 1.5, 1e21, 1e-7, 5e-324, 2.0**53, 123456.789, float("inf"), float("nan")]


@pytest.fixture(scope="module")
def dsh() -> str:
    program = os.environ.get("DSHLOOP_TEST_DSH")
    if not program:
        pytest.skip("set DSHLOOP_TEST_DSH to a dsh 0.2.1 (tests/peers/dsh-setup.sh installs one)")
    if shutil.which(program) is None:
        pytest.skip(f"DSHLOOP_TEST_DSH names no program: {program}")
    return program


def run(dsh: str, home: Path, paths: list[Path]) -> subprocess.CompletedProcess[bytes]:
    """Let dsh dump a profile without bundles, on a home of its own."""
    profile = home / "profiles" / "empty"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "package.json").write_text('{"dsh": {"profile": {"bundles": []}}}')
    command = [dsh, "--profile", "empty"]
    for path in paths:
        command += ["--patch", str(path)]
    return subprocess.run(
        [*command, "--dump-config"],
        capture_output=True,
        env={**os.environ, "DSH_HOME": str(home), "DSH_TELEMETRY_DISABLED": "1"},
        timeout=60,
        check=False,
    )


def check(dsh: str, folder: Path, texts: list[str]) -> None:
    paths = [folder / f"L{number}.yml" for number in range(1, len(texts) + 1)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    done = run(dsh, folder / "home", paths)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    composition = compose([read_layer(path) for path in paths])
    assert dump_text(composition) == done.stdout.decode()
    ours = [f"dsh: [{warned.layer}] {warned.message}" for warned in composition.warnings]
    theirs = done.stderr.decode("utf-8", "replace").split("\n")
    assert ours == [line for line in theirs if line.startswith("dsh: ")]


def text_value(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.6:
        return "".join(draw.choices(FRAGMENTS, k=draw.randint(0, 6)))
    if kind < 0.8:
        return "".join(draw.choices(WORDS, k=draw.randint(10, 50)))
    return " ".join("w" * draw.randint(1, 30) for _ in range(draw.randint(2, 20)))


def value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.random()
    if depth < 4 and kind < 0.15:
        return [value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    if depth < 4 and kind < 0.35:
        return {text_value(draw): value(draw, depth + 1) for _ in range(draw.randint(0, 3))}
    if kind < 0.45:
        return draw.choice([True, False, None, *NUMBERS, draw.uniform(-1e6, 1e6)])
    return JsExpr(text_value(draw)) if kind < 0.5 else text_value(draw)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_dumped_alike(dsh: str, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    rows = [{"id": f"r{number}", "config": value(draw)} for number in range(250)]
    check(dsh, tmp_path, [dump([{"insert": rows}])])


def row(draw: random.Random, ids: list[Any], depth: int = 0) -> dict[str, Any]:
    made: dict[str, Any] = {"id": draw.choice(ids)}
    if draw.random() < 0.7:
        made["name"] = draw.choice(["m", "n", "./rel é.mjs", "../up.mjs", 12])
    if depth < 2 and draw.random() < 0.4:
        made["group"] = draw.choice([True, True, False, "no", None])
        made["config"] = [row(draw, ids, depth + 1) for _ in range(draw.randint(0, 3))]
    elif draw.random() < 0.5:
        made["config"] = draw.choice([1, {"x": 1, "y": {"z": 2}}, [], JsExpr("a.b"), NUMBERS[-1]])
    return made


def patch(draw: random.Random, ids: list[Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"id": draw.choice([*ids, *ids, *ids, None, "", 0, [1], JsExpr("q")])}
    if draw.random() < 0.4:
        made["insert"] = [row(draw, ids) for _ in range(draw.randint(0, 3))]
        if draw.random() < 0.6:
            del made["id"]
        return made
    if draw.random() < 0.3:
        made["name"] = draw.choice(["m", "n", 12, "12", ""])
    keys = ["config", "disabled", "group", "7", "10", "__proto__", "inject", "before"]
    for key in draw.sample(keys, draw.randint(0, 3)):
        made[key] = draw.choice(
            [None, True, 0, "x", {"x": 1, "y": {"z": 2}}, {"group": 1}, [], 1.0]
        )
    return made


@pytest.mark.parametrize("seed", range(6))
def test_layers_compose_alike(dsh: str, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    texts = []
    for _ in range(4):
        items = []
        for scenario in range(12):  # each on ids of its own, so that one run holds many
            ids: list[Any] = [f"{scenario}{name}" for name in "abgh"] + [scenario * 100]
            items += [patch(draw, ids) for _ in range(draw.randint(1, 5))]
        texts.append(dump(items))
    check(dsh, tmp_path, texts)


REFUSED = [
    "- id: a\n\tx: 1\n",
    "- {id: a, id: b}\n",
    "- id: @a\n",
    "- [a, , b]\n",
    "- id: a\n---\n- id: b\n",
    "- id: !foo x\n",
    '- "\\q"\n',
    "- 'é😀' x\n",
    "a: 1\n",
    "- a\n",
]


@pytest.mark.parametrize("text", REFUSED)
def test_files_are_refused_with_the_same_words(dsh: str, tmp_path: Path, text: str) -> None:
    path = tmp_path / "L.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DshloopError) as raised:
        read_layer(path)
    done = run(dsh, tmp_path / "home", [path])
    assert done.returncode == 1
    assert f"Error: dsh: {raised.value.message}" in done.stderr.decode()
