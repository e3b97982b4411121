from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dshloop.dsh import find_program, find_programs, run_program, version_of
from dshloop.errors import ProgramFailedError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts with #! need POSIX")


def program(folder: Path, name: str, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_first_on_path_is_found_with_its_entry(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        program(tmp_path / folder, "dsh", "echo")
    variables = {"PATH": os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "b"), "/a"])}
    found = find_program("dsh", variables)
    assert found is not None
    assert (found.path, found.entry) == (tmp_path / "b" / "dsh", tmp_path / "b")


def test_nothing_on_path_is_none() -> None:
    assert find_programs({}) == {"dsh": None, "node": None, "pnpm": None}


def test_a_program_in_the_working_directory_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "pnpm", "echo")
    monkeypatch.chdir(tmp_path)
    assert find_program("pnpm", {"PATH": f".{os.pathsep}"}) is None


def test_a_link_is_told_from_the_file_behind_it(tmp_path: Path) -> None:
    real = program(tmp_path / "real", "dsh", "echo")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dsh").symlink_to(real)
    found = find_program("dsh", {"PATH": str(tmp_path / "bin")})
    assert found is not None
    assert found.real == real.resolve()


@pytest.mark.parametrize(
    ("says", "version"),
    [("echo v24.21.0", "24.21.0"), ("echo dsh 0.2.1-rc.2", "0.2.1-rc.2"), ("echo hello", None),
     ("echo 1.0.0; exit 3", None)],
)  # fmt: skip
def test_the_version_is_what_it_says(tmp_path: Path, says: str, version: str | None) -> None:
    program(tmp_path, "dsh", says)
    found = find_program("dsh", {"PATH": str(tmp_path)})
    assert found is not None
    assert version_of(found, {"PATH": os.environ["PATH"]}) == version


def test_output_can_go_to_a_log_and_input_is_closed(tmp_path: Path) -> None:
    program(tmp_path, "dsh", "cat; pwd; echo err >&2; exit 7")
    found = find_program("dsh", {"PATH": str(tmp_path)})
    assert found is not None
    with (tmp_path / "log").open("wb") as log:
        ended = run_program(found, [], variables=os.environ, cwd=tmp_path, log=log)
    assert (ended.status, ended.output) == (7, "")
    assert (tmp_path / "log").read_text().splitlines() == [str(tmp_path), "err"]


def test_a_program_that_can_not_start_or_takes_too_long_is_an_error(tmp_path: Path) -> None:
    path = program(tmp_path, "dsh", "sleep 20")
    found = find_program("dsh", {"PATH": str(tmp_path)})
    assert found is not None
    with pytest.raises(ProgramFailedError, match=r"did not answer within 0\.2 seconds"):
        run_program(found, [], variables=os.environ, timeout=0.2)
    path.unlink()
    with pytest.raises(ProgramFailedError):
        run_program(found, [], variables=os.environ)
