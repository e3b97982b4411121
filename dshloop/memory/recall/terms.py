"""The words of a question, weighed by what the store knows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from dshloop.memory.recall.dates import named
from dshloop.memory.recall.lines import Corpus, Term, padded
from dshloop.memory.recall.source import Vocabulary
from dshloop.memory.synonyms import Synonyms
from dshloop.text import Word

# A pasted text is no longer a question: beyond so many words only the rarest that are known count.
_MOST_WORDS = 32
_MOST_LOOKED_UP = 500
# What an identifier found only by its parts counts for: jwt.ts where the entry has jwt and ts. Less
# where the store has it whole.
_IN_PARTS = 0.8
_BESIDE_WHOLE = 0.5
_SYNONYM = 0.7
_PREFIX = 0.5
_SHORTEST_PREFIX = 4
_RARE = 2
"""A word that more entries have is no beginning of another."""


def weighed(
    vocabulary: Vocabulary, question: Sequence[Word], synonyms: Synonyms
) -> tuple[Sequence[Term], Corpus]:
    """Give the terms of a question and what is known of their forms."""
    asked = question[:_MOST_LOOKED_UP]
    entries, words = vocabulary.size()
    frequency = vocabulary.frequency({form for word in asked for form in word.forms})
    asked = _shortened(asked, frequency)
    others = {word: _alike(vocabulary, synonyms.get(word.exact or ""), frequency) for word in asked}
    for word in asked:
        others[word] += _extensions(vocabulary, word, frequency)
    corpus = Corpus(entries, words / entries if entries else 0.0, frequency)
    dates = named(asked)
    return [
        _term(word, others[word], corpus)._replace(date=date)
        for word, date in zip(asked, dates, strict=True)
    ], corpus


def _shortened(asked: Sequence[Word], frequency: Mapping[str, int]) -> Sequence[Word]:
    """Keep the rarest known words of a very long question."""
    if len(asked) <= _MOST_WORDS:
        return asked
    rarity = {word: min((frequency.get(form, 0) or inf) for form in word.forms) for word in asked}
    return sorted(asked, key=rarity.__getitem__)[:_MOST_WORDS]


def _alike(
    vocabulary: Vocabulary, forms: Sequence[str] | None, frequency: dict[str, int]
) -> list[tuple[str, float]]:
    if forms is None:
        return []
    known = vocabulary.frequency(forms)
    frequency.update(known)
    return [(form, _SYNONYM) for form in forms if form in known]


def _extensions(
    vocabulary: Vocabulary, word: Word, frequency: dict[str, int]
) -> list[tuple[str, float]]:
    form = word.exact or ""
    if len(form) < _SHORTEST_PREFIX or frequency.get(form, 0) > _RARE:
        return []
    if not (form.isascii() and form.isalpha()):
        return []
    rows = vocabulary.extensions(form)
    frequency.update(rows)
    return [(term, _PREFIX) for term, _ in rows]


def _term(word: Word, others: Sequence[tuple[str, float]], corpus: Corpus) -> Term:
    """Weigh a word by its whole form, or by what stands for it where no entry has it whole."""
    known = word.exact in corpus.frequency
    names = word.parts if word.exact is not None else _without_seams(word.parts, corpus.frequency)
    parts = {part: corpus.idf(part) for part in names}
    whole = sum(parts.values())
    if word.exact is not None and (known or not (parts or others)):
        weight = corpus.idf(word.exact)
    elif parts:
        weight = whole / len(parts)
    else:
        weight = corpus.rarity(max(corpus.frequency[form] for form, _ in others))
    worth = 1.0 if word.exact is None else _BESIDE_WHOLE if known else _IN_PARTS
    return Term(
        word,
        weight * word.size,
        None if word.exact is None else padded(word.exact),
        tuple((padded(part), worth * idf / whole) for part, idf in parts.items()),
        tuple((padded(form), factor) for form, factor in others),
        known=known,
    )


def _without_seams(pairs: Sequence[str], frequency: Mapping[str, int]) -> Sequence[str]:
    """Leave out the pairs of characters that nobody stored beside ones that somebody did: there
    two words meet (缓存 多久 过期: 存多 and 久过 are no words)."""
    known = [pair in frequency for pair in pairs]
    return [
        pair
        for at, pair in enumerate(pairs)
        if known[at] or not any(known[max(at - 1, 0) : at + 2])
    ]
