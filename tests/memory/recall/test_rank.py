"""Ranking as arithmetic: what a score is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given, strategies

from dshloop.memory.recall.lines import Corpus, Line, Term, padded
from dshloop.memory.recall.rank import Beside, Ranked, Ranking
from dshloop.memory.recall.reasons import reasons
from dshloop.memory.sqlite.index import FIELDS, manner_of
from dshloop.text import question, words

FORMS = strategies.sampled_from(["abc", "deploi", "fridai", "连接", "接池", "jwt.ts", "jwt"])
NOW = 1_800_000_000.0


def line(seq: int, content: str = "", session: str = "", at: float = 0.0, **fields: str) -> Line:
    fields["content"] = content
    texts = [" ".join(words(fields.get(name, ""))) for name in FIELDS]
    length = sum(len(text.split()) for text in texts)
    return Line(seq, texts, manner_of(content), length, session, at, 5.0)


def terms_of(query: str, corpus: Corpus) -> list[Term]:
    terms = []
    for word in question(query):
        whole = None if word.exact is None else padded(word.exact)
        share = 0.8 if whole else 1.0
        parts = tuple((padded(part), share / len(word.parts)) for part in word.parts)
        weight = corpus.idf(word.exact or word.parts[0]) * word.size
        terms.append(Term(word, weight, whole, parts))
    return terms


def ranking_of(
    query: str,
    lines: Sequence[Line],
    frequency: Mapping[str, int] | None = None,
    mean_words: float = 10.0,
    entries: int = 100,
) -> Ranking:
    corpus = Corpus(entries, mean_words, frequency or {})
    ranking = Ranking(terms_of(query, corpus), corpus, NOW)
    ranking.add(lines)
    return ranking


def ranked(query: str, *lines: Line, frequency: Mapping[str, int] | None = None) -> list[int]:
    return seqs(ranking_of(query, lines, frequency).ranked({}))


def seqs(found: Sequence[Ranked]) -> list[int]:
    return [one.line.seq for one in found]


def test_more_words_of_the_question_win() -> None:
    one = line(1, "deploy now deploy again deploy and deploy")
    two = line(2, "we deploy the shop")
    assert ranked("deploy the shop", one, two) == [2, 1]


def test_rare_words_weigh_more() -> None:
    one = line(1, "the session ended")
    two = line(2, "a whale appeared")
    assert ranked("session whale", one, two, frequency={"session": 90, "whale": 1}) == [2, 1]


def test_titles_and_concepts_weigh_more_than_content() -> None:
    rows = [line(seq, **{name: "deploy"}) for seq, name in enumerate(FIELDS)]  # type: ignore[arg-type]
    assert ranked("deploy", *rows) == [2, 0, 3, 1]


def test_equal_rows_are_newest_first() -> None:
    assert ranked("deploy", *(line(seq, "deploy") for seq in (3, 1, 2))) == [3, 2, 1]


def test_a_whole_identifier_beats_its_parts() -> None:
    one = line(1, "jwt and ts and more jwt, ts")
    two = line(2, "see src/auth/jwt.ts")
    assert ranked("jwt.ts", one, two) == [2, 1]


def test_only_what_is_longer_than_most_is_held_against_an_entry() -> None:
    filler = "filler " * 40
    short, long = line(1, "deploy"), line(2, f"deploy {filler}")
    rows = ranking_of("deploy", [short, long], mean_words=41.0).ranked({})
    assert rows[0].score == pytest.approx(rows[1].score)
    assert seqs(ranking_of("deploy", [short, long], mean_words=10.0).ranked({})) == [1, 2]


def test_what_stands_before_and_after_counts_and_less_than_what_is_said() -> None:
    rows = [line(1, "hello"), line(2, "the wedding"), line(3, "so it was"), line(4, "bye")]
    beside = {3: Beside(before=(2, 1), after=(4,))}
    found = ranking_of("wedding", rows).ranked({}, beside)
    assert seqs(found) == [2, 3]  # and what has nothing of the question is left out
    assert 0 < found[1].score < found[0].score


def test_a_question_makes_the_next_entry_its_answer() -> None:
    asked = [line(1, "when is the wedding?"), line(2, "on Friday"), line(3, "so soon")]
    told = [line(1, "that is the wedding."), line(2, "on Friday"), line(3, "so soon")]
    beside = {2: Beside(before=(1,), after=(3,))}
    after_question = ranking_of("wedding", asked).ranked({}, beside)
    after_statement = ranking_of("wedding", told).ranked({}, beside)
    scores = [
        {one.line.seq: one.score for one in rows} for rows in (after_question, after_statement)
    ]
    assert scores[0][2] > scores[1][2]
    assert scores[0][1] < scores[1][1]  # asking is not telling


def test_who_spoke_counts_when_the_question_names_them() -> None:
    rows = [line(1, "Ann: we moved to Oslo"), line(2, "Bob: Ann and I moved to Oslo")]
    assert ranked("when did Ann move to Oslo", *rows) == [1, 2]
    assert ranked("when did Bob move to Oslo", *rows) == [2, 1]


def test_the_session_of_good_answers_counts() -> None:
    rows = [
        line(1, "the trip to Rome", session="a"),
        line(2, "a trip", session="a"),
        line(3, "a trip", session="b"),
    ]
    ranking = ranking_of("trip to Rome", rows)
    assert seqs(ranking.ranked(ranking.sessions())) == [1, 2, 3]


def test_an_entry_of_the_asked_date_counts() -> None:
    may, june = 1_683_550_000.0, 1_686_550_000.0  # 2023
    rows = [line(1, "we met", at=june), line(2, "we met", at=may), line(3, "we met", at=june)]
    corpus = Corpus(100, 10.0, {})
    from dshloop.memory.recall.dates import named

    asked = question("who met in May 2023")
    terms = [
        term._replace(date=date)
        for term, date in zip(terms_of("who met in May 2023", corpus), named(asked), strict=True)
    ]
    ranking = Ranking(terms, corpus, NOW)
    ranking.add(rows)
    assert seqs(ranking.ranked({})) == [2, 3, 1]


def test_recent_and_strong_entries_come_first_among_equals_only() -> None:
    old, new = line(2, "deploy"), line(1, "deploy", at=NOW)
    assert ranked("deploy", old, new) == [1, 2]
    strong = old._replace(strength=10.0)
    assert ranked("deploy", strong, line(3, "deploy")) == [2, 3]
    assert ranked("deploy the shop", line(3, "deploy the shop"), new) == [3, 1]


def test_what_does_not_pass_the_filters_is_context_only() -> None:
    rows = [line(1, "the wedding")._replace(fits=False), line(2, "so it was")]
    found = ranking_of("wedding", rows).ranked({}, {2: Beside(before=(1,))})
    assert seqs(found) == [2]
    assert found[0].score > 0


def test_reasons_name_words_and_fields_as_they_were_asked() -> None:
    rows = [line(1, "deployed jwt.ts", title="Alice"), line(2, "running")]
    ranking = ranking_of("When do Alice's deployments of jwt.ts run fast?", rows)
    beside = {1: Beside(after=(2,))}
    one = next(one for one in ranking.ranked({}, beside) if one.line.seq == 1)
    why = reasons(ranking, one, {}, beside)
    assert why.words == ("Alice's", "deployments", "jwt.ts")
    assert why.context == ("run",)
    assert why.missing == ("fast",)
    assert set(why.fields) == {"title", "content"}
    assert sum(why.parts.values()) == pytest.approx(one.score)


@example(query=".", contents=[["abc"]], entries=1)
@given(
    strategies.text("deploy fridays jwt.ts 连接池 ", min_size=1, max_size=40),
    strategies.lists(strategies.lists(FORMS, min_size=1, max_size=8), min_size=1, max_size=5),
    strategies.integers(1, 10**6),
)
def test_scores_lie_between_0_and_1_in_order(
    query: str, contents: list[list[str]], entries: int
) -> None:
    rows = [line(seq, " ".join(content)) for seq, content in enumerate(contents)]
    frequency = {form: min(3, entries) for content in contents for form in content}
    ranking = ranking_of(query, rows, frequency, 4.0, entries)
    found = [one.score for one in ranking.ranked(ranking.sessions())]
    assert found == sorted(found, reverse=True)
    assert all(0 <= score <= 1 for score in found)


def test_entries_without_a_session_stand_together_for_minutes_only() -> None:
    def found(later: float) -> list[int]:
        rows = [line(1, "the wedding", at=NOW), line(2, "so it was", at=NOW + later)]
        return seqs(ranking_of("wedding", rows).ranked({}, {2: Beside(before=(1,))}))

    assert found(60.0) == [1, 2]
    assert found(3_600.0) == [1]


def test_an_answer_has_a_good_part_of_the_question() -> None:
    query = "when is the smoke test of the staging cluster"
    rows = [
        line(1, "the staging cluster was tested"),
        line(2, "smoke on the water"),
        line(3, "one more", session="s"),
    ]
    ranking = ranking_of(query, rows)
    beside = {3: Beside(before=(1,))}
    assert [ranking.answers(row, beside) for row in rows] == [True, False, True]


def test_one_word_answers_where_it_is_half_of_the_question() -> None:
    rows = [line(1, "the service listens on 3111"), line(2, "we wrote it down")]
    few = {"3111": 1, "write": 4}
    assert ranking_of("port 3111", rows, few).answers(rows[0], {})
    assert not ranking_of("who wrote the zorblax", rows, few).answers(rows[1], {})
