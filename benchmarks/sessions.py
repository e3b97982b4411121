"""Speed of session logs: reading, checking, appending, listing.

    python -m benchmarks.sessions [--megabytes N] [--sessions N]     100 and 10000 unless told

Every figure is a ratio to a bare loop timed in turns with it in this run, or seconds where a goal
is in seconds. It judges nothing: the exit code is 0 whatever the numbers are.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dshloop.paths import Places
from dshloop.runs.kept.listing import list_sessions
from dshloop.sessions.events import encode_line
from dshloop.sessions.fsck import check_log
from dshloop.sessions.index import SessionIndex
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import folder_of, uuid7
from dshloop.transcripts.scan import open_scan

HEADER = {"type": "session", "version": 0, "createdAt": 1000, "delegationDepth": 0}
ROUNDS = 3
STARTS = 15
TURNS = 200


def main() -> None:
    """Measure all of it and print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--sessions", type=int, default=10_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        first_byte(root)
        append(root)
        reading(root, asked.megabytes)
        listing(root, asked.sessions)


def report(what: str, value: float, goal: str) -> None:
    """Print one figure."""
    print(f"{what:<58}{value:>8.2f}   goal {goal}", flush=True)


# --- the first byte of a turn -------------------------------------------------------------------


def first_byte(root: Path) -> None:
    """Time a run of the fake driver up to the first byte of its answer, and bare Pythons."""
    script = Path(sys.executable).with_name("dshloop")
    run = [str(script), "session", "run", "--driver", "fake", "hello"]
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "DSH_HOME": str(root / "dsh")}
    env |= {"DSHLOOP_DATA": str(root / "first"), "DSHLOOP_CONFIG": str(root / "config")}
    ours, bare = [], []
    for _ in range(STARTS):
        ours.append(_to_first_byte(run, env))
        bare.append(timed(lambda: subprocess.run([sys.executable, "-c", ""], env=env, check=True)))
    ratio = statistics.median(ours) / statistics.median(bare)
    report("first byte of a fake turn: to python -c ''", ratio, "<= 12")


def _to_first_byte(command: list[str], env: dict[str, str]) -> float:
    """Give the seconds that a command takes until it says something."""
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=env,
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        taken = time.perf_counter() - start
        process.communicate()
    return taken


# --- appending -----------------------------------------------------------------------------------


def append(root: Path) -> None:
    """Write the same turns through a session and through a bare loop, in turns."""
    ours, bare = [], []
    for number in range(ROUNDS):
        made = list(turns(TURNS))
        ours.append(timed(lambda made=made, number=number: through_log(root, number, made)))
        bare.append(timed(lambda made=made, number=number: through_loop(root, number, made)))
    ratio = statistics.median(a / b for a, b in zip(ours, bare, strict=True))
    report("append, fsync a turn: to encode, write, fsync", ratio, "<= 1.3")


def through_log(root: Path, number: int, made: list[list[dict[str, Any]]]) -> None:
    """Append every event to a new session; flush at the end of each turn."""
    log = SessionLog.create(
        root / "data", f"s{number}", cwd="/home/dev", clock=time.time, command="benchmark"
    )
    for events in made:
        for event in events:
            log.append(event["type"], event["data"], sources=event.get("sourceEventSeqs"))
        log.flush()
    log.close()


def through_loop(root: Path, number: int, made: list[list[dict[str, Any]]]) -> None:
    """Encode, write and fsync the same events without anything else."""
    descriptor = os.open(root / f"bare{number}", os.O_WRONLY | os.O_CREAT)
    for events in made:
        for event in events:
            text = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            os.write(descriptor, text.encode() + b"\n")
        os.fsync(descriptor)
    os.close(descriptor)


# --- reading -------------------------------------------------------------------------------------


def reading(root: Path, megabytes: int) -> None:
    """Read and check one long log, beside json.loads of its lines."""
    path = root / "session.jsonl"
    with path.open("wb") as file:
        file.write(encode_line({**HEADER, "id": "long", "cwd": "/home/dev"}))
        for events in turns(10**9):
            file.write(b"".join(map(encode_line, events)))
            if file.tell() >= megabytes * 1_000_000:
                break
    reads, checks = [], []
    before = memory()
    for _ in range(ROUNDS):
        base = timed(lambda: bare_read(path))
        reads.append(base / timed(lambda: whole_read(path)))
        checks.append(base / timed(lambda: check_log(path)))
    size = f"{megabytes} MB"
    report(f"{size} log read, to json.loads of its lines", statistics.median(reads), ">= 0.5")
    report(f"{size} log checked, to json.loads of its lines", statistics.median(checks), ">= 0.5")
    report("MiB that this took beyond what was there before", memory() - before, "constant")
    path.unlink()


