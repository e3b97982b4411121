"""What a cell of `session matrix` costs when many share their workers, on the fake driver.

    python benchmarks/matrix.py [--cells N] [--rounds N] [--jobs N]

Prints, of the fastest of some rounds: `--version`, a matrix of one cell, one of many; and the
many as a multiple of what they would take if each cost what one alone does, spread over the
processors. It judges nothing: the exit code is 0 whatever the numbers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 3.0
FILE = "drivers: [fake]\nprompts: [hello]\nrepeats: {cells}\n"


def cores() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def seconds(folder: Path, *words: str) -> float:
    """Time one run of the command line, as a process of its own, on an empty home."""
    named = {name: str(folder / name.lower()) for name in ("DSH_HOME", "DSHLOOP_CONFIG")}
    data = tempfile.mkdtemp(dir=folder)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "dshloop", *words],
        cwd=folder,
        env={**os.environ, **named, "DSHLOOP_DATA": data},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=cores())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (1, given.cells):
            (folder / f"{count}.yml").write_text(FILE.format(cells=count))

        def best(*words: str) -> float:
            return min(seconds(folder, *words) for _ in range(given.rounds))

        version = best("--version")
        run = ("session", "matrix", "--jobs", str(given.jobs))
        one = best(*run, "1.yml")
        many = best(*run, f"{given.cells}.yml")
    cell = one - version
    alone = cell * given.cells / cores()
    print(f"--version             {version * 1000:9.1f} ms")
    print(f"1 cell                {one * 1000:9.1f} ms  {cell * 1000:7.1f} ms beyond --version")
    print(f"{given.cells} cells, {given.jobs} jobs    {many * 1000:9.1f} ms")
    print(f"a cell of many        {(many - one) / (given.cells - 1) * 1000:9.2f} ms")
    print(
        f"many / (one cell x {given.cells} / {cores()} processors)  {many / alone:.3f} x"
        f"  goal <= {GOAL:g} x"
    )


if __name__ == "__main__":
    main()
