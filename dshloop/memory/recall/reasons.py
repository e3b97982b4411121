"""Saying why an entry was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dshloop.memory.answers import Why
from dshloop.memory.recall.lines import Term, padded
from dshloop.memory.recall.rank import FACTORS, Beside, Ranked, Ranking
from dshloop.memory.sqlite.index import FIELDS


def reasons(
    ranking: Ranking, one: Ranked, sessions: Mapping[str, float], beside: Mapping[int, Beside]
) -> Why:
    """Name what an entry has of the question, what it lacks, and what its score is made of."""
    line, terms = one.line, ranking.terms
    found = ranking.found[line.seq]
    near = ranking.neighbours(line, beside.get(line.seq))
    here = [at for at, _, _ in found.has]
    shown = {terms[at].word.shown for at in here}
    around = {terms[at].word.shown for other, _ in near for at, _, _ in other.has} - shown
    asked = list(dict.fromkeys(term.word.shown for term in terms))
    forms = [form for at in here for form in ranking.forms[at]]
    texts = [(name, padded(text)) for name, text in zip(FIELDS, line.texts, strict=True) if text]
    factors = dict(zip(FACTORS, ranking.factors(line), strict=True))
    parts = ranking.parts(found, near, sessions)
    return Why(
        words=tuple([word for word in asked if word in shown]),
        missing=tuple([word for word in asked if word not in shown and word not in around]),
        fields=tuple([name for name, text in texts if any(form in text for form in forms)]),
        prefixes=tuple([terms[at].word.shown for at in here if _stood_for(terms[at], texts)]),
        context=tuple([word for word in asked if word in around]),
        parts=_shares(parts, factors, ranking.meaning(line), one.score),
    )


def _stood_for(term: Term, texts: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a word is there only by a synonym or by a longer word."""
    if not term.others or any(form in text for _, text in texts for form in term.itself):
        return False
    return any(form in text for _, text in texts for form, _ in term.others)


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
