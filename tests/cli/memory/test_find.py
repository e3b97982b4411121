"""`dshloop memory recall`, `search` and `list`: filters and forms."""

from __future__ import annotations

import json

import pytest

from tests.cli.memory.steps import ids, memory, observe, remember
from tests.running import process


@pytest.fixture
def some() -> dict[str, str]:
    """Give memories and observations that differ in every label, by a name for each."""
    return {
        "bug": remember("the cache is slow", "--type", "bug", "--agent", "coder", "--concept",
                        "Cache", "--file-ref", "/work/shop/src/cache.py", "--project", "shop"),
        "fact": remember("the cache is in memory", "--project", "api", "--session", "s9"),
        "everywhere": remember("clear the cache by hand", "--global"),
        "seen": observe("post_tool_use", "s1", "shop", "2026-01-05T10:00Z", tool_name="bash",
                        tool_input={"command": "rm cache"}, tool_output="done"),
    }  # fmt: skip


def named(some: dict[str, str], *words: str) -> set[str]:
    names = {id_: name for name, id_ in some.items()}
    return {names[id_] for id_ in ids(*words)}


@pytest.mark.parametrize("verb", [["search"], ["recall", "cache", "--min-score", "0"]])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"bug", "fact", "everywhere", "seen"}),
        (["--project", "shop"], {"bug", "everywhere", "seen"}),
        (["--agent", "coder"], {"bug"}),
        (["--type", "bug"], {"bug"}),
        (["--type", "command_run"], {"seen"}),
        (["--concept", "cache"], {"bug"}),
        (["--file", "cache.py"], {"bug"}),
        (["--file-ref", "src/cache.py"], {"bug"}),
        (["--session", "s9"], {"fact"}),
        (["--session", "s1"], {"seen"}),
        (["--since", "1h"], {"bug", "fact", "everywhere"}),
        (["--until", "2026-01-05"], {"seen"}),
        (["--until", "2026-01-04"], set()),
        (["--since", "2026-01-05", "--until", "2026-01"], {"seen"}),
        (["--project", "shop", "--type", "bug", "--agent", "coder"], {"bug"}),
    ],
)
def test_filters(
    some: dict[str, str], verb: list[str], words: list[str], expected: set[str]
) -> None:
    ran = memory(*verb, *words, "--json")
    assert {row["id"] for row in ran.json} == {some[name] for name in expected}


def test_list_is_of_memories_and_observations_of_observations(some: dict[str, str]) -> None:
    assert named(some, "list") == {"bug", "fact", "everywhere"}
    assert named(some, "observations") == {"seen"}
    assert ids("search") == [some["seen"], some["everywhere"], some["fact"], some["bug"]]


def test_pages_and_totals(some: dict[str, str]) -> None:
    whole = ids("search")
    assert ids("search", "--limit", "2", "--offset", "1") == whole[1:3]
    assert ids("search", "--offset", "9") == []
    ran = memory("search", "--limit", "2", "--offset", "1")
    assert "there are more: --offset 3" in ran.err
    assert memory("search", "--count", "--json").json == {"count": 4}
    assert memory("list", "--count").out == "3\n"
    assert memory("search", "--count", "--project", "none", "--type", "bug").out == "0\n"
    ranked = [row["id"] for row in memory("recall", "cache", "--min-score", "0", "--json").json]
    paged = memory("recall", "cache", "--min-score", "0", "--limit", "1", "--offset", "1", "--json")
    assert [row["id"] for row in paged.json] == ranked[1:2]
    ran = memory("recall", "cache", "--min-score", "0", "--count", "--json")
    assert (ran.code, ran.json) == (0, {"count": len(ranked)})
    ran = memory("recall", "zebra", "--count", "--json")
    assert (ran.code, ran.json) == (3, {"count": 0})


def test_old_versions_are_listed_when_asked() -> None:
    old = remember("we deploy on Fridays")
    new = memory("edit", old, "we deploy on Mondays", "--quiet").out.strip()
    assert ids("list") == [new]
    assert set(ids("list", "--old")) == {old, new}