def bare_read(path: Path) -> None:
    """Parse every line."""
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def whole_read(path: Path) -> None:
    """Go through the events, keeping none."""
    with open_scan(path) as scan:
        for _ in scan:
            pass


# --- listing -------------------------------------------------------------------------------------


def listing(root: Path, sessions: int) -> None:
    """List the newest fifty of many sessions, without the index and with it."""
    places = Places(root / "dsh", root / "many", root / "config")
    body = b"".join(encode_line(event) for events in turns(3) for event in events)
    for number in range(sessions):
        cwd, name = f"/home/dev/p{number % 40}", uuid7(1_700_000_000 + number)
        folder = places.sessions / folder_of(cwd) / name
        folder.mkdir(parents=True)
        header = encode_line({**HEADER, "id": name, "cwd": cwd})
        (folder / "session.jsonl").write_bytes(header + body)
    index = SessionIndex(places.session_index)
    bare = min(timed(lambda: list_sessions(places, None, limit=50)) for _ in range(ROUNDS))
    list_sessions(places, None, limit=50, index=index)
    known = min(
        timed(lambda: list_sessions(places, None, limit=50, index=index)) for _ in range(ROUNDS)
    )
    report(f"{sessions} sessions listed without the index, seconds", bare, "<= 1.0")
    report(f"{sessions} sessions listed with it, seconds", known, "<= 0.3")
    words = ["session", "list", "--all", "--data-dir", str(places.data), "--home", str(root)]
    command = [sys.executable, "-m", "dshloop", *words]
    whole = min(timed(lambda: run(command)) for _ in range(ROUNDS))
    report("the same as a command, start and end included, seconds", whole, "")


def run(command: list[str]) -> None:
    """Run a command to its end."""
    subprocess.run(command, check=True, capture_output=True)


# --- the events ----------------------------------------------------------------------------------


def turns(count: int) -> Iterator[list[dict[str, Any]]]:
    """Make turns with a prompt, a streamed answer, a tool call and its result."""
    dice, seq = random.Random(1), 0
    for number in range(1, count + 1):
        events: list[dict[str, Any]] = []
        for kind, data in turn(number, dice):
            event = {"type": kind, "seq": seq, "time": 1000 + seq, "data": data}
            if kind in ("user/message", "assistant/message", "tool/result"):
                event["surfaceOp"] = "append"
            events.append(event)
            seq += 1
        yield events


def turn(number: int, dice: random.Random) -> Iterator[tuple[str, Any]]:
    """Give types and data of one turn's events."""
    place, call = {"turn": number, "step": 1}, f"c{number}"
    yield "turn/start", {"turn": number}
    yield "step/start", place
    asked = [{"type": "text", "text": "what about this? " * dice.randint(1, 20)}]
    yield "user/message", {"role": "user", "content": asked, "source": {"kind": "user"}}
    for _ in range(dice.randint(5, 40)):
        chunk = {"type": "text-delta", "index": 0, "text": " word"}
        yield "assistant/chunk", {**place, "chunk": chunk}
    content = [
        {"type": "text", "text": "word " * dice.randint(5, 400)},
        {"type": "tool-call", "id": call, "name": "read", "arguments": '{"path": "x"}'},
    ]
    source = {"kind": "model", "provider": "p", "model": "m"}
    yield (
        "assistant/message",
        {**place, "message": {"role": "assistant", "content": content, "source": source}},
    )
    yield "tool/call", {**place, "callId": call, "name": "read", "arguments": '{"path": "x"}'}
    text = [{"type": "text", "text": "a line of a file\n" * dice.randint(1, 300)}]
    block = {"type": "tool-result", "toolCallId": call, "content": text}
    answered = {"role": "user", "content": [block], "source": {"kind": "tool", "callId": call}}
    yield "tool/result", {**place, "message": answered}
    yield "step/end", place
    yield "turn/end", {"turn": number, "reason": {"kind": "completed"}}


def timed(work: Callable[[], Any]) -> float:
    """Give the seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def memory() -> float:
    """Give the most memory this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
