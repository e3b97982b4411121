"""Where conformance cases come from: tests/data, or the folder $DSHLOOP_CONFORMANCE names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent.parent / "data"


def case_path(name: str) -> Path | None:
    """Give the path of the case file or folder `name`, None when the named folder lacks it."""
    named = os.environ.get("DSHLOOP_CONFORMANCE")
    path = (Path(named) if named else DATA) / name
    return path if path.exists() else None


def load_cases(name: str, part: str = "cases") -> list[Any]:
    """Read the cases of a file as pytest parameters; one skipped parameter when it is missing.

    ``part`` names the list that holds them.
    """
    path = case_path(name)
    if path is None:
        reason = f"{name} is not in $DSHLOOP_CONFORMANCE"
        return [pytest.param({}, id="missing", marks=pytest.mark.skip(reason=reason))]
    content = json.loads(path.read_text(encoding="utf-8"))
    cases = content.get(part, []) if isinstance(content, dict) else content
    return [pytest.param(case, id=str(case["id"])) for case in cases]


def case_files(folder: str) -> list[Any]:
    """List the files of a case folder as pytest parameters."""
    path = case_path(folder)
    if path is None:
        reason = f"{folder}/ is not in $DSHLOOP_CONFORMANCE"
        return [pytest.param(Path(), id="missing", marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(file, id=file.name) for file in sorted(path.iterdir()) if file.is_file()]
