"""Which values a snapshot accepts, where it refuses, and how they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dshloop.lossless_json import NotLossless, js_text, snapshot
from tests.conformance.cases import load_cases
from tests.conformance.markers import unmarked


@pytest.mark.parametrize("case", load_cases("lossless_json.json", "lossless"))
def test_a_snapshot_accepts_and_refuses_as_the_original(case: dict[str, Any]) -> None:
    value = unmarked(case["value"])
    if case["expect"] == "reject":
        with pytest.raises(NotLossless) as raised:
            snapshot(value)
        at = case["at_repeat"][0] * case["at_repeat"][1] if "at_repeat" in case else case["at"]
        assert raised.value.pointer == at
        return
    copy = snapshot(value)
    text = js_text(copy)
    if "text" in case:
        assert text == case["text"]
    if not _is_deep(case["value"]):
        assert json.loads(text, parse_int=float) == json.loads(json.dumps(value), parse_int=float)
        assert copy == value


def _is_deep(value: Any) -> bool:
    return isinstance(value, dict) and "$nest" in value
