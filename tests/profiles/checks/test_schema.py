from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dshloop.dsh_yaml import JsExpr
from dshloop.profiles.checks.schema import faults
from tests.profiles.checks.made import codes, found, profile

SCHEMA: dict[str, Any] = {
    "$defs": {
        "loaderExpression": {"type": "object", "required": ["__jsExpr"]},
        "inner": {
            "type": ["object", "null"],
            "properties": {"timeoutMs": {"type": "integer", "minimum": 1, "maximum": 60000}},
        },
    },
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "provider": {"type": "string"},
                "mode": {"anyOf": [{"const": "fast"}, {"const": "slow"}, {"type": "null"}]},
                "inner": {
                    "anyOf": [{"$ref": "#/$defs/inner"}, {"$ref": "#/$defs/loaderExpression"}]
                },
                "free": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "open": {"type": "object", "properties": {}},
                "list": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["provider"],
        },
        {"$ref": "#/$defs/loaderExpression"},
    ],
}


@pytest.mark.parametrize(
    ("config", "path", "what"),
    [
        ({}, (), "lacks provider"),
        ({"provider": 1}, ("provider",), "it should be string"),
        ({"provider": "x", "mode": "fats"}, ("mode",), 'it should be "fast"'),
        ({"provider": "x", "inner": {"timeoutMs": 0}}, ("inner", "timeoutMs"), "the least is 1"),
        ({"provider": "x", "inner": {"timeoutMs": True}}, ("inner", "timeoutMs"), "integer"),
        ({"provider": "x", "free": {"a": 1}}, ("free", "a"), "boolean"),
        ({"provider": "x", "list": ["a", 2]}, ("list", 1), "string"),
        ([], (), "it should be object"),
    ],
)
def test_values_that_a_schema_does_not_take(config: Any, path: tuple[Any, ...], what: str) -> None:
    (fault,) = faults(SCHEMA, config)
    assert fault.path == path
    assert what in fault.what


@pytest.mark.parametrize(
    "config",
    [
        {"provider": "x"},
        {"provider": JsExpr("y"), "inner": JsExpr("z"), "mode": None},
        {"provider": "x", "inner": None, "open": {"anything": 1}, "mode": "slow"},
        JsExpr("all"),
    ],
)
def test_values_that_it_takes(config: Any) -> None:
    assert faults(SCHEMA, config) == []


def test_unknown_keys_come_with_the_near_ones() -> None:
    found = faults(SCHEMA, {"provider": "x", "inner": {"timeoutms": 5}})
    assert [(one.path, one.unknown, one.near) for one in found] == [
        (("inner", "timeoutms"), True, ("timeoutMs",))
    ]


def test_a_schema_handed_in_is_used_for_rows_the_user_configured(tmp_path: Path) -> None:
    patch = "- insert: [{id: x, name: b}]\n- id: x\n  config:\n    provider: p\n    mod: fast\n"
    made = profile(tmp_path, "b", patch=patch)
    assert codes(made) == []
    (finding,) = found(made, schemas={"b": SCHEMA})
    assert finding.place is not None
    assert (finding.code, finding.row, finding.place.line) == ("CONFIG_KEY_UNKNOWN", "x", 5)
    assert "mode" in finding.fix


def test_dsh_is_asked_only_for_a_row_of_its_own_that_the_user_configured(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(case: Any) -> dict[str, Any]:
        asked.append(case.profile.name)
        return {"@deepseek-ai/dsh-x": SCHEMA}

    patch = "- insert: [{id: x, name: '@deepseek-ai/dsh-x'}]\n"
    assert codes(profile(tmp_path, patch=patch), dsh_schemas=ask) == []
    assert asked == []
    made = profile(tmp_path, patch=patch + "- {id: x, config: {providr: y}}\n")
    assert codes(made, dsh_schemas=ask) == ["CONFIG_KEY_UNKNOWN", "CONFIG_VALUE_INVALID"]
    assert asked == ["p"]
