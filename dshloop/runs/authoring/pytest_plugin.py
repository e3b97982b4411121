"""The pytest plugin of loop authors: the fixture `dshloop_loop_kit` (entry point `pytest11`).

Every pytest with dshloop beside it imports this module, so it imports nothing but pytest itself.
PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from dshloop.runs.authoring.kit import LoopKit


@pytest.fixture
def dshloop_loop_kit(tmp_path: Path) -> LoopKit:
    """Sessions of a loop on the fake driver, and the checks of `dshloop loop test`."""
    from dshloop.runs.authoring.kit import LoopKit

    return LoopKit(tmp_path / "dshloop")
