"""`dshloop memory sessions`, `observations`, `observe` and `timeline`."""

from __future__ import annotations

import json

import pytest

from tests.cli.memory.steps import ids, memory, observe, remember, typed

SECRET = "sk-" + "a1B2" * 8


@pytest.fixture
def days() -> list[str]:
    """Give an observation of each of five days, in two sessions."""
    return [
        observe("prompt_submit", f"s{day // 3}", prompt=f"what about topic {day}",
                at=f"2026-01-0{day + 1}T10:00Z")
        for day in range(5)
    ]  # fmt: skip


def test_observe_reads_stdin_and_takes_the_session_from_the_data() -> None:
    data = {"session_id": "s7", "tool_name": "bash", "tool_input": {"command": "make test"},
            "tool_output": "12 passed"}  # fmt: skip
    ran = memory("observe", "post_tool_use", "--project", "p", "--agent", "coder", "--json",
                 stdin=json.dumps(data))  # fmt: skip
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["kind"], found["session"], found["hook"]) == (
        "observation",
        "s7",
        "post_tool_use",
    )
    assert (found["type"], found["project"], found["agent"]) == ("command_run", "p", "coder")
    assert (found["duplicate"], found["redacted"]) == (False, 0)
    assert "12 passed" in found["content"]
    again = memory("observe", "post_tool_use", "--project", "p", "--json", stdin=json.dumps(data))
    assert (again.json["id"], again.json["duplicate"]) == (found["id"], True)
    [session] = memory("sessions", "--json").json
    assert (session["id"], session["observations"], session["status"]) == ("s7", 1, "active")


def test_observe_waits_for_nobody_at_a_terminal() -> None:
    ran = typed("observe", "stop", "--session", "s1", keys='{"never": "read"}')
    assert ran.code == 0
    assert "never" not in memory("search", "--full").out


def test_observe_counts_secrets_and_never_shows_them() -> None:
    ran = memory("observe", "prompt_submit", "--session", "s", "--data",
                 json.dumps({"prompt": f"use {SECRET}"}))  # fmt: skip
    assert "1 secret was taken out" in ran.err
    assert SECRET not in memory("search", "--full").out + ran.out + ran.err


@pytest.mark.parametrize(
    ("words", "stdin", "code", "exit_code"),
    [
        (["stop", "--session", "s", "--data", "{"], "", "HOOK_DATA_INVALID", 1),
        (["stop", "--session", "s"], "not json", "HOOK_DATA_INVALID", 1),
        (["stop", "--session", "s"], "[" * 100_000, "HOOK_DATA_INVALID", 1),
        (["stop"], "{}", "HOOK_DATA_INVALID", 1),
        (["stop"], '{"session_id": 3}', "HOOK_DATA_INVALID", 1),
        (["stop", "--session", " "], '"text"', "HOOK_DATA_INVALID", 1),
        ([" ", "--session", "s"], "{}", "USAGE", 2),
        ([], "{}", "USAGE", 2),
        (["stop", "--session", "s", "--at", "soon"], "{}", "DATE_INVALID", 2),
    ],
)
def test_bad_hook_data(words: list[str], stdin: str, code: str, exit_code: int) -> None:
    ran = memory("observe", *words, "--json", stdin=stdin)
    assert (ran.code, ran.error["code"], ran.out) == (exit_code, code, "")
    assert ids("observations") == []


def test_hooks_begin_and_end_a_session() -> None:
    def states() -> list[tuple[str, str, int]]:
        found = memory("sessions", "--json").json
        return [(one["project"], one["status"], one["observations"]) for one in found]

    for hook, project, state in (
        ("session_start", "p", ("p", "active", 1)),
        ("session_end", "q", ("p", "completed", 2)),
        ("session_start", "q", ("p", "active", 2)),
    ):
        ran = memory("observe", hook, "--session", "s1", "--project", project)
        assert ran.code == 0, ran.err
        assert states() == [state]


def test_sessions_are_filtered_and_paged(days: list[str]) -> None:
    observe("prompt_submit", "other", "q", prompt="elsewhere")
    assert ids("sessions", "--project", "p") == ["s1", "s0"]
    assert ids("sessions", "--limit", "1", "--offset", "1") == ["s1"]
    assert "there are more: --offset 1" in memory("sessions", "--limit", "1").err
    assert ids("sessions", "--until", "2026-01-03") == ["s0"]
    assert ids("sessions", "--since", "2026-01-04", "--until", "2026-01") == ["s1"]
    assert memory("sessions", "--since", "soon").code == 2
    assert memory("sessions", "--project", "none").err == "no sessions\n"
    lines = memory("sessions", "--project", "p").out.splitlines()
    assert lines[0].split() == ["ID", "STARTED", "STATE", "OBSERVED", "PROJECT", "AGENT", "TITLE"]
    assert lines[1].endswith("what about topic 3")
    assert memory("sessions", "--project", "p", "--brief").out.splitlines()[1].startswith("s0  ")


def positions(*words: str) -> list[tuple[int, str]]:
    ran = memory("timeline", *words, "--json")
    assert ran.code == 0, ran.err
    return [(row["position"], row["id"]) for row in ran.json]


def test_a_timeline_around_a_date(days: list[str]) -> None:
    assert positions("2026-01-03", "--before", "1", "--after", "1") == [
        (-1, days[1]), (0, days[2]), (1, days[3])
    ]  # fmt: skip
    assert positions("2026-01-04", "--before", "0", "--after", "0") == [(0, days[3])]
    assert [place for place, _ in positions("2026-02-01")] == [-5, -4, -3, -2, -1]


def test_a_timeline_around_an_entry_stays_in_its_session(days: list[str]) -> None:
    expected = [(-1, days[0]), (0, days[1]), (1, days[2])]
    assert positions(days[1]) == expected
    assert positions(days[1][:36]) == expected
    assert positions("topic", "4") == [(-1, days[3]), (0, days[4])]
    assert memory("timeline", days[1]).out.splitlines()[2].split()[0] == "0"


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["mem_ffff"], "MEMORY_NOT_FOUND", 3),
        (["zebra"], "MEMORY_NOT_FOUND", 3),
        (["2026-01-01", "--project", "none"], "MEMORY_NOT_FOUND", 3),
        (["2026-13-45"], "DATE_INVALID", 2),
        ([" "], "MEMORY_EMPTY", 2),
        (["topic", "--before", "-1"], "USAGE", 2),
        ([], "USAGE", 2),
    ],
)
def test_bad_anchors(days: list[str], words: list[str], code: str, exit_code: int) -> None:
    ran = memory("timeline", *words, "--json")
    assert (ran.code, ran.error["code"]) == (exit_code, code)


def test_stats_count_both_kinds(days: list[str]) -> None:
    remember("deploy on Fridays")
    found = memory("stats", "--json").json
    assert (found["memories"], found["observations"], found["sessions"]) == (1, 5, 2)
    assert "observations 5" in memory("stats").out
