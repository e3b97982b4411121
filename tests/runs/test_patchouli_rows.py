"""The default Patchouli bundle, without any config, in real runs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import OutboxTargetError
from dshloop.host.rows import HostRow
from dshloop.memory.answers import Filters
from dshloop.memory.outbox import Item, Outbox
from dshloop.memory.outbox_flush import flush, outboxes
from dshloop.memory.stores import open_store
from dshloop.paths import Places
from dshloop.plugins.built_in import ROWS
from dshloop.plugins.patchouli.flushing import delivery_to_store
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import Ended, Happened, Record, run_session
from dshloop.sessions.catalog import entries

NAMES = (
    "dsh-patchouli",
    "dsh-patchouli/storage",
    "dsh-patchouli-agent-loop",
    "dsh-patchouli-artifact-ingestor",
    "dsh-patchouli-session-indexer",
    "dsh-patchouli-workspace-indexer",
    "dsh-patchouli/cursor-store",
)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def bundle(**configs: Mapping[str, Any]) -> ProfileRows:
    rows = [HostRow(name, name, dict(configs.get(name, {}))) for name in NAMES]
    return ProfileRows((*ROWS, *rows))


def go(
    places: Places, cwd: Path, *prompts: str, rows: ProfileRows | None = None, **more: Any
) -> Sequence[Record]:
    options = RunOptions(cwd=cwd, command="test", rows=rows or bundle(), **more)
    return list(run_session(places, options, prompts, time.time))


def stored(places: Places, **filters: Any) -> list[Any]:
    store = open_store(None, database=places.memory_db, readonly=True)
    try:
        return list(store.list(Filters(**filters), oldest_first=True, limit=None))
    finally:
        store.close()


def outbox_of(places: Places, plugin: str = "dshloop") -> Outbox:
    """Give the outbox of a memory plugin; the ingestor of images has one of its own."""
    (found,) = [one for one in outboxes(places.outbox) if one.store == f"patchouli:{plugin}"]
    return found


def recalls(records: Sequence[Record]) -> list[str]:
    found = []
    for record in records:
        if isinstance(record, Happened) and record.event["type"] == "user/message":
            message = record.event["data"]
            if message["source"].get("form") == "recall":
                found.append(message["content"][0]["text"])
    return found


def test_what_is_said_is_remembered_and_comes_back_in_another_session(
    places: Places, tmp_path: Path
) -> None:
    first = go(places, tmp_path, "The staging database is called lavender", driver="fake")
    assert isinstance(first[-1], Ended)
    assert (first[-1].outcome, first[-1].notices) == ("completed", [])
    observations = stored(places)
    assert [one.hook for one in observations] == ["prompt_submit", "assistant_message"]
    assert observations[0].content == "The staging database is called lavender"
    assert observations[0].project == tmp_path.name
    second = go(places, tmp_path, "what is the staging database called", driver="fake")
    (recall,) = recalls(second)
    assert "lavender" in recall
    assert recall.startswith('{"kind":"patchouli-memory-results","point":"agent/pre-step",')


def test_the_outbox_is_empty_when_all_has_arrived(places: Places, tmp_path: Path) -> None:
    go(places, tmp_path, "one", "two", driver="fake")
    outbox = outbox_of(places)
    assert outbox.list() == []
    assert outbox.state().last_success is not None


def test_a_turn_that_could_not_be_stored_is_stored_by_the_next_run(
    places: Places, tmp_path: Path
) -> None:
    places.memory_db.parent.mkdir(parents=True)
    places.memory_db.write_bytes(b"this is no database" * 500)
    first = go(places, tmp_path, "remember the blue door", driver="fake")
    assert isinstance(first[-1], Ended)
    assert first[-1].outcome == "completed"
    outbox = outbox_of(places)
    (entry,) = outbox.list()
    assert (entry.attempts, entry.body["turn"]) == (1, 1)
    assert "blue door" not in str(entry)
    outbox.replay()
    outbox.close()
    places.memory_db.unlink()
    go(places, tmp_path, "and the red one", driver="fake")
    prompts = [one.content for one in stored(places) if one.hook == "prompt_submit"]
    assert sorted(prompts) == ["and the red one", "remember the blue door"]
    assert outbox_of(places).list() == []


def test_a_turn_that_comes_twice_is_stored_once(places: Places, tmp_path: Path) -> None:
    done = go(places, tmp_path, "only once please", driver="fake")
    before = stored(places)
    (session,) = entries(places)
    events = [record.event for record in done if isinstance(record, Happened)]
    start, end = (
        next(event["seq"] for event in events if event["type"] == kind)
        for kind in ("turn/start", "turn/end")
    )
    place = {
        "session": session.id, "log": str(session.path), "turn": 1, "start": start, "end": end,
        "agent": {"id": session.id, "options": {}},
    }  # fmt: skip
    outbox = outbox_of(places)
    outbox.put(session.id, [Item("session/turn-end", place)])
    outbox.close()
    go(places, tmp_path, "and another turn", driver="fake", resume=session.id)
    assert outbox_of(places).list() == []
    assert stored(places)[:2] == before
    assert len(stored(places)) == 4


def test_our_store_can_be_left_out(places: Places, tmp_path: Path) -> None:
    go(places, tmp_path, "hello", driver="fake", rows=bundle(**{"dsh-patchouli": {"store": False}}))
    assert not places.memory_db.exists()
    (images,) = outboxes(places.outbox)
    assert images.store == "patchouli:artifact-ingestor"
    assert images.list() == []


def test_indexers_are_off_and_read_sessions_and_files_when_switched_on(
    places: Places, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "notes.txt").write_text("the gate code is 4711")
    go(places, work, "hello", driver="fake", rows=bundle(**{"dsh-patchouli": {"store": False}}))
    assert not places.memory_db.exists()
    switched = bundle(
        **{
            "dsh-patchouli-session-indexer": {"enabled": True},
            "dsh-patchouli-workspace-indexer": {"enabled": True},
        }
    )
    go(places, work, "hello again", driver="fake", rows=switched)
    contents = [one.content for one in stored(places)]
    assert "the gate code is 4711" in contents
    assert {"hello", "hello again"} <= set(contents)
    assert contents.count("hello again") == 1


def test_an_outbox_of_our_store_is_delivered_without_its_profile(
    places: Places, tmp_path: Path
) -> None:
    places.memory_db.parent.mkdir(parents=True)
    places.memory_db.write_bytes(b"this is no database" * 500)
    go(places, tmp_path, "remember the blue door", driver="fake")
    places.memory_db.unlink()
    outbox = outbox_of(places)
    deliver = delivery_to_store(
        outbox.store, lambda: open_store(None, database=places.memory_db), {}
    )
    assert flush(outbox, deliver) == (1, 0, 0)
    assert stored(places)[0].content == "remember the blue door"
    with pytest.raises(OutboxTargetError):
        delivery_to_store("patchouli:other", lambda: open_store(None, database=tmp_path), {})


HANGING = """
import sys, time
from pathlib import Path
from dshloop.paths import Places
from dshloop.plugins.patchouli import store_plugin
from dshloop.runs.talking.run import run_session
from tests.runs.test_patchouli_rows import RunOptions, bundle

def hang(self, store, request):
    print("delivering", flush=True)
    time.sleep(60)

store_plugin.StorePlugin._stored = hang
root = Path(sys.argv[1])
places = Places(root / "dsh", root / "data", root / "config")
options = RunOptions(cwd=root, command="test", rows=bundle(), driver="fake")
for _ in run_session(places, options, ["remember the green door"], time.time):
    pass
"""


@pytest.mark.slow
def test_a_turn_that_was_being_delivered_when_the_process_was_killed_comes_later(
    places: Places, tmp_path: Path
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HANGING, str(tmp_path)],
        stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "delivering\n"
    child.kill()
    child.communicate()
    assert stored(places) == []
    outbox = outbox_of(places)
    (entry,) = outbox.list()
    outbox.close()
    go(places, tmp_path, "and the red one", driver="fake")
    assert entry.session in {one.session for one in stored(places)}
    assert outbox_of(places).list() == []
