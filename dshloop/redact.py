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
    ("gitlab token", "glrt-", r"[A-Za-z0-9_-]{16,}"),
    ("gitlab token", "gldt-", r"[A-Za-z0-9_-]{16,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{20,}"),
    ("pypi token", "pypi-", r"[A-Za-z0-9_-]{40,}"),
    ("hugging face token", "hf_", r"[A-Za-z0-9]{20,}"),
    ("slack token", "xox", r"[a-z]-[A-Za-z0-9-]{8,}"),
    ("slack token", "xapp-", r"[A-Za-z0-9-]{20,}"),
    ("webhook", "https://hooks.slack.com/", r"(?:services|workflows)/[A-Za-z0-9/_-]{20,}"),
    ("webhook", "https://discord.com/api/webhooks/", r"\d{5,}/[A-Za-z0-9_-]{20,}"),
    ("aws key", "AKIA", r"[A-Z0-9]{16}"),
    ("aws key", "ASIA", r"[A-Z0-9]{16}"),
    ("google key", "AIza", r"[A-Za-z0-9_-]{30,}"),
    ("google key", "ya29.", r"[A-Za-z0-9_-]{20,}"),
    ("digitalocean token", "dop_v1_", r"[A-Za-z0-9]{20,}"),
    ("digitalocean token", "doo_v1_", r"[A-Za-z0-9]{20,}"),
    ("groq key", "gsk_", r"[A-Za-z0-9]{20,}"),
    ("xai key", "xai-", r"[A-Za-z0-9]{20,}"),
    ("nvidia key", "nvapi-", r"[A-Za-z0-9_-]{20,}"),
    ("perplexity key", "pplx-", r"[A-Za-z0-9]{20,}"),
    ("replicate token", "r8_", r"[A-Za-z0-9]{20,}"),
    ("langsmith key", "lsv2_", r"[a-z]{2}_[A-Za-z0-9_]{20,}"),
    ("databricks token", "dapi", r"[a-f0-9]{32}"),
    ("docker token", "dckr_pat_", r"[A-Za-z0-9_-]{16,}"),
    ("vault token", "hvs.", r"[A-Za-z0-9_-]{20,}"),
    ("tailscale key", "tskey-", r"[a-z]{2,10}-[A-Za-z0-9-]{16,}"),
    ("atlassian token", "ATATT3x", r"[A-Za-z0-9_=-]{20,}"),
    ("linear key", "lin_api_", r"[A-Za-z0-9]{20,}"),
    ("notion token", "ntn_", r"[A-Za-z0-9]{20,}"),
    ("figma token", "figd_", r"[A-Za-z0-9_-]{20,}"),
    ("postman key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    ("sentry token", "sntrys_", r"[A-Za-z0-9_=+/-]{20,}"),
    ("supabase key", "sbp_", r"[a-f0-9]{40}"),
    ("supabase key", "sb_secret_", r"[A-Za-z0-9_-]{20,}"),
    ("rubygems key", "rubygems_", r"[a-f0-9]{40,}"),
    ("square token", "sq0", r"[a-z]{3}-[A-Za-z0-9_-]{20,}"),
    ("sendgrid key", "SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("shopify token", "shpat_", r"[A-Za-z0-9]{20,}"),
    ("age key", "AGE-SECRET-KEY-", r"[A-Z0-9]{40,}"),
    ("json web token", "eyJ", r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)
_BY_SIGN = {
    sign: tuple(shape for shape in _SHAPES if next((c for c in shape[1] if c in "_-"), "") == sign)
    for sign in ("-", "_", "")
}
"""The shapes by the sign in their prefix: without it in a text none of them is looked for."""

# A word begins here; also behind an escape such as \n, where JSON is within text.
_BOUNDARY = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"

_KEYS = r"(?:api|access|secret|private|account|signing|encryption|master)[_-]?key"
_TELLING = rf"(?:{_KEYS}|secret|token|passwd|password|passphrase|credential)s?"
_TELLING_KEY = re.compile(
    rf"(?i)(?:^|[_\-. ]){_TELLING}$|(?:apikey|secretkey|privatekey|token|secret|password)$"
)
_FOREIGN = ("密码", "密碼", "口令", "密钥", "密鑰", "パスワード", "비밀번호")
_FIRST = "acempst密口パ비"
"""How telling names begin: most of a text is passed over at one look."""
_NAMES = ("key", "secret", "token", "passw", "passphrase", "pwd", "credential", "auth")
_PASSWORDS = ("password", "passwd", "passphrase", "pwd", *_FOREIGN)
_REFERENCES = ("$", "process.env", "os.environ", "os.getenv", "env.", "secrets.", "vault:")
_PLAIN = re.compile(r"[A-Za-z]{1,15}\d{0,2}(?:[-_./:\\]+[A-Za-z]{1,15}\d{0,2})+[-_./:\\]*")

_PATH = re.compile(
    r"(?:[a-z][a-z0-9+]{1,10}://|(?:~|\.{1,2})?[/]|[A-Za-z]:[\\/])\S*"
    r"|(?:[\w.@-]+/)+[\w.@-]*\.[A-Za-z]\w{0,4}(?::\d+)*"
)
"""Where something is: a path or an address, unless a part of it looks random."""
_RANDOM = re.compile(r"(?=[a-z]*[A-Z0-9])(?=[A-Z]*[a-z0-9])(?=[A-Za-z]*\d)[A-Za-z0-9]{12,}")

_NAMED = re.compile(r"[A-Za-z0-9_.-]")
_BARE = r"[^\s\"'`,;<>()\[\]{}\\，。；、）」』]"

_LONGEST_KEY = 100_000
"""Characters between the beginning and the end of one private key."""

_BLANKED = frozenset("*.•…_-")
"""What stands where a value was taken out."""

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
    if "PRIVATE KEY" in text:
        text = _without_keys(text, kinds)
    lower = text.lower()
    if "bearer" in lower or "authorization" in lower:
        text = _replaced(_bearer(), text, kinds, "bearer token", _authorization)
    for sign, shapes in _BY_SIGN.items():
        if sign in text:
            for kind, prefix, rest in shapes:
                if prefix in text:
                    text = _replaced(_shape(prefix, rest), text, kinds, kind, _known_shape)
    if "://" in text:
        text = _replaced(_url(), text, kinds, "password of a URL", _address)
    if _names_a_value(text, lower):
        text = _without_assigned(text, kinds)
    return text


def _names_a_value(text: str, lower: str) -> bool:
    if ("=" in text or ":" in text or "--" in text) and any(name in lower for name in _NAMES):
        return True
    return not text.isascii() and any(name in text for name in _FOREIGN)


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
    return text if "." not in text and _PLAIN.fullmatch(text) else MARK


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
        rf"(?ai)(?=[{_FIRST}])(?P<name>{_KEYS}|secret|token|passwd|password|passphrase|pwd|credential|auth"
        rf"|{'|'.join(_FOREIGN)})s?"
        r"(?P<between>\\?[\"']?\s{0,20}(?:=>|:=|=|:|：)\s{0,20}|\s{1,3}(?!-))"
        rf"(?:(?P<open>\\?\"|\\?')(?P<quoted>(?:(?!(?P=open))[^\n]){{6,500}})"
        rf"|(?P<bare>{_BARE}{{6,500}}))"
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
        if found["between"].isspace() and not text.startswith("--", name):  # --token VALUE
            continue
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
    while start > least and _NAMED.match(text, start - 1):
        start -= 1
    return start


def _is_assigned(name: str, value: str, between: str, *, password: bool) -> bool:
    if not _may_be_secret(value, password=password):
        return False
    if len(value) >= _LONG:
        return True
    # DB_PASSWORD=hunter2x: a password or a variable's value may be short when it is no word.
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    short = password or (len(value) >= 8 and name.isupper() and "=" in between)
    return short and letters and digits


def _may_be_secret(value: str, *, password: bool) -> bool:
    """Rule out what names a secret without being it, marks of ours, and plain joined words."""
    if value.startswith(_REFERENCES) or MARK in value or _BLANKED.issuperset(value):
        return False
    if _PATH.fullmatch(value) and not _RANDOM.search(value):
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
    return re.compile(rf"-----{word} [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----")


@lru_cache(maxsize=1)
def _pem_lines() -> re.Pattern[str]:
    line = r"(?:\\r|\\n|\s)+"
    return re.compile(
        rf"(?:{line}[A-Za-z-]+: [^\n\\]*)*(?:{line}[A-Za-z0-9+/=]{{16,}})*"
        r"(?:(?:\\n|\n)[A-Za-z0-9+/=]+)?"
    )
