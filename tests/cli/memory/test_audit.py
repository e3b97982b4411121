"""`memory audit` as users run it."""

from __future__ import annotations

from tests.cli.memory.steps import ids, memory, remember

KEY = "ghp_" + "a" * 36


def test_nothing_is_found_in_a_clean_store() -> None:
    remember("we deploy on fridays")
    ran = memory("audit")
    assert (ran.code, ran.err) == (0, "")
    assert "1 entries looked at" in ran.out
    assert "nothing was found" in ran.out
    assert "NEVER_RECALLED: not measurable" in ran.out


def test_a_secret_fails_and_is_put_right() -> None:
    kept = remember(f"the key is {KEY}", "--allow-secrets")
    ran = memory("audit")
    assert ran.code == 1
    assert "error    SECRET" in ran.out
    assert kept in ran.out
    assert KEY not in ran.out
    told = memory("audit", "--json").json
    assert told["counts"]["SECRET"] == 1
    assert told["findings"][0]["ids"] == [kept]
    assert told["findings"][0]["severity"] == "error"
    ran = memory("audit", "--fix")
    assert ran.code == 0
    assert "fixed    SECRET" in ran.out
    assert memory("audit").code == 0
    assert KEY not in memory("show", kept).out
    assert memory("undo").code == 0
    assert memory("audit").code == 1


def test_filters_choose_what_is_looked_at() -> None:
    remember(f"the key is {KEY}", "--allow-secrets", "--project", "p")
    remember("nothing", "--project", "q")
    assert memory("audit", "--project", "q").code == 0
    assert memory("audit", "--project", "p").code == 1
    assert len(ids("list")) == 2


def test_a_store_that_may_only_be_read_is_looked_at() -> None:
    remember(f"the key is {KEY}", "--allow-secrets")
    assert memory("audit", "--json").code == 1
