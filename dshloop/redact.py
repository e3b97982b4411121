"""Secrets taken out of text before it is written down, sent or shown.

Known shapes start at word boundaries; what only looks random (a hash, an id) is a secret beside a
telling name alone, and words joined by hyphens never are. Everything takes linear time: what can't
be in a text is not looked for in it, and nothing is searched for twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

MARK = "[REDACTED_SECRET]"
PRIVATE_MARK = "[REDACTED]"

_LONG = 20
"""Characters from which a value beside a telling name is a secret (agentmemory 5)."""

_SHAPES = (
    ("api key", "sk-", r"[A-Za-z0-9_-]{20,}"),  # OpenAI, Anthropic, DeepSeek
    ("api key", "pk-", r"[A-Za-z0-9_-]{20,}"),
    ("api key", "rk-", r"[A-Za-z0-9_-]{20,}"),
    ("api key", "ak-", r"[A-Za-z0-9_-]{20,}"),
    ("stripe key", "sk_", r"(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe key", "pk_", r"(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe key", "rk_", r"(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe key", "whsec_", r"[A-Za-z0-9]{20,}"),
    ("github token", "ghp_", r"[A-Za-z0-9]{20,}"),
    ("github token", "gho_", r"[A-Za-z0-9]{20,}"),
    ("github token", "ghu_", r"[A-Za-z0-9]{20,}"),
    ("github token", "ghs_", r"[A-Za-z0-9]{20,}"),
    ("github token", "ghr_", r"[A-Za-z0-9]{20,}"),
    ("github token", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("gitlab token", "glpat-", r"[A-Za-z0-9_-]{16,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{20,}"),
    ("pypi token", "pypi-", r"[A-Za-z0-9_-]{40,}"),
    ("hugging face token", "hf_", r"[A-Za-z0-9]{20,}"),
    ("slack token", "xox", r"[a-z]-[A-Za-z0-9-]{8,}"),
    ("slack token", "xapp-", r"[A-Za-z0-9-]{20,}"),
    ("aws key", "AKIA", r"[A-Z0-9]{16}"),
    ("aws key", "ASIA", r"[A-Z0-9]{16}"),
    ("google key", "AIza", r"[A-Za-z0-9_-]{30,}"),
    ("google key", "ya29.", r"[A-Za-z0-9_-]{20,}"),
    ("digitalocean token", "dop_v1_", r"[A-Za-z0-9]{20,}"),
    ("digitalocean token", "doo_v1_", r"[A-Za-z0-9]{20,}"),
    ("sendgrid key", "SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("shopify token", "shpat_", r"[A-Za-z0-9]{20,}"),
    ("age key", "AGE-SECRET-KEY-", r"[A-Z0-9]{40,}"),
    ("json web token", "eyJ", r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)
# A word begins here; also behind an escape such as \n, where JSON is within text.
_BOUNDARY = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"

_TELLING = r"(?:api[_-]?key|access[_-]?key|secret|token|passwd|password|passphrase|credential)s?"
_TELLING_KEY = re.compile(rf"(?i)(?:^|[_\-. ]){_TELLING}$|(?i:(?:apikey|token|secret|password)$)")
_NAMES = ("key", "secret", "token", "passw", "passphrase", "pwd", "credential", "auth")
_PASSWORDS = ("password", "passwd", "passphrase", "pwd")
_REFERENCES = ("$", "process.env", "os.environ", "os.getenv", "env.", "secrets.", "vault:")
_PLAIN = re.compile(r"[A-Za-z]{1,15}(?:[-_./:\\]+[A-Za-z]{1,15})+[-_./:\\]*")

_BARE = r"[^\s\"'`,;<>()\[\]{}\\]"

_LONGEST_KEY = 100_000
"""Characters between the beginning and the end of one private key."""

Kinds = Counter[str]


class Redacted(NamedTuple):
    """A value without its secrets, and how many of which kind there were."""

    value: Any
    kinds: Mapping[str, int] = {}

    @property
    def found(self) -> int:
        """Count the secrets that were taken out."""
        return sum(self.kinds.values())


def redact_text(text: str) -> str:
    """Give the text with every secret replaced by ``[REDACTED_SECRET]``."""
    return _text(text, Counter(), private=False)


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


def redact(value: Any, *, private: bool = False) -> Redacted:
    """Redact the strings of a JSON value; a long string under a telling key goes whole.

    ``private`` takes out blocks between ``<private>`` and ``</private>`` too.
    """
    kinds: Kinds = Counter()
    return Redacted(_value(value, kinds, private=private), kinds)


def _value(value: Any, kinds: Kinds, *, private: bool) -> Any:
    if isinstance(value, str):
        return _text(value, kinds, private=private)
    if not value:
        return value
    if isinstance(value, Mapping):
        return {key: _member(key, member, kinds, private=private) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(item, kinds, private=private) for item in value]
    return value


def _member(key: Any, value: Any, kinds: Kinds, *, private: bool) -> Any:
    if isinstance(value, str) and is_telling(key):
        password = any(name in str(key).lower() for name in _PASSWORDS)
        if len(value) >= (6 if password else _LONG) and _may_be_secret(value, password=password):
            kinds["value of a telling name"] += 1
            return MARK
    return _value(value, kinds, private=private)


def _text(text: str, kinds: Kinds, *, private: bool) -> str:
    if len(text) < 8:
        return text
    if private and "<" in text:
        text = _without_private(text, kinds)
    if "PRIVATE KEY-----" in text:
        text = _without_keys(text, kinds)
    lower = text.lower()
    if "bearer" in lower or "authorization" in lower:
        text = _replaced(_bearer(), text, kinds, "bearer token", _authorization)
    for kind, prefix, rest in _SHAPES:
        if prefix in text:
            text = _replaced(_shape(prefix, rest), text, kinds, kind, _known_shape)
    if "://" in text:
        text = _replaced(_url(), text, kinds, "password of a URL", _address)
    if ("=" in text or ":" in text) and any(name in lower for name in _NAMES):
        text = _without_assigned(text, kinds)
    return text


def _replaced(
    pattern: re.Pattern[str],
    text: str,
    kinds: Kinds,
    kind: str,
    replacement: Callable[[re.Match[str]], str],
) -> str:
    def replace(found: re.Match[str]) -> str:
        new = replacement(found)
        kinds[kind] += new != found.group()
        return new

    return pattern.sub(replace, text)


def _known_shape(found: re.Match[str]) -> str:
    """Keep words that only begin like a key: ``sk-learn-based-classifiers``."""
    text = found.group()
    return text if text[2] == "-" and _PLAIN.fullmatch(text) else MARK


def _authorization(found: re.Match[str]) -> str:
    value = found["value"]
    return found.group() if _PLAIN.fullmatch(value) else found["scheme"] + MARK


def _address(found: re.Match[str]) -> str:
    return f"{found[1]}:{MARK}@"


@lru_cache(maxsize=64)
def _shape(prefix: str, rest: str) -> re.Pattern[str]:
    return re.compile(_BOUNDARY + re.escape(prefix) + rest)


@lru_cache(maxsize=1)
def _bearer() -> re.Pattern[str]:
    return re.compile(
        r"(?ai)(?P<scheme>\bbearer\s{1,20}|\bauthorization\\?[\"']?\s{0,20}[=:]\s{0,20}\\?[\"']?"
        r"(?:basic|token|digest|bearer)\s{1,20})(?P<value>[A-Za-z0-9._~+/=-]{16,})"
    )


@lru_cache(maxsize=1)
def _url() -> re.Pattern[str]:
    return re.compile(r"(://[^/\s:@?#]{0,200}):[^/\s@?#]{1,500}@")


@lru_cache(maxsize=1)
def _assigned() -> re.Pattern[str]:
    """Match a telling name, what stands between, and a value: quoted or up to a blank."""
    return re.compile(
        r"(?ai)(?P<name>api[_-]?key|access[_-]?key|private[_-]?key|secret|token|passwd|password"
        r"|passphrase|pwd|credential|auth)s?(?P<between>\\?[\"']?\s{0,20}(?:=>|:=|=|:)\s{0,20})"
        rf"(?:(?P<open>\\?\"|\\?')(?P<quoted>(?:(?!(?P=open))[^\n]){{8,500}})"
        rf"|(?P<bare>{_BARE}{{8,500}}))"
    )


@lru_cache(maxsize=1)
def _rest() -> re.Pattern[str]:
    return re.compile(f"{_BARE}*")


def _without_assigned(text: str, kinds: Kinds) -> str:
    """Take out values of telling names: a bare one with its name, of a quoted one the value."""
    parts: list[str] = []
    end = at = 0
    while found := _assigned().search(text, at):
        at = found.start("between")
        name = _name_start(text, found.start(), end)
        start, stop = found.span("quoted" if found["open"] else "bare")
        value = text[start:stop]
        password = found["name"].lower() in _PASSWORDS
        if " " in value and not password:
            value = value.split(" ", 1)[0]
            stop = start + len(value)
        if _is_assigned(text[name:at], value, found["between"], password=password):
            kinds["value of a telling name"] += 1
            parts += [text[end : start if found["open"] else name], MARK]
            rest = _rest().match(text, stop)
            end = at = stop if rest is None or found["open"] else rest.end()
    return "".join([*parts, text[end:]]) if parts else text


def _name_start(text: str, start: int, least: int) -> int:
    """Go back to where the name begins that a telling word ends: ``MY_API_KEY``."""
    least = max(least, start - 60)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
        start -= 1
    return start


def _is_assigned(name: str, value: str, between: str, *, password: bool) -> bool:
    if not _may_be_secret(value, password=password):
        return False
    if len(value) >= _LONG:
        return True
    # DB_PASSWORD=hunter2x: a variable's value may be short when it is no word.
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    return len(value) >= 8 and name.isupper() and "=" in between and letters and digits


def _may_be_secret(value: str, *, password: bool) -> bool:
    """Rule out what names a secret without being it, marks of ours, and plain joined words."""
    if value.startswith(_REFERENCES) or MARK in value:
        return False
    return password or _PLAIN.fullmatch(value) is None


def _without_private(text: str, kinds: Kinds) -> str:
    parts: list[str] = []
    end = 0
    opened: int | None = None
    for tag in _private_tags().finditer(text):
        if tag.group()[1] != "/":
            opened = tag.start() if opened is None else opened
        elif opened is not None:
            parts += [text[end:opened], PRIVATE_MARK]
            kinds["private block"] += 1
            end, opened = tag.end(), None
    return "".join([*parts, text[end:]]) if parts else text


@lru_cache(maxsize=1)
def _private_tags() -> re.Pattern[str]:
    return re.compile(r"(?i)</?private>")


def _without_keys(text: str, kinds: Kinds) -> str:
    """Take out PEM blocks, and what is left of one whose end was cut off."""
    parts: list[str] = []
    end = 0
    for start, stop in _key_blocks(text):
        if start >= end:
            parts += [text[end:start], MARK]
            kinds["private key"] += 1
            end = stop
    return "".join([*parts, text[end:]])


def _key_blocks(text: str) -> Iterator[tuple[int, int]]:
    ends = (found.span() for found in _pem("END").finditer(text))
    end = next(ends, None)
    for begin in _pem("BEGIN").finditer(text):
        while end is not None and end[0] < begin.end():
            end = next(ends, None)
        if end is not None and end[0] - begin.end() < _LONGEST_KEY:
            yield begin.start(), end[1]
        else:
            rest = _pem_lines().match(text, begin.end())
            yield begin.start(), rest.end() if rest else begin.end()


@lru_cache(maxsize=2)
def _pem(word: str) -> re.Pattern[str]:
    return re.compile(rf"-----{word} [A-Z0-9 ]{{0,40}}PRIVATE KEY-----")


@lru_cache(maxsize=1)
def _pem_lines() -> re.Pattern[str]:
    line = r"(?:\\r|\\n|\s)+"
    return re.compile(
        rf"(?:{line}[A-Za-z-]+: [^\n\\]*)*(?:{line}[A-Za-z0-9+/=]{{16,}})*"
        r"(?:(?:\\n|\n)[A-Za-z0-9+/=]+)?"
    )
