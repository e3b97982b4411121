"""`dshloop memory forget`, `undo` and `restore`."""

from __future__ import annotations

import pytest

from tests.cli.memory.steps import ids, memory, observe, remember, typed


@pytest.fixture
def some() -> list[str]:
    """Give three memories of project p, one of q and an observation of p."""
    return [
        remember("deploy on Fridays"),
        remember("rows are keyed by id", "--type", "pattern"),
        remember("the cache is slow", "--global"),
        remember("deploy by hand", "--project", "q"),
        observe("prompt_submit", prompt="how do we deploy", at="2026-01-05"),
    ]


def test_conditions_need_a_yes(some: list[str]) -> None:
    ran = memory("forget", "--project", "p", "--json")
    assert (ran.code, ran.error["code"], ran.error["details"]["found"]) == (
        4,
        "FORGET_UNCONFIRMED",
        3,
    )
    assert len(ids("search")) == 5
    ran = memory("forget", "--project", "p", "--dry-run", "--json")
    assert (ran.code, ran.json["deleted"]) == (0, 0)
    assert (ran.json["memories"], ran.json["observations"]) == (2, 1)
    assert len(ids("search")) == 5


def test_a_project_means_its_own_entries(some: list[str]) -> None:
    ran = memory("forget", "--project", "p", "--yes", "--json")
    assert (ran.json["deleted"], set(ran.json["ids"])) == (3, {some[0], some[1], some[4]})
    assert set(ids("search")) == {some[2], some[3]}


def test_a_question_forgets_what_recall_shows(some: list[str]) -> None:
    shown = ids("recall", "deploy", "--limit", "2")
    ran = memory("forget", "--query", "deploy", "--limit", "2", "--yes", "--json")
    assert set(ran.json["ids"]) == set(shown)


def test_a_session_goes_with_its_observations_and_leaves_its_memories(some: list[str]) -> None:
    kept = remember("from that session", "--session", "s1")
    assert memory("forget", "--session", "s1", "--dry-run", "--json").json["ids"] == [some[4]]
    ran = memory("forget", "--session", "s1", "--yes", "--json")
    assert (ran.json["ids"], ran.json["observations"]) == ([some[4]], 1)
    assert ids("sessions") == []
    assert kept in ids("list")
    memory("undo")
    assert ids("sessions") == ["s1"]
    assert some[4] in ids("observations")


def test_before_and_the_other_filters(some: list[str]) -> None:
    ran = memory("forget", "--before", "2026-01-05", "--yes", "--json")
    assert (ran.code, ran.error["code"]) == (3, "MEMORY_NOT_FOUND")
    assert memory("forget", "--before", "2026-01-06", "--yes", "--json").json["ids"] == [some[4]]
    assert memory("forget", "--type", "pattern", "--yes", "--json").json["ids"] == [some[1]]


def test_a_terminal_is_shown_what_goes_and_asked(some: list[str]) -> None:
    ran = typed("forget", "--project", "p", keys="n\n")
    assert ran.code == 4
    assert some[0] in ran.err
    assert "Forget 2 memories and 1 observation? [y/N]" in ran.err
    assert len(ids("search")) == 5
    ran = typed("forget", "--project", "p", keys="y\n")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "forgot 2 memories and 1 observation")
    assert len(ids("search")) == 2


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--yes"],
        ["--project", "", "--yes"],
        ["--query", " ", "--yes"],
        ["--before", "", "--yes"],
        ["--session", "", "--yes"],
        ["mem_01", "--project", "p", "--yes"],
        ["--before", "soon", "--yes"],
        ["--query", "x", "--limit", "0", "--yes"],
        ["--query", "x", "--min-score", "nan", "--yes"],
    ],
)
def test_bad_conditions_forget_nothing(some: list[str], words: list[str]) -> None:
    ran = memory("forget", *words, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert len(ids("search")) == 5


def test_unknown_and_ambiguous_ids(some: list[str]) -> None:
    ran = memory("forget", "mem_ffff", "--json")
    assert (ran.code, ran.error["code"]) == (3, "MEMORY_NOT_FOUND")
    ran = memory("forget", "mem_", "--json")
    assert (ran.code, ran.error["code"]) == (2, "AMBIGUOUS_ID")
    assert len(ids("search")) == 5


def test_undo_takes_back_the_last_change(some: list[str]) -> None:
    memory("forget", some[0], some[4])
    ran = memory("undo", "--json")
    assert (ran.json["verb"], set(ran.json["ids"])) == ("forget", {some[0], some[4]})
    assert len(ids("search")) == 5
    assert memory("recall", "Fridays", "--json").json[0]["id"] == some[0]
    new = memory("edit", some[1], "rows are keyed by name", "--quiet").out.strip()
    assert "took back edit" in memory("undo").out
    assert new not in ids("list")
    assert memory("show", some[1], "--json").json["latest"] is True


def test_nothing_to_undo() -> None:
    ran = memory("undo", "--json")
    assert ran.error["code"] == "NOTHING_TO_UNDO"
    assert ran.code != 0


def test_restore_brings_back_by_id(some: list[str]) -> None:
    memory("forget", some[0], some[1])
    memory("forget", some[3])
    ran = memory("restore", some[1], "--json")
    assert (ran.code, ran.json) == (0, {"restored": [some[1]]})
    assert some[1] in ids("list")
    assert some[0] not in ids("list")
    ran = memory("restore", "mem_ffff", "--json")
    assert (ran.code, ran.error["code"]) == (3, "MEMORY_NOT_FOUND")


def test_what_is_purged_stays_away(some: list[str]) -> None:
    assert memory("forget", some[0], "--purge").code == 0
    ran = memory("restore", some[0], "--json")
    assert (ran.code, ran.error["code"]) == (3, "MEMORY_NOT_FOUND")


def test_a_long_answer_names_some_and_counts_the_rest() -> None:
    for number in range(25):
        remember(f"note {number} of the long list")
    lines = memory("forget", "--project", "p", "--yes").out.splitlines()
    assert (len(lines), lines[-1]) == (22, "  and 5 more")
