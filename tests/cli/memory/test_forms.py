"""What every verb of memory does alike: control characters, notices, quiet, widths."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dshloop.memory import stores
from tests.cli.memory.steps import ids, memory, observe, remember

EVIL = "\x1b[31mred\x07 [bold]x[/items] \u202eback\x9b2J"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def evil() -> str:
    """Give the id of a memory whose every label is full of control characters."""
    observe("prompt_submit", "s\x1b1", "p", prompt=f"{EVIL}\nsecond line")
    return remember(f"{EVIL}\nsecond line", "--title", EVIL, "--concept", EVIL, "--file-ref", EVIL,
                    "--agent", "a\x1bb", "--session", "s\x1b1")  # fmt: skip


@pytest.mark.parametrize("form", [[], ["--brief"], ["--full"], ["--format", "md"],
                                  ["--format", "md", "--full"]])  # fmt: skip
def test_control_characters_are_never_sent(evil: str, form: list[str]) -> None:
    why = [["recall", "red", "--why", "--min-score", "0"]] if form != ["--brief"] else []
    for words in ([*why, ["search"], ["list"], ["observations"], ["sessions"], ["show", evil],
                   ["history", evil], ["timeline", evil]]):  # fmt: skip
        for tty in (False, True):
            ran = memory(*words, *form, "--no-color", tty=tty, variables={"COLUMNS": "200"})
            assert ran.code == 0, ran.err
            assert not UNSAFE.search(ran.out + ran.err), words
            assert ran.out


def test_control_characters_stay_out_of_windows_and_short_answers(evil: str) -> None:
    for words in (["context", "--project", "p"], ["stats"], ["forget", evil, "--dry-run"],
                  ["forget", "--project", "p"], ["forget", evil], ["undo"]):  # fmt: skip
        ran = memory(*words)
        assert not UNSAFE.search(ran.out + ran.err), words


def test_quoted_text_cannot_begin_a_section_of_markdown() -> None:
    remember("# not a heading\n## nor this", "--title", "Title")
    lines = memory("list", "--format", "md", "--full").out.splitlines()
    assert [line for line in lines if line.startswith("#")] == ["## Title"]


def test_what_a_store_says_is_told_beside_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    real = stores.open_reader

    def talking(name: str | None, *, notice: Callable[[str], None], **more: Any) -> Any:
        notice("an older file was copied")
        return real(name, notice=notice, **more)

    monkeypatch.setattr(stores, "open_reader", talking)
    ran = memory("list", "--json")
    assert (ran.json, ran.err) == ([], "")
    assert memory("list").err == "warning: an older file was copied\nno memories\n"
    assert "an older file was copied" in memory("show", "mem_ff").err


def test_quiet_leaves_the_answer_alone() -> None:
    remember("one")
    remember("two")
    ran = memory("list", "--limit", "1", "--quiet")
    assert (ran.err, len(ran.out.splitlines())) == ("", 2)


def test_the_store_is_chosen_by_option_variable_and_setting() -> None:
    id_ = remember("deploy on Fridays")
    assert ids("list", "--store", "embedded") == [id_]
    for words in (["list"], ["show", id_], ["forget", id_], ["remember", "x"], ["context"],
                  ["stats"], ["undo"], ["timeline", "7d"], ["sessions"]):  # fmt: skip
        ran = memory(*words, "--json", variables={"DSHLOOP_STORE": "nowhere"})
        assert (ran.code, ran.error["code"]) == (3, "STORE_UNKNOWN")
        ran = memory(*words, "--store", "nowhere", "--json")
        assert (ran.code, ran.error["code"]) == (3, "STORE_UNKNOWN")
    assert ids("list") == [id_]
