"""A log of ours or of dsh, read to be played again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dshloop.drivers.engines import CARRIES
from dshloop.errors import ReplayRefusedError, SessionUnreadableError
from dshloop.files import shown
from dshloop.loops.binding import read_binding
from dshloop.sessions.recording import Recording, read_recording
from dshloop.sessions.to_v0 import v0_events
from dshloop.transcripts.dsh import Transcript, read_transcript
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.vocabulary import V0, Event


@dataclass(frozen=True, slots=True)
class Recorded:
    """A log that was read to be played again; ``ours`` tells whether our own engine ran it."""

    path: Path
    id: str
    cwd: str | None
    preset: str | None
    events: Sequence[Event]
    recording: Recording
    ours: bool
    findings: Sequence[Finding] = ()


def read_recorded(path: Path) -> Recorded:
    """Read a log, v0 or v4, to play it again; what is whole of a damaged one.

    Raises SESSION_UNREADABLE, REPLAY_REFUSED for one in which nobody said anything.
    """
    read = read_transcript(path)
    header = read.header
    if header is None:
        raise SessionUnreadableError(f"can't replay {shown(path)}: it has no header")
    events = _events(read)
    recording = read_recording(events)
    if not any(turn.inputs for turn in recording.turns):
        raise ReplayRefusedError(f"nobody said anything in {shown(path)}", file=shown(path))
    bound = read_binding(events)
    ours = bound is not None and bound.driver not in CARRIES
    about = (header.id, header.cwd, header.agent_preset)
    return Recorded(path, *about, events, recording, ours, read.findings)


def _events(read: Transcript) -> list[Event]:
    events = [*read.events, *read.closers()]
    return events if read.version == V0 else list(v0_events(events))
