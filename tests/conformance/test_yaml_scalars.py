"""What one value of a mapping means to DSH, and how DSH writes it."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.dsh_yaml import dump, load, to_json
from dshloop.errors import DshYamlInvalidError
from tests.conformance.cases import load_cases
from tests.conformance.test_compose import same


def wanted_value(case: dict[str, Any]) -> Any:
    if case["type"] in ("nonfinite", "negzero"):
        return {"$num": case["value"]}
    return {"__jsExpr": case["value"]} if case["type"] == "js" else case["value"]


@pytest.mark.parametrize("case", load_cases("yaml_scalars.json"))
def test_a_value_means_what_it_means_to_dsh(case: dict[str, Any]) -> None:
    text = f"v: {case['yaml']}\n"
    if "error" in case:
        with pytest.raises(DshYamlInvalidError) as raised:
            load(text)
        details = raised.value.details
        place = f"({details['line']}:{details['column']})"
        assert f"{details['reason']} {place}" == case["error"]
        return
    value = load(text)
    assert same(to_json(value), {"v": wanted_value(case)})
    assert dump(value).removeprefix("v:").removeprefix(" ") == case["dump"] + "\n"
