"""The schema as the source of answers (recall/source.py): ranking is the embedded store's.

How many entries have a word is counted in the index, unless it is known from before
(statistics.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dshloop.memory.answers import Filters
from dshloop.memory.entries import Entry
from dshloop.memory.postgres.connection import Lent
from dshloop.memory.postgres.statistics import counted
from dshloop.memory.postgres.words import asked, beginning, fitting, original
from dshloop.memory.recall.lines import Corpus, Line, Term
from dshloop.memory.recall.rank import Beside
from dshloop.memory.recall.source import COMPARED, EXTENSIONS
from dshloop.memory.sqlite.filters import where
from dshloop.memory.sqlite.recall.candidates import around, telling, weights_of
from dshloop.memory.sqlite.rows import COLUMNS, entry_of

_MOST_READ = 400
"""Entries that are read for the rarest words of a question, whatever else they have; for its other
words only those are that have a second one."""
_PROMINENT = 0.5
_FEW_FORMS = 2
_WORTH_KEEPING = 20
"""Entries of a word from which on their number is remembered: fewer are counted fast."""
_PAGE = 10
"""With fewer entries than that, what was left out is looked for after all."""

_LINE = """
    {i}.seq, {i}.title_words, {i}.content_words, {i}.concept_words, {i}.file_words, {i}.manner,
    {i}.size, {i}.session, {i}.created_at, {i}.strength, {i}.project, {i}.agent
"""
_COUNT = """
    SELECT (SELECT count(*) FROM memory_index WHERE words @@ form)
    FROM unnest(CAST(CAST(%s AS text[]) AS tsquery[])) WITH ORDINALITY AS asked (form, place)
    ORDER BY place
"""
_EXTENSIONS = """
    SELECT word, ndoc FROM ts_stat(%s) WHERE starts_with(word, %s) AND word <> %s
    ORDER BY ndoc DESC, word LIMIT %s
"""
_BEGINNING = "SELECT words FROM memory_index WHERE words @@ CAST({} AS tsquery) LIMIT {}"
_SCORED = """
    SELECT i.seq, sum(q.weight) AS weight
    FROM unnest(CAST(CAST(%s AS text[]) AS tsquery[]), CAST(%s AS double precision[]))
      AS q (form, weight)
    CROSS JOIN LATERAL (
      SELECT seq FROM memory_index AS n WHERE n.words @@ q.form{project} OFFSET 0
    ) AS i
    GROUP BY i.seq ORDER BY 2 DESC, 1 DESC
"""
_BEST = """
    WITH best AS MATERIALIZED ({scored} LIMIT %s)
    SELECT {line}, {fits}, (SELECT count(*) FROM best) FROM best {join}
    ORDER BY best.weight DESC, best.seq DESC
"""
_LINES = """
    SELECT {line}, {fits} FROM unnest(CAST(%s AS bigint[])) AS best (seq) {join} WHERE {visible}
"""
_LOAD = f"SELECT seq, {COLUMNS} FROM entries WHERE seq = ANY (CAST(%s AS bigint[]))"
_SAME_SESSION = "b.session = a.session AND b.session <> ''"
_SAME_PROJECT = "b.project = a.project AND b.kind = a.kind"
_BESIDE = """
    SELECT near.seq, before[1], before[2], after[1], lines.*
    FROM (
      SELECT a.seq, ARRAY(
        SELECT b.seq FROM memory_index AS b
        WHERE {same} AND b.seq < a.seq ORDER BY b.seq DESC LIMIT 2
      ) AS before, ARRAY(
        SELECT b.seq FROM memory_index AS b
        WHERE {same} AND b.seq > a.seq ORDER BY b.seq LIMIT 1
      ) AS after
      FROM unnest(CAST(%s AS bigint[])) AS s (seq) JOIN memory_index AS a ON a.seq = s.seq
      OFFSET 0
    ) AS near
    LEFT JOIN LATERAL (
      SELECT {line}, {fits} FROM unnest(before || after) AS best (seq) {join} WHERE {visible}
    ) AS lines ON true
