"""Attached images in real runs: kept, sent, and taken in by an ingestor."""

from __future__ import annotations

import base64
import os
import subprocess
import time
from pathlib import Path

import pytest

from dshloop.errors import AttachmentTooLargeError
from dshloop.host.rows import HostRow
from dshloop.memory.store import DocumentStore
from dshloop.memory.stores import open_store
from dshloop.paths import Places
from dshloop.plugins.built_in import ROWS
from dshloop.plugins.patchouli.artifact_homes import ARTIFACTS, BLOBS
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.attaching import read_attachments, with_texts
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import Ended, run_session
from tests.cli.session.test_run_options import png

NAMES = ("dsh-patchouli", "dsh-patchouli/storage", "dsh-patchouli-agent-loop",
         "dsh-patchouli-artifact-ingestor", "dsh-patchouli/cursor-store")  # fmt: skip


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def test_an_ingestor_reads_what_was_attached(places: Places, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(png(7, 5))
    rows = ProfileRows((*ROWS, *(HostRow(name, name, {}) for name in NAMES)))
    options = RunOptions(
        tmp_path, "test", driver="fake", rows=rows, attached=read_attachments([picture])
    )
    ended = list(run_session(places, options, ["look at this"], time.time))[-1]
    assert isinstance(ended, Ended)
    assert ended.outcome == "completed"
    assert not any("image" in notice for notice in ended.notices)
    store = open_store(None, database=places.memory_db, readonly=True)
    try:
        assert isinstance(store, DocumentStore)
        (facts,) = dict(store.documents(ARTIFACTS)).values()
        blob = store.document(BLOBS, facts["digest"].removeprefix("sha256:"))
    finally:
        store.close()
    assert (facts["media_type"], facts["name"]) == ("image/png", "a.png")
    assert facts["metadata"]["extensions"]["dsh.image"] == {"width": 7, "height": 5}
    assert base64.b64decode(blob["base64"]) == png(7, 5)


def test_the_name_of_a_file_says_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\nb\xff.txt")
    path.write_text("x")
    assert with_texts("look", read_attachments([path])).splitlines()[2] == (
        "Attached file a b\\xff.txt:"
    )


def test_what_never_ends_is_read_no_further_than_it_may_be() -> None:
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
        assert endless.stdout is not None
        with pytest.raises(AttachmentTooLargeError):
            read_attachments([Path(f"/dev/fd/{endless.stdout.fileno()}")])
        endless.kill()
