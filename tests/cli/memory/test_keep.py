"""`dshloop memory remember`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.memory.steps import memory, remember
from tests.running import process

SECRET = "sk-" + "a1B2" * 8


def test_every_label_is_kept(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("rows are keyed by id\n")
    ran = memory(
        "remember", "--file", "note.txt", "--type", "pattern", "--title", "Keys",
        "--concept", "rows", "--concept", "keys", "--file-ref", "src/rows.py",
        "--project", "shop", "--agent", "coder", "--session", "s1",
        "--ttl", "30d", "--strength", "9.5", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["content"], found["title"], found["type"]) == (
        "rows are keyed by id", "Keys", "pattern"
    )  # fmt: skip
    assert (found["concepts"], found["files"]) == (["rows", "keys"], ["src/rows.py"])
    assert (found["project"], found["agent"], found["session"]) == ("shop", "coder", "s1")
    assert found["strength"] == 9.5
    assert found["expires_at"] > found["created_at"]
    assert (found["merged"], found["superseded"], found["similar"], found["redacted"]) == (
        False, None, None, 0
    )  # fmt: skip


def test_global_is_every_projects() -> None:
    ran = memory("remember", "always write tests", "--global", "--json")
    assert ran.json["project"] == ""
    assert memory("recall", "tests", "--project", "any", "--json").json[0]["id"] == ran.json["id"]
    assert "every project" in memory("recall", "tests").out
    assert "for every project" in memory("remember", "always write docs", "--global").err
    ran = memory("remember", "x", "--global", "--project", "p", "--json")
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


def test_a_file_beside_a_text_says_which_option_was_meant() -> None:
    ran = memory("remember", "about rows", "--file", "src/rows.py", "--json")
    assert ran.code == 2
    assert "--file-ref" in ran.error["hint"]


def test_secrets_are_counted_and_never_shown() -> None:
    ran = memory("remember", f"the key is {SECRET}", f"and Bearer {SECRET}")
    assert ran.code == 0
    assert "2 secrets were taken out" in ran.err
    assert SECRET not in ran.out + ran.err
    [row] = memory("list", "--json").json
    assert SECRET not in row["content"]
    ran = memory("remember", f"another key is {SECRET}", "--json", "--verbose")
    assert ran.json["redacted"] == 1
    assert "SECRETS_REDACTED" in ran.err
    assert SECRET not in ran.out + ran.err


def test_secrets_can_be_kept_on_purpose() -> None:
    ran = memory("remember", f"the key is {SECRET}", "--allow-secrets", "--json")
    assert (SECRET in ran.json["content"], ran.json["redacted"]) == (True, 0)


def test_a_near_equal_newcomer_says_whose_place_it_took() -> None:
    old = remember("we deploy the web shop on friday afternoon after the review")
    ran = memory("remember", "--project", "p",
                 "we deploy the web shop on friday afternoon after a review")  # fmt: skip
    assert old in ran.err
    assert "memory undo" in ran.err
    ran = memory("show", ran.out.strip(), "--json")
    assert (ran.json["previous"], ran.json["version"]) == (old, 2)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--ttl", "soon"], "DATE_INVALID"),
        (["--ttl", "0d"], "DATE_INVALID"),
        (["--ttl", "-1d"], "DATE_INVALID"),
        (["--strength", "11"], "USAGE"),
        (["--strength", "-1"], "USAGE"),
        (["--strength", "nan"], "USAGE"),
        (["--strength", "much"], "USAGE"),
        (["--type", "opinion"], "MEMORY_TYPE"),
        (["--type", "command_run"], "MEMORY_TYPE"),
        (["--readonly"], "USAGE"),
        (["--file", ""], "USAGE"),
    ],
)
def test_bad_labels_are_usage_errors(words: list[str], code: str) -> None:
    ran = memory("remember", "x", *words, "--json")
    assert (ran.code, ran.error["code"], ran.out) == (2, code, "")
    assert memory("list", "--json").json == []


def test_stdin_that_is_not_utf8_is_refused_with_its_place() -> None:
    import subprocess
    import sys

    ran = subprocess.run(
        [sys.executable, "-m", "dshloop", "memory", "remember", "-", "--json"],
        input=b"fine\nbad \xff\n",
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 1
    assert b'"UNREADABLE_FILE"' in ran.stderr
    assert b'"line": 2' in ran.stderr
    assert process("memory", "list", "--json").stdout == "[]\n"