def test_formats(some: dict[str, str]) -> None:
    lines = memory("recall", "slow cache", "--format", "jsonl", "--min-score", "0").out.splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows == memory("recall", "slow cache", "--format", "json", "--min-score", "0").json
    assert memory("recall", "slow cache", "--json", "--min-score", "0").json == rows
    assert memory("recall", "slow cache", "--format", "text").out.startswith("0.")
    text = memory("list", "--format", "md", "--type", "bug").out
    assert text.startswith("## the cache is slow\n\nbug · shop · ")
    assert "\n> the cache is slow\n" in text
    ran = memory("list", "--format", "xml", "--json")
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


@pytest.mark.parametrize("how", ["json", "jsonl"])
def test_a_json_format_holds_for_errors_and_for_nothing(how: str) -> None:
    ran = memory("recall", "x", "--format", how, "--since", "soon")
    assert (ran.code, ran.error["code"], ran.out) == (2, "DATE_INVALID", "")
    ran = memory("recall", "x", "--format", how)
    assert (ran.code, ran.out, ran.err) == (3, "[]\n" if how == "json" else "", "")


def test_brief_and_full() -> None:
    id_ = remember("first line\n\n" + "word " * 100, "--title", "The title")
    assert memory("list", "--brief").out == f"{id_}  The title\n"
    [row] = memory("list", "--brief", "--json").json
    assert row.keys() == {"kind", "id", "type", "title", "project", "session", "created_at"}
    assert memory("list", "--full").out.count("word ") == 100
    hit = memory("recall", "first", "--brief", "--json").json[0]
    assert (hit["id"], "content" in hit, "score" in hit) == (id_, False, True)
    assert memory("recall", "first", "--brief").out.endswith(f"{id_}  The title\n")
    assert "\n  first line\n" in memory("recall", "first", "--full").out
    ran = memory("list", "--brief", "--full", "--json")
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


def test_why_names_words_fields_and_parts() -> None:
    remember("rows are keyed by id", "--title", "Row keys")
    out = memory("recall", "how are rows keyed in tables", "--min-score", "0", "--why").out
    for label in ("words:", "in:", "missing:", "score:"):
        assert label in out
    [hit] = memory("recall", "how are rows keyed", "--json").json
    assert set(hit["why"]) == {"words", "missing", "fields", "prefixes", "context", "parts"}


@pytest.mark.parametrize("verb", ["search", "list", "observations"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--limit", "0"], "USAGE"),
        (["--limit", "-3"], "USAGE"),
        (["--limit", "x"], "USAGE"),
        (["--offset", "-1"], "USAGE"),
        (["--since", "2026-02-30"], "DATE_INVALID"),
        (["--until", ""], "DATE_INVALID"),
        (["--type", "opinion"], "MEMORY_TYPE"),
        (["--format", ""], "USAGE"),
        (["--store", "none"], "STORE_UNKNOWN"),
        (["surplus"], "USAGE"),
    ],
)
def test_bad_filters(verb: str, words: list[str], code: str) -> None:
    ran = memory(verb, *words, "--json")
    assert (ran.code, ran.error["code"]) == (3 if code == "STORE_UNKNOWN" else 2, code)


def test_words_behind_search_are_sent_to_recall() -> None:
    ran = memory("search", "deploy", "--json")
    assert (ran.code, "memory recall" in ran.error["hint"]) == (2, True)
    assert "words" not in memory("search", "--help").out.lower().partition("options")[0]


