"""Saying why an entry was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dshloop.memory.sqlite.index import FIELDS
from dshloop.memory.sqlite.rank import Beside, Found, Ranked, Ranking, Term
from dshloop.memory.store import Why


def reasons(
    ranking: Ranking, one: Ranked, sessions: Mapping[str, float], beside: Mapping[int, Beside]
) -> Why:
    """Name what an entry has of the question, what it lacks, and what its score is made of."""
    found = ranking.found[one.line.seq]
    near = [other for other, _ in ranking.neighbours(one.line, beside.get(one.line.seq))]
    here = _shown(ranking.terms, [found])
    around = _shown(ranking.terms, near)
    asked = dict.fromkeys(term.word.shown for term in ranking.terms)
    texts = [f" {text} " if text else "" for text in one.line.texts]
    return Why(
        words=tuple(shown for shown in asked if shown in here),
        missing=tuple(shown for shown in asked if shown not in here and shown not in around),
        fields=_fields(ranking.terms, texts),
        prefixes=tuple(_stood_for(ranking.terms, texts)),
        context=tuple(shown for shown in asked if shown in around and shown not in here),
        parts=_shares(
            ranking.parts(found, sessions, beside),
            ranking.factors(one.line),
            ranking.meaning(one.line),
            one.score,
        ),
    )


def _shown(terms: Sequence[Term], lines: Iterable[Found]) -> set[str]:
    return {
        term.word.shown
        for line in lines
        for term, share in zip(terms, line.shares, strict=True)
        if share
    }


def _fields(terms: Sequence[Term], texts: Sequence[str]) -> tuple[str, ...]:
    forms = [form for term in terms for form in _forms(term)]
    named = zip(FIELDS, texts, strict=True)
    return tuple(name for name, text in named if any(form in text for form in forms))


def _stood_for(terms: Iterable[Term], texts: Sequence[str]) -> Iterable[str]:
    """Yield the words that are there only by a synonym or by a longer word."""
    for term in terms:
        itself = ([] if term.exact is None else [term.exact]) + [form for form, _ in term.parts]
        others = [form for form, _ in term.others]
        if not any(form in text for text in texts for form in itself) and any(
            form in text for text in texts for form in others
        ):
            yield term.word.shown


def _forms(term: Term) -> Iterable[str]:
    if term.exact is not None:
        yield term.exact
    yield from (form for form, _ in (*term.parts, *term.others))


def _shares(
    parts: Sequence[float], factors: Mapping[str, float], meaning: float, score: float
) -> dict[str, float]:
    """Divide a score among what it is made of; a part below 0 took some away."""
    shares = dict(zip(("words", "context", "together", "session"), parts, strict=True))
    total = sum(parts)
    for name, factor in factors.items():
        shares[name] = total * (factor - 1)
        total *= factor
    shares["vector"] = meaning
    total += meaning
    return {name: score * share / total for name, share in shares.items() if share and total}
