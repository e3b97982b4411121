"""Secrets taken out of text before it is written down, sent or shown.

Patterns start at word boundaries and take linear time. What only looks random (a hash, an id) is
left alone: text is a secret by its known shape, or by the telling name it stands beside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

MARK = "[REDACTED_SECRET]"

_NOT_INSIDE_A_WORD = r"(?<![A-Za-z0-9_-])"
_SHAPES = (
    r"sk-[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic, DeepSeek
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"npm_[A-Za-z0-9]{20,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{8,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",  # JSON web token
)
_TELLING = r"(?:api[_-]?key|access[_-]?key|secret|token|passwd|password|passphrase|credential)s?"
_TELLING_KEY = re.compile(rf"(?i)(?:^|[_\-. ]){_TELLING}$|(?i:(?:apikey|token|secret|password)$)")
_VALUE = r"[^\s\"'`,;<>()\[\]{}]{20,}"

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?"
            r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
            re.S,
        ),
        MARK,
    ),
    (re.compile(r"(?i)\b(bearer)\s+[A-Za-z0-9._~+/=-]{16,}"), rf"\1 {MARK}"),
    (re.compile(_NOT_INSIDE_A_WORD + "(?:" + "|".join(_SHAPES) + ")"), MARK),
    (re.compile(r"(://[^/\s:@]{0,200}):[^/\s@]{1,500}@"), rf"\1:{MARK}@"),
    (
        re.compile(
            rf"(?i)(?<![A-Za-z0-9])[A-Za-z0-9_.-]{{0,60}}?{_TELLING}[\"']?\s*[=:]\s*[\"']?{_VALUE}"
        ),
        MARK,
    ),
)


class Redacted(NamedTuple):
    """A value without its secrets, and how many there were."""

    value: Any
    found: int


def redact_text(text: str) -> str:
    """Give the text with every secret replaced by ``[REDACTED_SECRET]``."""
    return _text(text).value  # type: ignore[no-any-return]


def redact_words(words: Sequence[str]) -> list[str]:
    """Give the words of a command without what stands behind a telling one, as in ``--token X``."""
    before = ("", *words)
    return [
        MARK if is_telling(key) and not word.startswith("-") else word
        for key, word in zip(before, words, strict=False)
    ]


def is_telling(key: object) -> bool:
    """Tell whether a name says that a secret stands beside it: ``apiKey``, ``access_token``."""
    return _TELLING_KEY.search(str(key)) is not None


def redact(value: Any) -> Redacted:
    """Redact the strings of a JSON value; a long string under a telling key goes whole."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        parts = {key: _member(key, member) for key, member in value.items()}
        made = {key: part.value for key, part in parts.items()}
        return Redacted(made, sum(part.found for part in parts.values()))
    if isinstance(value, (list, tuple)):
        items = [redact(item) for item in value]
        return Redacted([item.value for item in items], sum(item.found for item in items))
    return Redacted(value, 0)


def _member(key: Any, value: Any) -> Redacted:
    if isinstance(value, str) and len(value) >= 20 and is_telling(key):
        return Redacted(MARK, 1)
    return redact(value)


def _text(text: str) -> Redacted:
    count = 0
    for pattern, mark in _PATTERNS:
        text, found = pattern.subn(mark, text)
        count += found
    return Redacted(text, count)