"""


class _Shape(NamedTuple):
    """How the rows of the numbers ``best`` are read: what makes a line, and from which tables;
    the conditions of filters look at ``m``."""

    line: str
    join: str


_FROM_INDEX = _Shape(_LINE.format(i="m"), "JOIN memory_index AS m ON m.seq = best.seq")
_FROM_BOTH = _Shape(
    _LINE.format(i="i"),
    "JOIN memory_index AS i ON i.seq = best.seq JOIN entries AS m ON m.seq = best.seq",
)


class PostgresSource:
    """One question's view of a schema."""

    def __init__(self, lent: Lent, filters: Filters, now: float) -> None:
        self._lent = lent
        self._filters = filters
        self._now = now
        self._statistics = lent.statistics
        self._read: dict[int, Line] = {}
        self._fits = _native(*where(filters, now))
        self._visible = _native(*where(Filters(project=filters.project), now))
        more = (filters.type, filters.concept, filters.file)
        self._shape = _FROM_INDEX if all(one is None for one in more) else _FROM_BOTH
        lent.statistics.refresh(lent)

    def size(self) -> tuple[int, int]:
        if self._statistics.size is not None:
            return self._statistics.size
        return counted(self._lent)

    def frequency(self, forms: Iterable[str]) -> dict[str, int]:
        known = self._statistics.counts
        found = {form: known[form] for form in forms if form in known}
        rest = [form for form in forms if form not in known]
        if not rest:
            return found
        counts = self._lent.native(_COUNT, ([asked(form) for form in rest],)).fetchall()
        for form, (count,) in zip(rest, counts, strict=True):
            if count:
                found[form] = count
            if count >= _WORTH_KEEPING and self._statistics.size is not None:
                known[form] = count
        return found

    def extensions(self, form: str) -> list[tuple[str, int]]:
        statement = _BEGINNING.format(_literal(beginning(form)), COMPARED)
        rows = self._lent.native(_EXTENSIONS, (statement, form, form, EXTENSIONS))
        return [(original(word), count) for word, count in rows]

    def candidates(self, terms: Sequence[Term], corpus: Corpus, most: int) -> list[Line]:
        weights = {form: weight for form, weight in weights_of(terms) if form in corpus.frequency}
        rare = telling(weights, corpus, _MOST_READ)
        found = self._having(rare, {form: weights[form] for form in weights.keys() - rare}, most)
        if len(found) < min(most, _PAGE) and len(rare) < len(weights):
            found = self._having(weights, {}, most)
        return found

    def beside(self, of: Iterable[Line]) -> dict[int, Beside]:
        """Give the neighbours; their lines are read with them, for they are asked for next."""
        rows: list[Any] = []
        here = list(of)
        fits, visible, values = self._conditions()
        for same, sessions in ((_SAME_SESSION, True), (_SAME_PROJECT, False)):
            seqs = [line.seq for line in here if bool(line.session) == sessions]
            if seqs:
                statement = _BESIDE.format(
                    same=same, fits=fits, visible=visible, **self._shape._asdict()
                )
                rows += self._lent.native(statement, (seqs, *values)).fetchall()
        self._read.update((row[4], _line(row[4:])) for row in rows if row[4] is not None)
        return around([row[:4] for row in rows])

    def lines(self, seqs: Iterable[int]) -> list[Line]:
        asked_for = list(seqs)
        rest = [seq for seq in asked_for if seq not in self._read]
        if rest and not self._read:
            fits, visible, values = self._conditions()
            statement = _LINES.format(fits=fits, visible=visible, **self._shape._asdict())
            middle = len(values) - len(self._visible[1])
            rows = self._lent.native(statement, (*values[:middle], rest, *values[middle:]))
            self._read.update((row[0], _line(row)) for row in rows)
        return [self._read[seq] for seq in asked_for if seq in self._read]

    def load(self, seqs: Sequence[int]) -> Mapping[int, Entry]:
        rows = self._lent.native(_LOAD, (list(seqs),))
        return {row[0]: entry_of(row[1:]) for row in rows}

    def _having(
        self, rare: Mapping[str, float], others: Mapping[str, float], most: int
    ) -> list[Line]:
        """Read the entries that pass the filters, those with the heaviest words first."""
        if not rare:
            return []
        forms = [asked(form) for form in rare]
        worth = [*rare.values(), *others.values()]
        forms += [_beside(form, {**rare, **others}) for form in others]
        if len(worth) <= _FEW_FORMS:
            forms += [asked(form, "title", "concepts") for form in rare]
            worth += [_PROMINENT * weight for weight in rare.values()]
        project = self._filters.project
        here = "" if project is None else " AND n.project IN (%s, '')"
        scored = _SCORED.format(project=here)
        values = [forms, worth, *([] if project is None else [fitting(project)])]
        fits, more = self._fits
        statement = _BEST.format(scored=scored, fits=fits, **self._shape._asdict())
        size = most
        while True:
            rows = self._lent.native(statement, (*values, size, *more)).fetchall()
            found = [_line(row[:-1]) for row in rows if row[-2]]
            read = rows[0][-1] if rows else 0
            if len(found) >= most or read < size:
                return found[:most]
            size *= 8  # a filter that few entries pass is looked for further down

    def _conditions(self) -> tuple[str, str, list[Any]]:
        """Give what an entry must be to pass the filters, and to be seen at all."""
        (fits, values), (visible, more) = self._fits, self._visible
        return fits, visible, [*values, *more]


def _beside(form: str, forms: Iterable[str]) -> str:
    """Ask for a word where another one of some stands too."""
    return f"{asked(form)} & ({' | '.join(asked(other) for other in forms if other != form)})"


def _line(row: Sequence[Any]) -> Line:
    seq, title, content, concepts, files, manner, words, session, at, strength, *scope, fits = row
    texts = (title, content, concepts, files)
    return Line(seq, texts, manner, words, session, at, strength, scope, fits)


def _native(conditions: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Write conditions that were made for both databases for PostgreSQL's driver."""
    from dshloop.memory.postgres.connection import given, translated

    return translated(conditions), [given(value) for value in values]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
