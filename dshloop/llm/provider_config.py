"""``providers`` of config.yml: checked reading, with the line of what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from dshloop.config import Config
from dshloop.errors import ConfigInvalidError
from dshloop.llm.providers import Provider, dialect_of


class _Rule(NamedTuple):
    """What a key of an entry must be, said for people, and how that is tested."""

    wanted: str
    test: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_url(value: Any) -> bool:
    if not _is_text(value):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or parts.username)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < float("inf")


def _is_headers(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values())))


def _is_window(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_text, value)) and all(map(_is_count, value.values()))
    return _is_count(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


_RULES = {
    "kind": _Rule("openai or anthropic", lambda value: value in ("openai", "anthropic")),
    "url": _Rule("an http or https address without user, query or fragment", _is_url),
    "key_variable": _Rule("the name of a variable, or null", lambda v: v is None or _is_text(v)),
    "models": _Rule(
        "a list of names", lambda value: isinstance(value, list) and all(map(_is_text, value))
    ),
    "headers": _Rule("a mapping of texts", _is_headers),
    "dialect": _Rule(
        "plain, deepseek, openai or anthropic",
        lambda value: value in ("plain", "deepseek", "openai", "anthropic"),
    ),
    "max_tokens": _Rule("a whole number above 0", _is_count),
    "context_window": _Rule("a number of tokens, or one for each model by its name", _is_window),
    "connect_timeout": _Rule("a number of seconds", _is_seconds),
    "idle_timeout": _Rule("a number of seconds", _is_seconds),
    "allow_insecure_http": _Rule("true or false", lambda value: isinstance(value, bool)),
}


def read_entries(
    config: Config, entries: Any, built_in: Mapping[str, Provider]
) -> dict[str, Provider]:
    """Read all entries. Raises CONFIG_INVALID naming file, line and key."""
    if not isinstance(entries, Mapping):
        refuse(config, ("providers",), "providers must be a mapping of names")
    return {str(name): _entry(config, str(name), entries[name], built_in) for name in entries}


def _entry(config: Config, name: str, entry: Any, built_in: Mapping[str, Provider]) -> Provider:
    at = ("providers", name)
    if "/" in name or not name.isprintable() or name != name.strip() or not name:
        refuse(config, at, f"{name!r} can't name a provider: it has a slash, or blanks at an end")
    if not isinstance(entry, Mapping):
        refuse(config, at, f"providers.{name} must be a mapping")
    for key, value in entry.items():
        _check(config, at, str(key), value)
    base = built_in.get(name) or _new(config, at, entry)
    changes = {key: value for key, value in entry.items() if key != "models"}
    if "models" in entry:
        changes["models"] = tuple(entry["models"])
    if "url" in entry:
        changes["origin"] = "config.yml"
        changes.setdefault(
            "dialect", dialect_of(entry["url"]) if name not in built_in else base.dialect
        )
    return replace(base, **changes)


def _new(config: Config, at: Sequence[str], entry: Mapping[str, Any]) -> Provider:
    for key in ("kind", "url"):
        if key not in entry:
            refuse(config, at, f"{'.'.join(at)} needs {key}: {_RULES[key].wanted}")
    return Provider(at[-1], entry["kind"], entry["url"], origin="config.yml")


def _check(config: Config, at: Sequence[str], key: str, value: Any) -> None:
    path = (*at, key)
    rule = _RULES.get(key)
    if rule is None:
        if "key" in key.lower() and key != "key_variable":
            hint = "A key is never in config.yml: name its variable with key_variable."
        else:
            hint = f"Keys: {', '.join(_RULES)}."
        refuse(config, path, f"{'.'.join(path)} is no key", hint)
    if not rule.test(value):
        refuse(config, path, f"{'.'.join(path)} must be {rule.wanted}")


def refuse(config: Config, path: Sequence[str], message: str, hint: str | None = None) -> NoReturn:
    """Raise CONFIG_INVALID for a key of config.yml; the file is read again for the line."""
    from dshloop.dsh_yaml import load_document
    from dshloop.files import read_text, shown

    file = shown(config.path)
    text = read_text(config.path)
    place: dict[str, Any] = {"file": file, "key": ".".join(path)}
    if text is not None:
        document = load_document(text.value, source=file)
        container: Any = document.value
        for key in path[:-1]:
            container = container[key]
        found = document.position(container, path[-1])
        if found is not None:
            place |= {"line": found.line, "column": found.column}
            file = f"{file}:{found.line}:{found.column}"
    raise ConfigInvalidError(f"{file}: {message}", hint=hint, **place)
