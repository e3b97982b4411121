"""An embedding model for tests: words of a group mean the same, all else is chance that repeats."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dshloop.errors import DshloopError
from dshloop.memory.embedding.embedder import unit_rows

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Vector, Vectors

GROUPS = (
    "deploy release ship rollout",
    "cat kitten feline",
    "database postgres storage",
    "bug defect",
)
_MEANING = {word: group for group in GROUPS for word in group.split()}


class StandIn:
    """``asked`` is what it was given; while ``fault`` is set it raises that instead."""

    def __init__(self, name: str = "stand-in", dimensions: int = 96) -> None:
        self.name = name
        self.dimensions = dimensions
        self.asked: list[str] = []
        self.fault: DshloopError | None = None
        self.closed = 0

    def embed_query(self, text: str) -> Vector:
        row: Vector = self.embed_texts([text])[0]
        return row

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        if self.fault is not None:
            raise self.fault
        self.asked += texts
        return unit_rows([self._vector(text) for text in texts], len(texts), self.name)

    def close(self) -> None:
        self.closed += 1

    def _vector(self, text: str) -> list[float]:
        total = [0.3] * self.dimensions  # what all texts share, as with real models
        for word in re.findall(r"\w+", text.lower()):
            for at, value in enumerate(self._direction(_MEANING.get(word, word))):
                total[at] += value
        return total

    def _direction(self, word: str) -> list[float]:
        seed, made = word.encode(), b""
        while len(made) < self.dimensions:
            seed = hashlib.sha256(seed).digest()
            made += seed
        return [value / 128 - 1 for value in made[: self.dimensions]]
