"""`dshloop memory` as a user runs it."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

import pytest

from tests.running import dshloop, process

ID = re.compile(r"mem_[0-9a-f]{32}")


def database() -> Path:
    return Path(os.environ["DSHLOOP_DATA"]) / "memory.db"


def remember(*words: str, **more: object) -> str:
    ran = dshloop("memory", "remember", *words, **more)  # type: ignore[arg-type]
    assert ran.code == 0, ran.err
    return ran.out.strip()


def test_remember_then_recall() -> None:
    id_ = remember("We deploy on Fridays")
    assert ID.fullmatch(id_)
    ran = dshloop("memory", "recall", "when do we deploy")
    assert (ran.code, ran.err) == (0, "")
    first, second = ran.out.splitlines()
    score, shown, type_, _project = first.split("  ")
    assert (shown, type_, second) == (id_, "fact", "  We deploy on Fridays")
    assert 0 < float(score) <= 1


def test_words_need_no_quotes() -> None:
    remember("We", "deploy", "on", "Fridays")
    [hit] = dshloop("memory", "recall", "when", "do", "we", "deploy", "--json").json
    assert hit["content"] == "We deploy on Fridays"


def test_recall_without_a_hit_is_exit_3_and_an_empty_array() -> None:
    ran = dshloop("memory", "recall", "anything", "--json")
    assert (ran.code, ran.json, ran.err) == (3, [], "")
    ran = dshloop("memory", "recall", "anything")
    assert (ran.code, ran.out) == (3, "")
    assert "no memory answers this" in ran.err
    assert not database().parent.exists()


def test_a_hit_is_the_memory_with_its_score_and_why() -> None:
    id_ = remember("Rows are keyed by id", "--type", "architecture", "--title", "Row keys",
                   "--concept", "rows", "--concept", "keys", "--file-ref", "src/rows.py",
                   "--project", "shop")  # fmt: skip
    [hit] = dshloop("memory", "recall", "how are rows keyed", "--json").json
    score, why = hit.pop("score"), hit.pop("why")
    assert 0 < score <= 1
    assert (why["words"], why["missing"]) == (["rows", "keyed"], [])
    assert why["fields"] == ["title", "content", "concepts", "files"]
    assert hit.pop("folded") == []
    assert hit == dshloop("memory", "show", id_, "--json").json
    times = hit.pop("created_at"), hit.pop("updated_at")
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    assert hit == {
        "kind": "memory",
        "id": id_,
        "type": "architecture",
        "title": "Row keys",
        "content": "Rows are keyed by id",
        "concepts": ["rows", "keys"],
        "files": ["src/rows.py"],
        "project": "shop",
        "agent": None,
        "session": None,
        "source": {"kind": "command"},
        "strength": 7.0,
        "expires_at": None,
        "version": 1,
        "previous": None,
        "latest": True,
        "repeats": 1,
    }


def test_the_same_text_again_is_counted() -> None:
    id_ = remember("We deploy on Fridays")
    ran = dshloop("memory", "remember", "We deploy on Fridays", "--json")
    assert (ran.json["id"], ran.json["merged"], ran.json["repeats"]) == (id_, True, 2)
    assert len(dshloop("memory", "list", "--json").json) == 1
    assert "counted again (3 times)" in dshloop("memory", "remember", "We deploy on Fridays").err


def test_text_from_stdin_and_from_a_file(tmp_path: Path) -> None:
    remember("-", stdin="第一行\nsecond line\n\n")
    (tmp_path / "note.txt").write_bytes("\ufefffrom a file\r\n".encode())
    remember("--file", "note.txt", cwd=tmp_path)
    texts = {row["content"] for row in dshloop("memory", "list", "--json").json}
    assert texts == {"第一行\nsecond line", "from a file"}


def test_stdin_of_a_process_is_utf8_whatever_the_locale() -> None:
    ran = process(
        "memory", "remember", "-", stdin="部署在星期五\n", env={"PYTHONIOENCODING": "ascii"}
    )
    assert ran.returncode == 0, ran.stderr
    assert dshloop("memory", "recall", "星期五", "--json").json[0]["content"] == "部署在星期五"


@pytest.mark.parametrize("words", [[], [""], ["  "], ["-"]])
def test_nothing_to_remember_is_a_usage_error(words: list[str]) -> None:
    ran = dshloop("memory", "remember", *words, "--json")
    assert (ran.code, ran.error["code"]) == (2, "MEMORY_EMPTY")


def test_a_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_bytes(b"ok\nbad \xff")
    ran = dshloop("memory", "remember", "--file", str(tmp_path / "note.txt"), "--json")
    assert (ran.code, ran.error["code"]) == (1, "UNREADABLE_FILE")
    assert ran.error["details"]["line"] == 2
    ran = dshloop("memory", "remember", "--file", str(tmp_path / "none.txt"), "--json")
    assert (ran.code, ran.error["code"]) == (1, "UNREADABLE_FILE")
    ran = dshloop("memory", "remember", "x", "--file", str(tmp_path / "note.txt"))
    assert ran.code == 2


def test_the_project_is_stamped_and_filters_only_when_asked(tmp_path: Path) -> None:
    shop, api = tmp_path / "shop", tmp_path / "api"
    (shop / ".git").mkdir(parents=True)
    (shop / "src").mkdir()
    api.mkdir()
    remember("deploy the shop", cwd=shop / "src")
    remember("deploy the api", cwd=api)
    remember("deploy the third", "--project", "third", cwd=api)
    remember("deploy the fourth", variables={"AGENTMEMORY_PROJECT_NAME": "fourth"}, cwd=api)
    remember("then deploy its documentation", "--project", ".", cwd=api)

    def projects(*words: str, **more: object) -> list[str]:
        ran = dshloop("memory", *words, "--json", **more)  # type: ignore[arg-type]
        return sorted(row["project"] for row in ran.json)

    everywhere = ["api", "api", "fourth", "shop", "third"]
    assert projects("recall", "deploy", cwd=shop) == everywhere
    assert projects("list", cwd=shop) == everywhere
    assert projects("recall", "deploy", "--project", ".", cwd=shop / "src") == ["shop"]
    assert projects("list", "--project", "api") == ["api", "api"]
    assert dshloop("memory", "recall", "deploy", "--project", "none").code == 3


def test_types_filter_and_unknown_ones_are_usage_errors() -> None:
    remember("the cache is slow", "--type", "bug")
    remember("the cache is in memory")
    [hit] = dshloop("memory", "recall", "cache", "--type", "bug", "--json").json
    assert hit["type"] == "bug"
    assert len(dshloop("memory", "list", "--type", "fact", "--json").json) == 1
    for words in (["remember", "x"], ["recall", "x"], ["list"]):
        ran = dshloop("memory", *words, "--type", "opinion", "--json")
        assert (ran.code, ran.error["code"]) == (2, "MEMORY_TYPE")
        assert "workflow" in ran.error["hint"]


def test_limits_and_least_scores() -> None:
    for number in range(4):
        remember(f"deploy note {number}")
    assert len(dshloop("memory", "recall", "deploy", "--limit", "2", "--json").json) == 2
    ran = dshloop("memory", "list", "--limit", "3")
    assert len(ran.out.splitlines()) == 4
    assert "there are more" in ran.err
    assert dshloop("memory", "recall", "deploy", "--min-score", "1").code == 3
    assert dshloop("memory", "recall", "deploy", "--min-score", "2").code == 2
    assert dshloop("memory", "recall", "deploy", "--limit", "0").code == 2


def test_show_takes_the_beginning_of_an_id() -> None:
    id_ = remember("one line\nanother line", "--concept", "x", "--project", "shop")
    ran = dshloop("memory", "show", id_[:30])
    assert ran.code == 0
    assert id_ in ran.out
    assert ran.out.endswith("\n\none line\nanother line\n")
    ran = dshloop("memory", "show", "mem_ffff", "--json")
    assert (ran.code, ran.error["code"]) == (3, "MEMORY_NOT_FOUND")


def test_an_ambiguous_id_lists_the_candidates() -> None:
    ids = [remember("one"), remember("two")]
    ran = dshloop("memory", "show", "mem_", "--json")
    assert (ran.code, ran.error["code"]) == (2, "AMBIGUOUS_ID")
    assert ran.error["details"]["candidates"] == sorted(ids)


def test_forget_reports_what_it_did() -> None:
    one, two, three = remember("one"), remember("two"), remember("three")
    ran = dshloop("memory", "forget", one, "--dry-run", "--json")
    assert ran.json == {
        "deleted": 0,
        "dry_run": True,
        "memories": 1,
        "observations": 0,
        "ids": [one],
        "missing": [],
    }
    ran = dshloop("memory", "forget", one, two)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "forgot 2 memories")
    ran = dshloop("memory", "forget", one, three, "--json")
    assert ran.code == 3
    assert (ran.json["deleted"], ran.json["ids"], ran.json["missing"]) == (1, [three], [one])
    ran = dshloop("memory", "forget", one, "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (3, "", "MEMORY_NOT_FOUND")
    assert dshloop("memory", "list", "--json").json == []


def test_an_empty_list_is_no_failure() -> None:
    ran = dshloop("memory", "list")
    assert (ran.code, ran.out, ran.err) == (0, "", "no memories\n")
    assert dshloop("memory", "list", "--json").json == []


def test_stats() -> None:
    remember("one", "--project", "shop", "--type", "bug")
    remember("two", "--project", "shop")
    found = dshloop("memory", "stats", "--json").json
    assert found.pop("bytes") > 0
    assert found == {
        "store": "embedded",
        "where": str(database()),
        "memories": 2,
        "observations": 0,
        "sessions": 0,
        "versions": 0,
        "forgotten": 0,
        "semantic": None,
        "projects": {"shop": 2},
        "types": {"bug": 1, "fact": 1},
    }
    assert "2 memories" in dshloop("memory", "stats").out


@pytest.mark.parametrize("words", [["--store", "postgres"], []])
def test_an_unknown_store_is_not_found(words: list[str]) -> None:
    variables = {} if words else {"DSHLOOP_STORE": "postgres"}
    ran = dshloop("memory", "recall", "x", *words, "--json", variables=variables)
    assert (ran.code, ran.error["code"]) == (3, "STORE_UNKNOWN")
    assert dshloop("memory", "list", "--store", "embedded", variables=variables).code == 0


def test_control_characters_are_shown_and_markup_is_text() -> None:
    id_ = remember(
        "\x1b[31mred [bold]x[/items]\x07", "--title", "\x1b]0;title\x07", "--project", "a\nb"
    )
    for words in (["recall", "red"], ["list"], ["show", id_], ["stats"]):
        for tty in (False, True):
            out = dshloop("memory", *words, "--no-color", tty=tty, variables={"COLUMNS": "200"}).out
            assert "\x1b" not in out
            assert "\x07" not in out
    assert "\\x1b[31mred [bold]x[/items]" in dshloop("memory", "recall", "red").out


def test_a_damaged_database_names_its_file() -> None:
    database().parent.mkdir(parents=True)
    database().write_text("not a database, whatever it is called " * 100)
    for words in (["recall", "x"], ["remember", "x"], ["list"], ["stats"], ["forget", "mem_0"]):
        ran = dshloop("memory", *words, "--json")
        assert (ran.code, ran.error["code"]) == (1, "STORE_CORRUPT")
        assert ran.error["details"]["path"] == str(database())


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_the_database_is_private() -> None:
    remember("x")
    assert stat.S_IMODE(database().stat().st_mode) == 0o600
    assert stat.S_IMODE(database().parent.stat().st_mode) == 0o700


def test_an_argument_of_bytes_that_are_no_text_is_kept() -> None:
    ran = process("memory", "remember", "caf\udce9 deploys")
    assert ran.returncode == 0, ran.stderr
    ran = process("memory", "recall", "deploys", "--json")
    assert "caf\\udce9 deploys" in ran.stdout
    assert process("memory", "recall", "deploys").returncode == 0


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["list", "--type", "p"], ["pattern", "preference"]),
        (["recall", "--project", ""], ["shop"]),
        (["list", "--store", ""], ["embedded", "postgres", "agentmemory", "patchouli"]),
    ],
)
def test_completion_offers_values(words: list[str], offered: list[str]) -> None:
    remember("one", "--project", "shop")
    ran = process("memory", *words, env={"_DSHLOOP_COMPLETE": "bash"})
    assert [line.partition("\t")[0] for line in ran.stdout.splitlines()] == offered


def test_completion_offers_ids_with_their_titles() -> None:
    id_ = remember("We deploy on Fridays")
    ran = process("memory", "show", "", env={"_DSHLOOP_COMPLETE": "bash"})
    assert ran.stdout == f"{id_}\tWe deploy on Fridays\n"
