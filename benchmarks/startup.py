"""Start-up times as ratios to ``python -c ''``, all taken in one run, interleaved.

    python benchmarks/startup.py [--runs N]

Prints one line a command: median milliseconds, ratio of medians, and the goal. It judges nothing:
the exit code is 0 whatever the numbers are.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("dshloop")
GOALS: dict[str, tuple[list[str], float]] = {
    "--version": (["--version"], 2.0),
    "--help": (["--help"], 2.5),
    "plugin list": (["plugin", "list", "--profile", "small"], 10.0),
    "profile dump": (["profile", "dump", "small"], 10.0),
    "memory recall": (["memory", "recall", "when do we deploy"], 10.0),
    "memory hook": (["memory", "hook", "PostToolUse"], 12.0),
    "hook with recall": (["memory", "hook", "UserPromptSubmit"], 12.0),
    "session list": (["session", "list"], 10.0),
    "completion": (["plugin", "remove", "--profile", ""], 8.0),
}
TOLD = {
    "memory hook": {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "a"},
    "hook with recall": {"prompt": "when do we deploy?"},
}
"""What hooks get on standard input; each call is another session's."""


def main() -> None:
    """Prepare a small home, time every command in turns, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        env = _home(Path(folder))
        commands = {"python -c ''": [sys.executable, "-c", ""]}
        commands |= {name: [str(SCRIPT), *words] for name, (words, _) in GOALS.items()}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                times[name].append(_time(command, _environment(env, name), _told(name)))
    base = statistics.median(times["python -c ''"])
    print(f"{'command':<18}{'median ms':>10}{'ratio':>8}{'goal':>7}   ({runs} runs, interleaved)")
    for name, taken in times.items():
        median = statistics.median(taken)
        goal = f"{GOALS[name][1]:.1f}" if name in GOALS else ""
        print(f"{name:<18}{median * 1000:>10.1f}{median / base:>8.2f}{goal:>7}")


def _home(folder: Path) -> dict[str, str]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DSH_HOME": str(folder / "dsh"),
        "DSHLOOP_DATA": str(folder / "data"),
        "DSHLOOP_CONFIG": str(folder / "config"),
    }
    for words in (
        ["profile", "create", "small", "--template", "empty"],
        ["memory", "remember", "We deploy on Fridays"],
        ["session", "run", "--driver", "fake", "hello"],
    ):
        subprocess.run([str(SCRIPT), *words], env=env, check=True, capture_output=True, cwd=folder)
    return env


def _environment(env: dict[str, str], name: str) -> dict[str, str]:
    return {**env, "_DSHLOOP_COMPLETE": "bash"} if name == "completion" else env


def _told(name: str) -> bytes:
    if name not in TOLD:
        return b""
    return json.dumps({"session_id": os.urandom(8).hex(), **TOLD[name]}).encode()


def _time(command: list[str], env: dict[str, str], told: bytes) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True, input=told)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
