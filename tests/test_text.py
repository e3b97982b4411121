"""Words: what a text and a question about it have in common."""

from __future__ import annotations

import sqlite3
import time

import pytest
from hypothesis import given, strategies

from dshloop.stemming import stem
from dshloop.text import LONGEST_WORD, fold, joined_words, question, words


def forms(text: str) -> set[str]:
    return {form for word in question(text) for form in word.forms}


@pytest.mark.parametrize(
    ("stored", "same"),
    [
        ("Café", "cafe"),
        ("STRASSE", "straße"),
        ("ØRSTED łódź", "orsted lodz"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("don’t", "don't"),
        ("İstanbul", "istanbul"),
        ("soft\u00adhyphen", "softhyphen"),
    ],
)
def test_folding_makes_spellings_equal(stored: str, same: str) -> None:
    assert fold(stored) == fold(same)


def test_folding_keeps_what_is_not_an_accent() -> None:
    assert fold("が") == "が"
    assert fold("한글") == "한글"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("src/auth/jwt.ts", "src/auth/jwt.ts"),
        ("src/auth/jwt.ts", "jwt.ts"),
        ("src/auth/jwt.ts", "jwt"),
        ("C:\\Users\\me\\proj\\main.py", "main.py"),
        ("getUserById", "getuserbyid"),
        ("getUserById", "user"),
        ("session_store", "session-store"),
        ("session_store", "sessionStore"),
        ("HTTPServer", "server"),
        ("sha256", "sha 256"),
        ("gpt-4", "gpt4"),
        ("v1.2.3", "1.2.3"),
        ("@deepseek-ai/dsh-base", "dsh-base"),
        ("DSHLOOP_DATA", "dshloop data"),
        ("https://example.com/a", "example.com"),
        ("C++ and C#", "c++"),
        ("Caroline's dog", "caroline"),
        ("e-mail", "email"),
        ("🚀 launched", "🚀"),
        ("node:fs/promises", "promises"),
    ],
)
def test_a_question_has_a_form_of_the_identifier(stored: str, asked: str) -> None:
    assert forms(asked) & set(words(stored))


def test_an_identifier_is_indexed_whole_and_in_parts() -> None:
    assert list(words("src/auth/jwt.ts")) == [
        "src/auth/jwt.ts",
        "jwt.ts",
        "src",
        "auth",
        "jwt",
        "ts",
    ]
    assert list(words("getUserById")) == ["getuserbyid", "get", "user", "by", "id"]


def test_colours_of_a_terminal_are_no_words() -> None:
    pasted = "\x1b[31mred\x1b[0m and \x1b]0;title\x07plain \x1b]8;;http://x\x1b\\link"
    assert list(words(pasted)) == ["red", "and", "plain", "link"]


def test_runs_without_spaces_are_pairs_and_characters() -> None:
    assert list(words("连接池")) == ["连", "连接", "接", "接池", "池"]
    assert list(words("SQLite作为")) == ["sqlite", "sq", "lite", "作", "作为", "为"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("when do we deploy", {"deploi"}),
        ("我们什么时候部署", {"部署"}),
        ("连接池在哪里", {"连接", "接池"}),
        ("デプロイはいつですか", {"デプ", "プロ", "ロイ"}),
        ("배포는 언제 하나요", {"배포"}),
    ],
)
def test_questions_lose_the_words_that_only_ask(text: str, expected: set[str]) -> None:
    assert forms(text) == expected


@pytest.mark.parametrize("text", ["what is it", "是什么", "the", "何", "언제"])
def test_stop_words_stay_where_nothing_else_is(text: str) -> None:
    assert forms(text)


@pytest.mark.parametrize("text", ["", "   ", "?!", "\ud800", "\0"])
def test_nothing_to_look_for(text: str) -> None:
    assert question(text) == ()


@given(strategies.text())
def test_any_text_gives_words_that_can_be_stored(text: str) -> None:
    for word in words(text):
        word.encode()
        assert word
        assert not any(letter.isspace() for letter in word)
        assert len(word) <= 2 * LONGEST_WORD


@given(strategies.text(strategies.characters(codec="utf-8"), max_size=40))
def test_every_word_is_one_word_of_the_index(text: str) -> None:
    from dshloop.memory.sqlite.schema import MIGRATIONS

    database = sqlite3.connect(":memory:")
    for statement in MIGRATIONS[0]:
        database.execute(statement)
    expected = set(words(text))
    database.execute(
        "INSERT INTO memory_index (rowid, content) VALUES (1, ?)", (" ".join(words(text)),)
    )
    indexed = {term for (term,) in database.execute("SELECT term FROM memory_words")}
    database.close()
    assert indexed == expected


@given(strategies.text(max_size=60))
def test_a_text_has_every_whole_form_that_it_asks_for(text: str) -> None:
    indexed = set(words(text))
    for word in question(text):
        assert indexed & set(word.forms)


@given(strategies.text("ab.-_/'A1数 ", max_size=30))
def test_folding_and_words_are_stable(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert list(words(text)) == list(words(text))


def test_stems_are_those_of_sqlite() -> None:
    """Words that take every rule of the algorithm."""
    words_of_every_rule = (
        "caresses ponies ties caress cats feed agreed plastered shed motoring sing conflated "
        "troubled sized hopping tanned falling hissing fizzed failing filing happy sky relational "
        "conditional rational valenci hesitanci digitizer conformabli radicalli differentli vileli "
        "analogousli vietnamization predication operator feudalism decisiveness hopefulness "
        "callousness formaliti sensitiviti sensibiliti triplicate formative formalize electriciti "
        "electrical hopeful goodness revival allowance inference airliner gyroscopic adjustable "
        "defensible irritant replacement adjustment dependent adoption homologou communism "
        "activate angulariti homologous effective bowdlerize probate rate cease controll roll "
        "yes youth syzygy apology deploying deployments recursively"
    )
    listed = words_of_every_rule.split()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter')")
    database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (texts, instance)")
    database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(listed))
    theirs = dict(database.execute("SELECT doc, term FROM terms"))
    database.close()
    ours = {word: stem(word) for word in listed}
    assert ours.pop("deployments") == ours["deploying"] == "deploi"  # theirs: deploy, deploi
    assert ours == {
        word: theirs[number] for number, word in enumerate(listed) if word != "deployments"
    }


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "word src/auth.py ", "数据库", "a.b-", "aB", "'", "é\u0301"])
def test_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    def spent(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        for _ in words(text):
            pass
        return time.process_time() - start

    spent(10_000)
    # Four times the text, with generous room for noise: quadratic work would be sixteen times.
    assert spent(800_000) < 11 * max(spent(200_000), 0.01)


@given(strategies.text(alphabet="aB_ 1.-/'\x1b[mé数") | strategies.text())
def test_joined_words_are_the_words(text: str) -> None:
    assert joined_words(text) == " ".join(words(text))
    assert joined_words(text + "x" * LONGEST_WORD) == " ".join(words(text + "x" * LONGEST_WORD))
