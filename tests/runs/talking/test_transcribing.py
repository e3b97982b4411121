"""Transcripts of a session that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import WriteFailedError
from dshloop.runs.talking.transcribing import Transcribing
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog


class OnFullDisk(Transcribing):
    """Makes its file, and finds no room to write to it."""

    def _write(self, text: str) -> None:
        raise WriteFailedError("can't write it: no space is left on the disk")


def test_a_transcript_that_cannot_begin_leaves_its_name_free(tmp_path: Path) -> None:
    session = MemoryLog(new_header("s", created_at=0, cwd="/"), (), lambda: 1.0)
    transcript = OnFullDisk(tmp_path / "copy.jsonl")
    with pytest.raises(WriteFailedError):
        transcript.begin(session)
    assert list(tmp_path.iterdir()) == []
    transcript.end()
    again = Transcribing(tmp_path / "copy.jsonl")
    again.begin(session)
    again.end()
    assert (tmp_path / "copy.jsonl").read_text().count("\n") == 1
