from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dshloop.dsh import Program
from dshloop.profiles.checks.schema import faults
from dshloop.profiles.inbox.schema import dsh_schemas, schemas_of
from tests.profiles.packages import contents, places_in

EXPRESSION = {"$ref": "#/$defs/loaderExpression"}


def rule(name: str, config: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    """Give a rule of `$defs.entry` as dsh 0.2.1 writes it."""
    then: dict[str, Any] = {"properties": {"config": {"anyOf": [config]}}}
    if required:
        then = {"if": {}, "then": then, "else": {**then, "required": ["config"]}}
    return {"if": {"properties": {"name": {"const": name}}}, "then": then}


DOCUMENT = {
    "$defs": {
        "config0": {"anyOf": [{"type": "object", "properties": {"model": {}}}, EXPRESSION]},
        "entry": {
            "allOf": [
                {"$ref": "#/$defs/entryMetadata"},
                rule("cordis:group", {"$ref": "#/$defs/entryList"}, required=True),
                rule("@deepseek-ai/one", {"$ref": "#/$defs/config0"}),
                rule("@deepseek-ai/two", {"$ref": "#/$defs/config0"}, required=True),
            ]
        },
        "patch": {},
    }
}


def stand_in(folder: Path, answer: str) -> Program:
    """Give a program that prints the answer and counts how often it was asked."""
    path = folder / "dsh"
    path.write_text(
        f"#!{sys.executable}\nimport sys, pathlib\n"
        f"with open({str(folder / 'asked')!r}, 'a') as log: print(*sys.argv[1:], file=log)\n"
        f"print({answer!r})\n"
    )
    path.chmod(0o755)
    return Program("dsh", path, folder)


def asked(folder: Path) -> list[str]:
    log = folder / "asked"
    return log.read_text().splitlines() if log.exists() else []


def test_the_config_of_each_row_is_found_required_or_not() -> None:
    assert schemas_of(DOCUMENT)["configs"] == {
        "@deepseek-ai/one": "#/$defs/config0",
        "@deepseek-ai/two": "#/$defs/config0",
    }


def test_dsh_is_asked_once_on_a_home_of_its_own(tmp_path: Path) -> None:
    program = stand_in(tmp_path, json.dumps(DOCUMENT))
    places = places_in(tmp_path / "user")
    for _ in range(2):
        schemas = dsh_schemas(program, ["@deepseek-ai/dsh-base", "mine"], places, {})
        (fault,) = faults(schemas["@deepseek-ai/two"], {"modell": 1})
        assert (fault.path, fault.near) == (("modell",), ("model",))
    assert asked(tmp_path) == ["--profile schema --dump-config-schema"]
    assert not places.dsh_home.exists()


def test_a_dsh_that_can_not_tell_has_no_schemas(tmp_path: Path) -> None:
    places = places_in(tmp_path / "user")
    program = stand_in(tmp_path, "error: unknown option")
    assert dsh_schemas(program, ["@deepseek-ai/dsh-base"], places, {}) == {}
    assert dsh_schemas(program, ["@deepseek-ai/dsh-base"], places, {}) == {}
    assert len(asked(tmp_path)) == 1


def test_a_cache_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    places = places_in(tmp_path / "user")
    program = stand_in(tmp_path, json.dumps(DOCUMENT))
    dsh_schemas(program, [], places, {})
    (name,) = [n for n, what in contents(places.data).items() if what != "folder"]
    (places.data / name).write_text("{")
    assert "@deepseek-ai/one" in dsh_schemas(program, [], places, {})
    assert len(asked(tmp_path)) == 2
