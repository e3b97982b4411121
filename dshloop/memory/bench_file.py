"""A file of questions for `memory bench`, checked, with the line of whatever is wrong.

::

    k: 5
    questions:
      - query: when do we deploy
        expect: Fridays
      - id: rows
        query: how are rows keyed
        expect: [mem_01a2, keyed by id]
        k: 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from dshloop.dsh_yaml import Document, load_document
from dshloop.errors import BenchInvalidError, DshYamlInvalidError

DEFAULT_K = 10
MOST_K = 1000
_FILE_KEYS = ("k", "questions")
_QUESTION_KEYS = ("id", "query", "expect", "k")
_EXAMPLE = "A question has query and expect; id and k may be there too."


class Question(NamedTuple):
    """A question, and what must be among its first ``k`` hits: ids, beginnings of ids, or words
    that stand in the hit. ``where`` is its file and line."""

    id: str
    query: str
    expect: tuple[str, ...]
    k: int
    where: str


def read_questions(text: str, file: str) -> tuple[Question, ...]:
    """Read the text of a file. Raises BENCH_INVALID with file, line and column."""
    try:
        page = _Page(load_document(text, source=file), file)
    except DshYamlInvalidError as fault:
        raise BenchInvalidError(fault.message, **fault.details) from None
    whole = page.document.value
    default = DEFAULT_K
    questions: Any = whole
    if isinstance(whole, dict):
        page.only(whole, _FILE_KEYS)
        default = page.whole(whole, "k", DEFAULT_K)
        questions = whole.get("questions")
    if not isinstance(questions, list) or not questions:
        page.refuse("there must be a list of questions", whole, "questions", _EXAMPLE)
    return tuple(_distinct(page, questions, default))


def _distinct(page: _Page, questions: Sequence[Any], default: int) -> Sequence[Question]:
    read: dict[str, Question] = {}
    for index, value in enumerate(questions):
        question = _question(page, questions, index, value, default)
        if question.id in read:
            page.refuse(f'there are two questions "{question.id}"', questions, index)
        read[question.id] = question
    return [*read.values()]


def _question(
    page: _Page, questions: Sequence[Any], index: int, value: Any, default: int
) -> Question:
    if not isinstance(value, dict):
        page.refuse("a question must be a mapping", questions, index, _EXAMPLE)
    page.only(value, _QUESTION_KEYS)
    query = page.text(value, "query")
    expect = value.get("expect")
    wanted = [expect] if isinstance(expect, str) else expect
    if not isinstance(wanted, list) or not wanted:
        page.refuse("expect must be a text or a list of texts", value, "expect")
    for at, one in enumerate(wanted):
        if not (isinstance(one, str) and one.strip()):
            where = (wanted, at) if wanted is expect else (value, "expect")
            page.refuse("expect takes texts that are not blank; quote a number", *where)
    name = page.text(value, "id") if "id" in value else str(index + 1)
    k = page.whole(value, "k", default)
    return Question(name, query, tuple(wanted), k, page.where(questions, index))


class _Page:
    """A file that is being read, and the words for what is wrong in it."""

    def __init__(self, document: Document, file: str) -> None:
        self.document = document
        self.file = file

    def where(self, container: Any, key: str | int) -> str:
        line, _ = self._position(container, key)
        return f"{self.file}:{line}"

    def only(self, value: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in value:
            if key not in known:
                self.refuse(f"{key} is no key here", value, key, f"Keys: {', '.join(known)}.")

    def text(self, value: Mapping[str, Any], key: str) -> str:
        found = value.get(key)
        if not (isinstance(found, str) and found.strip()):
            self.refuse(f"{key} must be a text that is not blank", value, key)
        return found

    def whole(self, value: Mapping[str, Any], key: str, default: int) -> int:
        found = value.get(key, default)
        if type(found) is not int or not 1 <= found <= MOST_K:
            self.refuse(f"{key} must be a whole number from 1 to {MOST_K}", value, key)
        return found

    def refuse(
        self, message: str, container: Any, key: str | int, hint: str | None = None
    ) -> NoReturn:
        line, column = self._position(container, key)
        raise BenchInvalidError(
            f"{self.file}:{line}:{column}: {message}",
            hint=hint,
            file=self.file,
            line=line,
            column=column,
        )

    def _position(self, container: Any, key: str | int) -> tuple[int, int]:
        """Give the place of an entry, else of what would hold it."""
        document = self.document
        return document.position(container, key) or document.position(container) or (1, 1)
