"""The words of a question, weighed by what a store knows of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.memory.entries import NewMemory
from dshloop.memory.recall.lines import Term
from dshloop.memory.recall.terms import weighed
from dshloop.memory.sqlite.connect import connect
from dshloop.memory.sqlite.recall.embedded import EmbeddedSource
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.memory.synonyms import synonyms
from dshloop.text import question


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def terms_of(path: Path, query: str, *contents: str) -> list[Term]:
    store = SqliteStore(path)
    for content in contents:
        store.remember(NewMemory(content, "p"))
    store.close()
    connection = connect(path, "mode=rw")
    terms, _ = weighed(EmbeddedSource(connection), question(query), synonyms())
    connection.close()
    return list(terms)


def forms(pairs: tuple[tuple[str, float], ...]) -> list[str]:
    return [form.strip() for form, _ in pairs]


def test_rare_words_weigh_more_and_unknown_ones_as_much_as_the_rarest(path: Path) -> None:
    contents = [f"deploy number {number}" for number in range(9)] + ["the kraken"]
    common, rare, unknown = terms_of(path, "deploy kraken zorblax", *contents)
    assert common.weight < rare.weight == unknown.weight


def test_parts_of_an_identifier_count_less_where_the_store_has_it_whole(path: Path) -> None:
    [whole] = terms_of(path, "jwt.ts", "see jwt.ts", "jwt and ts")
    assert sum(share for _, share in whole.parts) == pytest.approx(0.5)
    [apart] = terms_of(path, "ts.jwt", "nothing")
    assert sum(share for _, share in apart.parts) == pytest.approx(0.8)


def test_where_two_words_meet_there_is_no_word(path: Path) -> None:
    [run] = terms_of(path, "缓存多久过期", "缓存使用 Redis，过期时间为十分钟")
    assert forms(run.parts) == ["缓存", "多久", "过期"]
    assert sum(share for _, share in run.parts) == pytest.approx(1.0)


def test_a_word_stands_for_longer_ones_only_where_it_is_rare(path: Path) -> None:
    [term] = terms_of(path, "throt", "the throttler", "the throttling of throats")
    assert sorted(forms(term.others)) == ["throttl", "throttler"]
    [known] = terms_of(path, "thro", *(f"thro {number} throttler" for number in range(5)))
    assert known.others == ()
    [short] = terms_of(path, "thr", "the throttler")
    assert short.others == ()


def test_a_pasted_text_is_looked_for_by_its_rarest_words(path: Path) -> None:
    pasted = " ".join(f"common{number}" for number in range(60)) + " kraken"
    everywhere = pasted.removesuffix(" kraken")
    terms = terms_of(path, pasted, *(f"{everywhere} {number}" for number in range(3)), "kraken")
    assert len(terms) == 32
    assert "kraken" in {term.word.shown for term in terms}
