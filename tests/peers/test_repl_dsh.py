"""A conversation whose turns the real dsh runs, by the drivers `dsh` and `acp`."""

from __future__ import annotations

import os

import pytest

from dshloop.drivers.settings import EngineSettings
from tests.cli.repl.talking import talk
from tests.peers.test_engines_dsh import Place, place
from tests.running import dshloop

__all__ = ["place"]

pytestmark = [pytest.mark.peer, pytest.mark.slow]


def test_calls_are_folded_and_undo_begins_anew(place: Place) -> None:
    variables = {
        **os.environ,
        "PATH": f"{place.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "DSH_TELEMETRY_DISABLED": "1",
        "DEEPSEEK_API_KEY": "dummy",
        "DEEPSEEK_BASE_URL": place.model.url,
    }
    engines = EngineSettings(variables, place.places.dsh_home, ("dsh", "--profile", "acp"), 60)
    keys = "what does the file say?\r/show\r/undo\rand again?\r\x04"
    left, out = talk(keys, cwd=place.folder, driver=place.driver, engines=engines, session_id="s")
    assert '· read {"file_path": "hello.txt"} → ' in out
    assert "It says hello.\n" in out
    assert "hello from the file" in out.split('] read {"file_path": "hello.txt"} → ')[1]
    assert left.turns == 2
    assert left.id != "s"
    assert "Again, then." in out
    assert "what does the file say?" not in str(place.model.asked[-1]["body"]["messages"])
    for session in ("s", left.id):
        assert dshloop("session", "fsck", session).code == 0
