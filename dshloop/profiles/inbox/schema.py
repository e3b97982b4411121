"""The schemas of the configs of dsh's own rows, as ``dsh --dump-config-schema`` gives them.

dsh is asked on a throw-away home with its own bundles only, so no plugin of the user's is loaded;
the answer is kept in our data folder for as long as that very dsh is there. dsh 0.1.2 has none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dshloop.dsh import Program, run_program
from dshloop.errors import DshloopError, ProgramFailedError, WriteFailedError
from dshloop.files import digest, read_bytes, replace_file
from dshloop.paths import Places, private_folder
from dshloop.profiles.inbox.installation import find_installation
from dshloop.profiles.layout import SCOPE, new_manifest

SCHEMA = 1
_TIMEOUT = 30.0  # seconds
_PROFILE = "schema"


def dsh_schemas(
    program: Program,
    bundles: Sequence[Any],
    places: Places,
    variables: Mapping[str, str],
    progress: Callable[[str], None] | None = None,
) -> Mapping[str, Mapping[str, Any]]:
    """Give the JSON schema of the config of each row that dsh's own bundles have, by its name.

    Nothing for a dsh that can't tell.
    """
    names = [name for name in bundles if isinstance(name, str) and name.startswith(SCOPE)]
    key = [find_installation(program).key, names]
    path = places.data / "schema" / f"{(digest(json.dumps(key).encode()) or '')[:16]}.json"
    kept = _kept(path)
    if kept is None:
        if progress is not None:
            progress("asking dsh for the schema of its configs (once)")
        kept = schemas_of(_asked(program, names, variables))
        _keep(path, kept)
    definitions = kept["$defs"]
    refs: dict[str, str] = kept["configs"]
    return {name: {"$ref": ref, "$defs": definitions} for name, ref in refs.items()}


def schemas_of(answer: Any) -> dict[str, Any]:
    """Take what we need of dsh's document: the definitions, and which one each row's config has."""
    definitions = answer.get("$defs") if isinstance(answer, dict) else None
    definitions = definitions if isinstance(definitions, dict) else {}
    configs: dict[str, str] = {}
    for rule in _list(_at(definitions, "entry", "allOf")):
        name = _at(rule, "if", "properties", "name", "const")
        ref = _config_of(_at(rule, "then")) or _config_of(_at(rule, "then", "else"))
        if isinstance(name, str) and not name.startswith("cordis:") and ref:
            configs[name] = ref
    kept = {name: value for name, value in definitions.items() if name not in ("entry", "patch")}
    return {"schema": SCHEMA, "configs": configs, "$defs": kept}


def _config_of(rule: Any) -> str | None:
    """Give the definition that a rule has for `config`; a required config stands one deeper."""
    choices = _list(_at(rule, "properties", "config", "anyOf"))
    refs = [_at(choice, "$ref") for choice in choices]
    return refs[0] if len(refs) == 1 and isinstance(refs[0], str) else None


def _asked(program: Program, bundles: Sequence[str], variables: Mapping[str, str]) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="dshloop-schema-") as home:
        folder = Path(home) / "profiles" / _PROFILE
        folder.mkdir(parents=True)
        (folder / "package.json").write_bytes(new_manifest(_PROFILE, bundles).as_bytes())
        surroundings = {**variables, "DSH_HOME": home, "DSH_TELEMETRY_DISABLED": "1"}
        words = ["--profile", _PROFILE, "--dump-config-schema"]
        try:
            ended = run_program(
                program,
                words,
                variables=surroundings,
                cwd=Path(home),
                timeout=_TIMEOUT,
                apart=True,
            )
            return json.loads(ended.output)
        except (ProgramFailedError, ValueError, RecursionError):
            return None


def _kept(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(read_bytes(path) or b"null")
        fine = value["schema"] == SCHEMA and isinstance(value["configs"], dict)
        return value if fine and isinstance(value["$defs"], dict) else None
    except (DshloopError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _keep(path: Path, value: dict[str, Any]) -> None:
    """Keep the answer; where that can't be done dsh is asked again the next time."""
    try:
        private_folder(path.parent)
        replace_file(path, json.dumps(value).encode(), mode=0o600)
    except (WriteFailedError, OSError):
        return


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
