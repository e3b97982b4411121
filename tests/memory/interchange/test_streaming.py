"""Very many records pass through little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import resource, sys
from pathlib import Path
from dshloop.memory.interchange import jsonl, sources
from dshloop.memory.interchange.carrying import carry
from dshloop.memory.interchange.exporting import exported, write_file
from dshloop.memory.interchange.report import Report
from dshloop.memory.sqlite.store import SqliteStore
folder = Path(sys.argv[1])
store = SqliteStore(folder / "memory.db")
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)
carry(store, sources.records(folder / "few.jsonl", "auto", Report(), project=""), Report(), on_conflict="skip")
before = used()
report = carry(store, sources.records(folder / "many.jsonl", "auto", Report(), project=""), Report(), on_conflict="skip")
write_file(folder / "out.jsonl", exported(store, "dshloop", None, Report(), 0.0), lambda size: None)
print(report.total("added"), used() - before)
"""  # noqa: E501 - run as it is


def test_a_hundred_thousand_records_are_imported_and_exported(tmp_path: Path) -> None:
    write(tmp_path / "few.jsonl", range(10_000))
    write(tmp_path / "many.jsonl", range(10_000, 100_000))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    added, grown = ran.stdout.split()
    assert int(added) == 90_000
    assert float(grown) < 60  # MB, where the file has 40
    assert (tmp_path / "out.jsonl").stat().st_size > 30_000_000


def write(path: Path, numbers: range) -> None:
    from dshloop.memory.interchange.records import header_line, record_line
    from tests.memory.transfer import memory

    with path.open("w", encoding="utf-8") as file:
        file.write(header_line() + "\n")
        for number in numbers:
            file.write(record_line(memory(number, f"finding {number} about rows and keys")) + "\n")
