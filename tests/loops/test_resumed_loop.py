"""A session on a loop that is not there any more, from the command line."""

from __future__ import annotations

import os
from pathlib import Path

from tests.running import dshloop


def test_a_resume_on_a_lost_loop_is_refused_and_the_log_left_alone() -> None:
    run = ("session", "run", "--driver", "fake", "--session-id", "mine", "hello")
    assert dshloop(*run).code == 0
    [log] = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    moved = log.read_bytes().replace(b'"loop":"standard"', b'"loop":"gone"')
    log.write_bytes(moved)
    resumed = dshloop("session", "run", "--resume", "mine", "--json", "again")
    assert (resumed.code, resumed.error["code"]) == (3, "UNKNOWN_LOOP")
    assert resumed.error["details"] == {"loop": "gone", "available": ["standard"]}
    assert log.read_bytes() == moved
