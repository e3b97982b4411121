"""Layers and what DSH composes, dumps or refuses; we follow 0.2.1 where versions differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import DshloopError
from dshloop.profiles.compose import compose, compose_json, dump_text
from dshloop.profiles.layers import read_layer
from tests.conformance.cases import load_cases


def write_layers(case: dict[str, Any], folder: Path) -> list[Path]:
    paths = [folder / f"L{number}.yml" for number in range(1, len(case["layers"]) + 1)]
    for path, text in zip(paths, case["layers"], strict=True):
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return paths


def same(left: Any, right: Any) -> bool:
    """Compare with key order, numbers as doubles, true never equal to 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return float(left) == float(right)
    return type(left) is type(right) and bool(left == right)


@pytest.mark.parametrize("case", load_cases("compose.json"))
def test_layers_compose_as_in_dsh(case: dict[str, Any], tmp_path: Path) -> None:
    paths = write_layers(case, tmp_path)
    wanted = case.get("error_0_2_1") or case.get("error")
    if wanted is not None:
        with pytest.raises(DshloopError) as raised:
            compose_json(compose([read_layer(path, path.name) for path in paths]))
        check_error(case, wanted, raised.value, tmp_path)
        return
    composition = compose([read_layer(path, path.name) for path in paths])
    result = compose_json(composition)
    assert same(result["entries"], case["entries"]), result["entries"]
    assert [warning["message"] for warning in result["warnings"]] == case["warnings"]
    assert dump_text(composition) == case["dump"]


def check_error(case: dict[str, Any], wanted: str, error: DshloopError, folder: Path) -> None:
    if "error_0_2_1" in case or case["kind"] == "raw":
        assert error.exit_code == 1
        return
    wanted = wanted.replace("DIR", str(folder))
    assert f"dsh: {error.message}" == wanted
    assert error.details["file"] in wanted
    assert error.details["line"] >= 1
