"""Arithmetic over many vectors at once: signs as bits, guesses by them, neighbours counted in.

Rows are numbered 0..n-1; ``before`` and ``after`` name each row's neighbour in its session, the row
itself where there is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Signs = NDArray[np.uint64]

BEFORE = (0.5, 0.25)
AFTER = 0.5
"""What neighbours count beside an entry's own 1; before it the nearest one first."""
NEIGHBOURLY = 600
"""Seconds between entries without a session that still belong together, as for words (rank.py)."""


def unit(vectors: Floats) -> Floats:
    """Give vectors the length 1; one of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), np.float32)


def signs_of(vectors: Floats) -> Signs:
    """Give the signs of vectors as bits, 64 in a word: (words, rows)."""
    bits = np.packbits(vectors > 0, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return np.ascontiguousarray(np.ascontiguousarray(bits).view(np.uint64).T)


def guessed(signs: Signs, question: Floats) -> Floats:
    """Guess how near rows are to a question from how many signs agree, in standard deviations."""
    asked = signs_of(question[None, :])[:, 0]
    apart = np.zeros(signs.shape[1], np.int16)
    for word, wanted in zip(signs, asked, strict=True):  # word by word: 6 times faster than at once
        apart += np.bitwise_count(word ^ wanted)
    size = len(question)
    return (size / 2 - apart.astype(np.float32)) / np.float32(np.sqrt(size) / 2)


def links(seqs: Rows, groups: Rows, moments: Rows) -> tuple[Rows, Rows]:
    """Find each row's neighbours (before, after) by seq in its group.

    Groups from 0 on are sessions; in others rows are neighbours only within ``NEIGHBOURLY``.
    """
    order = np.lexsort((seqs, groups))
    group, moment = groups[order], moments[order]
    soon = np.abs(np.diff(moment)) <= NEIGHBOURLY
    together = (group[1:] == group[:-1]) & ((group[1:] >= 0) | soon)
    before = np.arange(len(seqs))
    after = before.copy()
    before[order[1:][together]] = order[:-1][together]
    after[order[:-1][together]] = order[1:][together]
    return before, after


def with_neighbours(own: Floats, rows: Rows, before: Rows, after: Rows) -> Floats:
    """Give what rows are worth by themselves or together with their neighbours, the better of both.

    Together is divided by the length of the weights, so that chance makes as much of it. NaN is
    unknown: such a row stays NaN, others go without it.
    """
    previous = before[rows]
    beside = (
        (previous, rows, BEFORE[0]),
        (before[previous], previous, BEFORE[1]),
        (after[rows], rows, AFTER),
    )
    alone: Floats = own[rows]
    total, weight = alone, np.ones(len(rows), np.float32)
    for other, origin, share in beside:
        value = np.where(other == origin, np.float32(np.nan), own[other])
        known = ~np.isnan(value)
        total = np.add(total, share * np.where(known, value, 0), dtype=np.float32)
        weight += np.float32(share**2) * known
    return np.asarray(np.maximum(alone, total / np.sqrt(weight)), np.float32)


def largest(values: Floats, most: int) -> Rows:
    """Give the places of the largest values, the largest first, equal ones by place."""
    places = np.arange(len(values))
    if len(values) > most:
        places = np.sort(np.argpartition(-values, most)[:most])
    return places[np.argsort(-values[places], kind="stable")]
