"""What a project looks like from what is remembered of it (agentmemory 3.8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dshloop.memory.entries import MEMORY, Entry

MOST = 15
ERRORS = 10
OFTEN = 3
"""A concept that stands in so many entries is a convention."""


class ProjectProfile(NamedTuple):
    """Concepts and files with how many entries name them, the most frequent first."""

    concepts: tuple[tuple[str, int], ...]
    files: tuple[tuple[str, int], ...]
    conventions: tuple[str, ...]
    errors: tuple[str, ...]
    """Titles of the newest memories of bugs."""


def project_profile(entries: Sequence[Entry]) -> ProjectProfile:
    """Make a profile of entries, the newest first."""
    concepts = _most(concept for entry in entries for concept in entry.concepts)
    files = Counter(file for entry in entries for file in entry.files)
    bugs = [one.title for one in entries if one.kind == MEMORY and one.type == "bug"]
    return ProjectProfile(
        concepts,
        tuple(files.most_common(MOST)),
        tuple(_conventions(files, concepts)),
        tuple(dict.fromkeys(bugs))[:ERRORS],
    )


def _most(labels: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Count labels in any case; the spelling met first stands for them."""
    spelling: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for label in labels:
        folded = label.casefold()
        spelling.setdefault(folded, label)
        counts[folded] += 1
    return tuple((spelling[folded], count) for folded, count in counts.most_common(MOST))


def _conventions(files: Counter[str], concepts: Sequence[tuple[str, int]]) -> Iterable[str]:
    names = [file.replace("\\", "/") for file in files]
    if _ending(names, ".ts", ".tsx") > _ending(names, ".js", ".jsx"):
        yield "TypeScript project"
    if 2 * sum("/src/" in f"/{name}" for name in names) > len(names):
        yield "Standard src/ directory structure"
    if any("test" in name.casefold() for name in names):
        yield "Has test files"
    for concept, count in concepts:
        if count >= OFTEN:
            yield f"Frequently uses: {concept}"


def _ending(names: Sequence[str], *endings: str) -> int:
    return sum(name.endswith(endings) for name in names)
