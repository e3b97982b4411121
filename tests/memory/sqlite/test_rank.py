"""Ranking as arithmetic: what a score is made of."""

from __future__ import annotations

from hypothesis import example, given, strategies

from dshloop.memory.sqlite.rank import FIELD_WEIGHTS, Candidate, Corpus, rank, reasons
from dshloop.text import question, words

FORMS = strategies.sampled_from(["abc", "deploi", "fridai", "连接", "接池", "jwt.ts", "jwt"])


def candidate(seq: int, **fields: str) -> Candidate:
    return Candidate(seq, {name: list(words(text)) for name, text in fields.items()})


def scores(
    query: str, *candidates: Candidate, frequency: dict[str, int] | None = None
) -> list[int]:
    corpus = Corpus(100, 10.0, frequency or {})
    return [one.candidate.seq for one in rank(question(query), candidates, corpus)]


def test_more_words_of_the_question_win() -> None:
    one = candidate(1, content="deploy deploy deploy deploy")
    two = candidate(2, content="we deploy the shop")
    assert scores("deploy the shop", one, two) == [2, 1]


def test_rare_words_weigh_more() -> None:
    one = candidate(1, content="the session ended")
    two = candidate(2, content="a whale appeared")
    frequency = {"session": 90, "whale": 1}
    assert scores("session whale", one, two, frequency=frequency) == [2, 1]


def test_titles_and_concepts_weigh_more_than_content() -> None:
    rows = [candidate(seq, **{name: "deploy"}) for seq, name in enumerate(FIELD_WEIGHTS)]
    assert scores("deploy", *rows) == [2, 0, 3, 1]


def test_equal_rows_are_newest_first() -> None:
    rows = [candidate(seq, content="deploy") for seq in (3, 1, 2)]
    assert scores("deploy", *rows) == [3, 2, 1]


def test_a_whole_identifier_beats_its_parts() -> None:
    one = candidate(1, content="jwt and ts and more jwt, ts")
    two = candidate(2, content="see src/auth/jwt.ts")
    assert scores("jwt.ts", one, two, frequency={"jwt.ts": 1, "jwt": 2, "ts": 2}) == [2, 1]


def test_long_fields_count_like_short_ones() -> None:
    text = "deploy " + "filler " * 1_000
    corpus = Corpus(10, 1_001.0, {"deploi": 1})
    [long] = rank(question("deploy"), [candidate(1, content=text)], corpus)
    [short] = rank(
        question("deploy"),
        [candidate(1, content="deploy " + "filler " * 100)],
        corpus._replace(mean_words=101.0),
    )
    assert abs(long.score - short.score) < 1e-9


def test_reasons_name_words_and_fields_as_they_were_asked() -> None:
    why = reasons(
        question("When do Alice's deployments of jwt.ts run?"),
        candidate(1, content="deployed jwt.ts", title="Alice"),
    )
    assert why.words == ("Alice's", "deployments", "jwt.ts")
    assert why.missing == ("run",)
    assert set(why.fields) == {"title", "content"}


@example(query=".", contents=[["abc"]], memories=1)
@given(
    strategies.text("deploy fridays jwt.ts 连接池 ", min_size=1, max_size=40),
    strategies.lists(strategies.lists(FORMS, min_size=1, max_size=8), min_size=1, max_size=5),
    strategies.integers(1, 10**6),
)
def test_scores_lie_between_0_and_1_in_order(
    query: str, contents: list[list[str]], memories: int
) -> None:
    rows = [Candidate(seq, {"content": content}) for seq, content in enumerate(contents)]
    frequency = {form: min(3, memories) for content in contents for form in content}
    ranked = rank(question(query), rows, Corpus(memories, 4.0, frequency))
    found = [one.score for one in ranked]
    assert found == sorted(found, reverse=True)
    assert all(0 <= score <= 1 for score in found)
