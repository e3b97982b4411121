"""`dshloop memory bench`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.memory.steps import memory, remember


@pytest.fixture
def questions(tmp_path: Path) -> str:
    """Give a file of three questions, two of which are answered."""
    remember("We deploy on Fridays")
    id_ = remember("Rows are keyed by id")
    file = tmp_path / "questions.yml"
    file.write_text(
        "- {id: day, query: when do we deploy, expect: fridays}\n"
        f"- {{id: rows, query: how are rows keyed, expect: {id_[:36]}}}\n"
        "- {id: lost, query: who owns the zebra, expect: [mem_ffff, nobody]}\n"
    )
    return str(file)


def test_figures_and_what_was_missed(questions: str) -> None:
    found = memory("bench", questions, "--json").json
    assert (found["hit"], found["hit_1"], found["mrr"]) == (0.6667, 0.6667, 0.6667)
    assert [row["rank"] for row in found["questions"]] == [1, 1, None]
    assert found["p95_ms"] >= found["p50_ms"] > 0
    ran = memory("bench", questions)
    assert "hit@5   0.667" in ran.out
    assert "missed  lost: who owns the zebra: not found" in ran.out
    assert f"{questions}:3: nothing has the id mem_ffff" in ran.err


def test_a_threshold_decides_the_exit_code(questions: str) -> None:
    assert memory("bench", questions, "--min-hit", "0.6", "--min-mrr", "0.6").code == 0
    ran = memory("bench", questions, "--min-hit", "0.9", "--min-hit-1", "0.5", "--json")
    assert (ran.code, ran.json["missed"]) == (1, ["hit is 0.667, below 0.900"])


def test_a_baseline_shows_what_was_lost(questions: str, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(memory("bench", questions, "--json").out)
    assert memory("bench", questions, "--baseline", str(old), "--max-drop", "0").code == 0
    memory("forget", "--query", "deploy Fridays", "--limit", "1", "--yes")
    ran = memory("bench", questions, "--baseline", str(old), "--json")
    assert (ran.code, ran.json["baseline"]["lost"]) == (0, ["day"])
    assert ran.json["baseline"]["hit"] == -0.3334
    ran = memory("bench", questions, "--baseline", str(old), "--max-drop", "0.1")
    assert ran.code == 1
    assert "missed  day: when do we deploy: not found (was answered)" in ran.out
    assert "failed  hit fell by 0.333, more than 0.100" in ran.out


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (["none.yml"], 1, "UNREADABLE_FILE"),
        (["bad.yml"], 1, "BENCH_INVALID"),
        (["good.yml", "--baseline", "bad.yml"], 1, "BENCH_INVALID"),
        (["good.yml", "--min-hit", "nan"], 2, "USAGE"),
        (["good.yml", "--min-hit", "90"], 2, "USAGE"),
        (["good.yml", "--since", "soon"], 2, "DATE_INVALID"),
        ([], 2, "USAGE"),
    ],
)
def test_bad_input(tmp_path: Path, words: list[str], exit_code: int, code: str) -> None:
    (tmp_path / "bad.yml").write_text("- query: x\n  expect: 7\n")
    (tmp_path / "good.yml").write_text("- {query: x, expect: y}\n")
    ran = memory("bench", *words, "--json", cwd=tmp_path)
    assert (ran.code, ran.error["code"], ran.out) == (exit_code, code, "")
    if words == ["bad.yml"]:
        assert ran.error["message"].startswith("bad.yml:2:3: ")