@pytest.mark.parametrize("number", [2**31, 2**63 - 1, 2**63, 10**30])
def test_pages_may_be_anywhere(some: dict[str, str], number: int) -> None:
    for verb in (["search"], ["list"], ["recall", "cache", "--min-score", "0"], ["sessions"]):
        assert memory(*verb, "--limit", str(number), "--json").json
        ran = memory(*verb, "--offset", str(number), "--json")
        assert ran.json == []
        assert ran.code == (3 if verb[0] == "recall" else 0)
    assert ids("timeline", some["seen"], "--before", str(number), "--after", str(number))
    assert ids("timeline", "2026-01-05", "--before", str(number), "--after", str(number))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([""], "MEMORY_EMPTY"),
        (["  "], "MEMORY_EMPTY"),
        (["x", "--min-score", "nan"], "USAGE"),
        (["x", "--min-score", "-0.1"], "USAGE"),
        (["x", "--offset", "-1"], "USAGE"),
        ([], "USAGE"),
    ],
)
def test_bad_questions(words: list[str], code: str) -> None:
    ran = memory("recall", *words, "--json")
    assert (ran.code, ran.error["code"]) == (2, code)


def test_readonly_reads_and_creates_nothing() -> None:
    assert memory("list", "--readonly", "--json").json == []
    assert memory("stats", "--readonly", "--json").json["memories"] == 0
    id_ = remember("we deploy on Fridays")
    assert memory("recall", "deploy", "--readonly", "--json").json[0]["id"] == id_


def test_a_closed_pipe_ends_a_long_list_quietly() -> None:
    import subprocess
    import sys

    for number in range(30):
        remember(f"note {number} " + "x" * 3000)
    ran = subprocess.run(
        f"{sys.executable} -m dshloop memory search --full --format jsonl | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stderr, len(ran.stdout)) == ("", 10)


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("verb", [["search"], ["list"], ["observations"], ["sessions"], ["stores"],
                                  ["timeline", "2026-01-05"]])  # fmt: skip
def test_tables_fit_the_terminal(some: dict[str, str], verb: list[str], width: int) -> None:
    ran = memory(*verb, "--no-color", tty=True, variables={"COLUMNS": str(width)})
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= width


COMPLETED = [
    (["search", "--project", ""], {"shop", "api"}),
    (["search", "--agent", ""], {"coder"}),
    (["list", "--type", "b"], {"bug"}),
    (["observations", "--type", "comm"], {"command_run"}),
    (["search", "--type", "co"], {"command_run", "conversation"}),
    (["recall", "--concept", ""], {"Cache"}),
    (["recall", "--file", ""], {"/work/shop/src/cache.py"}),
    (["recall", "--file-ref", ""], {"/work/shop/src/cache.py"}),
    (["search", "--session", ""], {"s1"}),
    (["list", "--since", "7"], {"7d"}),
    (["list", "--format", "j"], {"json", "jsonl"}),
    (["list", "--store", ""], {"embedded", "postgres", "agentmemory", "patchouli"}),
    (["use", ""], {"embedded", "postgres", "agentmemory", "patchouli"}),
    (["observe", "post_"], {"post_tool_use", "post_tool_failure"}),
    (["remember", "--type", "p"], {"pattern", "preference"}),
    (["remember", "--session", ""], {"s1"}),
    (["sessions", "--agent", ""], {"coder"}),
    (["context", "--project", "s"], {"shop"}),
]


@pytest.mark.parametrize(
    ("words", "offered"), COMPLETED, ids=[" ".join(row[0]) for row in COMPLETED]
)
def test_completion_offers_what_is_stored(
    some: dict[str, str], words: list[str], offered: set[str]
) -> None:
    ran = process("memory", *words, env={"_DSHLOOP_COMPLETE": "bash"})
    assert {line.partition("\t")[0] for line in ran.stdout.splitlines()} == offered


def test_completion_offers_ids(some: dict[str, str]) -> None:
    def offered(*words: str) -> set[str]:
        ran = process("memory", *words, env={"_DSHLOOP_COMPLETE": "bash"})
        return {line.partition("\t")[0] for line in ran.stdout.splitlines()}

    assert offered("show", "") == set(some.values())
    assert offered("edit", "") == set(some.values()) - {some["seen"]}
    assert offered("forget", "obs_") == {some["seen"]}
