"""`session matrix`: whole runs on worker processes, stopped, killed, gone on with, compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dshloop.locks import process_exists
from tests.fake_model import fake_model
from tests.running import Ran, dshloop

SWITCH, KEY = "DSH_LOOP_DOCK_LIVE_API", "DEEPSEEK_API_KEY"
GIVEN = {name: os.environ.get(name, "") for name in (SWITCH, KEY, "DEEPSEEK_BASE_URL")}
LACKING = [name for name in (SWITCH, KEY) if not GIVEN[name]]
ROOT = Path(__file__).parents[3]
DRIVERS = """\
import asyncio, os, sys, time
from dshloop.host.engine import Engine
from dshloop.loops.hosted import HostedDriver

class Dying(HostedDriver):
    async def create_agent(self, owner, options):
        print("these are my last words", file=sys.stderr, flush=True)
        os._exit(7)

class DyingOnce(HostedDriver):
    async def create_agent(self, owner, options):
        mark = os.environ["MARK"] + options["sessionId"]
        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(7)
        owner.adapters["driver-ping"] = owner.adapters.get("loop-ping")
        from dshloop.drivers.fake import FakeDriver
        return await HostedDriver(FakeDriver()).create_agent(owner, options)

class Stubborn(HostedDriver):
    async def create_agent(self, owner, options):
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                pass

class StubbornTurn(HostedDriver):
    async def create_agent(self, owner, options):
        from dshloop.drivers.fake import FakeDriver
        handle = await HostedDriver(FakeDriver()).create_agent(owner, options)
        async def stuck(event, following):
            while True:
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    pass
        handle.agent.hooks.on("agent/request", stuck)
        return handle

class Thread(HostedDriver):
    async def create_agent(self, owner, options):
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 1000)
        from dshloop.drivers.fake import FakeDriver
        return await HostedDriver(FakeDriver()).create_agent(owner, options)

class Blocking(HostedDriver):
    async def create_agent(self, owner, options):
        time.sleep(1000)

class Forking(HostedDriver):
    async def create_agent(self, owner, options):
        if child := os.fork():
            with open(os.environ["MARK"] + "children", "a") as file:
                file.write(f"{child}\\n")
            os._exit(7)
        time.sleep(60)

class Polluting(HostedDriver):
    async def create_agent(self, owner, options):
        os.chdir("/")
        os.environ.clear()
        sys.path.clear()
        from dshloop.drivers.fake import FakeDriver
        return await HostedDriver(FakeDriver()).create_agent(owner, options)

class Asked(HostedDriver):
    async def create_agent(self, owner, options):
        import this
        assert os.environ["MARK"]
        assert os.getcwd() != "/"
        from dshloop.drivers.fake import FakeDriver
        return await HostedDriver(FakeDriver()).create_agent(owner, options)

class Faulty(HostedDriver):
    async def create_agent(self, owner, options):
        import dshloop.runs.matrix.cell
        dshloop.runs.matrix.cell.verdict = None
        from dshloop.drivers.fake import FakeDriver
        return await HostedDriver(FakeDriver()).create_agent(owner, options)

class Printing(HostedDriver):
    async def create_agent(self, owner, options):
        print("this is no answer")
        os.write(1, b"nor is this")
        from dshloop.drivers.fake import FakeDriver
        return await HostedDriver(FakeDriver()).create_agent(owner, options)

engine = Engine()
dying, once, stubborn, blocking, printing = (
    kind(engine) for kind in (Dying, DyingOnce, Stubborn, Blocking, Printing)
)
turn, thread, faulty, forking, polluting, asked = (
    kind(engine) for kind in (StubbornTurn, Thread, Faulty, Forking, Polluting, Asked)
)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for matrices, beside a module of odd drivers that can be imported."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "odd_drivers.py").write_text(DRIVERS)
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.setenv("MARK", str(tmp_path / "mark-"))
    here = tmp_path / "here"
    here.mkdir()
    return here


def write(folder: Path, text: str, name: str = "m.yml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def matrix(*words: str, **more: Any) -> Ran:
    return dshloop("session", "matrix", *words, **more)


def cells(ran: Ran) -> list[Any]:
    found = [record for record in ran.lines if record["type"] == "cell"]
    return sorted(found, key=lambda record: int(record["number"]))


def outcomes(ran: Ran) -> list[str]:
    return [cell["outcome"] for cell in cells(ran)]


def sessions() -> list[str]:
    listed = dshloop("session", "list", "--all", "--limit", "0", "--json").json
    return sorted(row["id"] for row in listed)


# --- what runs -----------------------------------------------------------------------------------


def test_every_combination_runs_and_keeps_a_session(folder: Path) -> None:
    file = write(folder, "loops: [standard]\ndrivers: [fake, ping]\nprompts: [a, b]\nrepeats: 2\n")
    ran = matrix(file, "--json", cwd=folder)
    assert ran.code == 0, ran.err
    head, last = ran.lines[0], ran.lines[-1]
    assert (head["type"], head["cells"], head["state"]) == ("run", 8, "unfinished")
    assert (last["outcome"], last["passed"], last["run"]) == ("passed", 8, head["id"])
    found = cells(ran)
    assert [cell["number"] for cell in found] == list(range(1, 9))
    assert sorted(cell["session"] for cell in found) == sessions()
    assert all(cell["session"].startswith(head["id"]) for cell in found)
    assert found[0]["answered_by"] == {"provider": "driver-ping", "model": "fake"}
    assert (found[0]["steps"], found[0]["tokens"]["output"], found[0]["tries"]) == (1, 67, 1)
    shown = dshloop("session", "show", f"{head['id']}-003", "--json", cwd=folder)
    assert shown.code == 0, shown.err


def test_a_table_and_sums_are_for_people(folder: Path) -> None:
    file = write(folder, "drivers: [fake, ping]\nprompts: [a]\nchecks: [{contains: ping}]\n")
    ran = matrix(file, cwd=folder)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].split() == [
        "#", "DRIVER", "PROMPT", "OUTCOME", "CHECKS", "STEPS", "CALLS", "TOKENS", "SECONDS", "TEXT",
    ]  # fmt: skip
    assert "0/1" in lines[1]
    assert "(the answer lacks it) [FAKE-DRIVER]" in lines[1]
    assert "1/1" in lines[2]
    assert "2 cells: 1 passed, 1 failed" in ran.err
    sums = matrix("--show", "last", "--by", "driver", cwd=folder)
    assert sums.code == 0
    assert [line.split()[:2] for line in sums.out.splitlines()[1:]] == [
        ["fake", "0/1"],
        ["ping", "1/1"],
    ]
    data = matrix("--show", "last", "--by", "driver", "--json", cwd=folder).json
    assert [(one["driver"], one["passed"]) for one in data["by"]] == [("fake", 0), ("ping", 1)]
    again = matrix("--resume", "last", "--by", "driver", "--json", cwd=folder)
    assert again.lines[-1]["by"] == data["by"]


def test_a_terminal_shows_how_far_a_run_is(folder: Path) -> None:
    ran = matrix(write(folder, "drivers: [fake]\nprompts: [a, b]\n"), cwd=folder, tty=True)
    assert ran.code == 0
    assert "of 2 cells, 0 failed" in ran.err
    assert "completed" in ran.out


def test_what_cannot_run_is_an_outcome(folder: Path) -> None:
    text = """\
loops: [standard, nowhere]
drivers: [fake, nope, headless, acp, {id: agent, driver: acp, command: cat}]
models: [deepseek/deepseek-flash]
prompts: [a]
"""
    ran = matrix(write(folder, text), "--json", cwd=folder)
    assert ran.code == 1
    assert outcomes(ran) == ["completed"] + ["unavailable"] * 9
    codes = [(cell["failure"] or {}).get("code") for cell in cells(ran)]
    assert codes[1:5] == [
        "DRIVER_UNAVAILABLE", "MISSING_CREDENTIAL", "ENGINE_MISSING", "DRIVER_LACKS",
    ]  # fmt: skip
    assert set(codes[5:]) == {"UNKNOWN_LOOP", "DRIVER_UNAVAILABLE"}
    assert ran.lines[-1]["outcome"] == "failed"


def test_a_script_prompts_of_many_turns_and_checks_by_command(folder: Path) -> None:
    write(folder, "turns: [one, two, {text: three, end: max-tokens}]\n", "said.yml")
    code = "import os, sys; sys.exit(os.environ['DSHLOOP_MATRIX_FOLDER'] + sys.stdin.read() != W)"
    text = f"""\
drivers: [fake]
script: said.yml
prompts:
  - {{id: two, turns: [x, y], checks: [{{regex: "^two$"}}]}}
  - {{id: three, turns: [x, y, z, never]}}
  - id: command
    text: x
    checks: [{{command: [{json.dumps(sys.executable)}, -c, {json.dumps(code)}]}}]
"""
    file = write(folder, text.replace(" W)", f" '{folder}one')"))
    ran = matrix(file, "--json", cwd=folder)
    two, three, command = cells(ran)
    assert (two["text"], two["turns"], two["passed"]) == ("two", 2, True)
    assert (three["outcome"], three["turns"], three["passed"]) == ("max-tokens", 3, False)
    assert command["checks"][0]["passed"], command


def test_loops_and_drivers_of_the_file_are_there(folder: Path) -> None:
    text = """\
loops: {careful: {prompt: Look twice.}}
drivers: {printing: "odd_drivers:printing"}
prompts: [a]
"""
    ran = matrix(write(folder, text), "--json", cwd=folder)
    (cell,) = cells(ran)
    assert cell["outcome"] == "completed", cell
    assert cell["ran_on"] == {"loop": "careful", "driver": "printing"}
    assert "no answer" not in ran.out


def test_agents_of_a_profile_run(folder: Path) -> None:
    made = dshloop("profile", "create", "work", "--template", "empty")
    assert made.code == 0, made.err
    words = ("agent", "add", "reviewer", "--driver", "fake-driver", "--profile", "work", "--yes")
    added = dshloop(*words)
    assert added.code == 0, added.err
    ran = matrix(
        write(folder, "agents: [reviewer]\nprompts: [a]\n"), "--json", "--profile", "work",
        cwd=folder,
    )  # fmt: skip
    (cell,) = cells(ran)
    assert (cell["agent"], cell["driver"], cell["outcome"]) == (
        "reviewer", "fake-driver", "completed",
    )  # fmt: skip


def test_each_cell_has_a_copy_of_the_workspace(folder: Path) -> None:
    (folder / "start").mkdir()
    (folder / "start" / "file").write_text("as it was")
    code = "import os; assert not os.path.exists('made'); open('made', 'w'); open('file')"
    check = json.dumps([sys.executable, "-c", code])
    text = "drivers: [fake]\nworkspace: start\nprompts: [a]\nrepeats: 2\n"
    text += f"checks: [{{command: {check}}}]\n"
    ran = matrix(write(folder, text), "--json", cwd=folder)
    assert ran.code == 0, ran.out
    assert [path.name for path in (folder / "start").iterdir()] == ["file"]
    work = Path(os.environ["DSHLOOP_DATA"], "matrix", ran.lines[0]["id"], "work")
    assert sorted(path.name for path in work.glob("*/made")) == ["made", "made"]


def test_a_dry_run_lists_the_cells_and_runs_none(folder: Path) -> None:
    file = write(folder, "drivers: [fake]\nprompts: [a, b]\nneeds: [NOT_THERE]\n")
    ran = matrix(file, "--dry-run", "--json", cwd=folder)
    assert [(cell["prompt"], cell["skip"]) for cell in ran.json] == [
        ("1", "NOT_THERE is not set"),
        ("2", "NOT_THERE is not set"),
    ]
    assert "2 cells; none was run" in matrix(file, "--dry-run", cwd=folder).err
    one = write(folder, "drivers: [fake]\nprompts: [a]\n", "one.yml")
    assert "1 cell; none was run" in matrix(one, "--dry-run", cwd=folder).err
    assert matrix("--list", "--json").json == []


def test_what_is_needed_is_skipped_and_said_why(folder: Path) -> None:
    file = write(folder, "drivers: [fake]\nprompts: [a]\nneeds: [NOT_THERE=1]\n")
    ran = matrix(file, cwd=folder)
    assert ran.code == 0
    assert "1 skipped: NOT_THERE is not 1" in ran.err
    again = matrix(file, "--json", cwd=folder, variables={"NOT_THERE": "1"})
    assert outcomes(again) == ["completed"]


# --- workers that die or hang --------------------------------------------------------------------


def test_a_worker_that_dies_gives_its_cell_another_try(folder: Path) -> None:
    text = 'drivers: {once: "odd_drivers:once", fake: }\nprompts: [a, b]\n'
    ran = matrix(write(folder, text), "--json", "--jobs", "2", cwd=folder)
    assert ran.code == 0, ran.out
    assert [(cell["driver"], cell["tries"]) for cell in cells(ran)] == [
        ("once", 2), ("once", 2), ("fake", 1), ("fake", 1),
    ]  # fmt: skip
    assert len(sessions()) == 4


def test_a_cell_whose_workers_die_has_crashed_and_the_others_go_on(folder: Path) -> None:
    text = 'drivers: {dying: "odd_drivers:dying", fake: }\nprompts: [a, b]\n'
    ran = matrix(write(folder, text), "--json", "--jobs", "1", cwd=folder)
    assert outcomes(ran) == ["crashed", "crashed", "completed", "completed"]
    failure = cells(ran)[0]["failure"]
    assert failure["code"] == "WORKER_DIED"
    assert failure["message"].count("these are my last words") == 1
    assert "exit code 7" in failure["message"]


def test_a_cell_that_leaves_its_process_otherwise_harms_none_behind_it(folder: Path) -> None:
    text = 'drivers: {fake: , polluting: "odd_drivers:polluting", asked: "odd_drivers:asked"}\n'
    ran = matrix(write(folder, text + "prompts: [a]\n"), "--json", "--jobs", "1", cwd=folder)
    assert outcomes(ran) == ["completed", "completed", "completed"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_child_that_a_dead_worker_leaves_holds_up_nobody(folder: Path) -> None:
    text = 'drivers: {forking: "odd_drivers:forking", fake: }\nprompts: [a]\ntimeout: 30\n'
    ran = matrix(write(folder, text), "--json", cwd=folder)
    assert outcomes(ran) == ["crashed", "completed"]
    assert "exit code 7" in cells(ran)[0]["failure"]["message"]
    left = [int(line) for line in Path(os.environ["MARK"] + "children").read_text().split()]
    assert len(left) == 2
    until = time.monotonic() + 20
    while any(map(is_alive, left)):
        assert time.monotonic() < until
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether a process is there that isn't only waited for."""
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_fault_of_ours_in_a_worker_is_told(folder: Path) -> None:
    text = 'drivers: {faulty: "odd_drivers:faulty"}\nprompts: [a]\nchecks: [{lacks: x}]\n'
    ran = matrix(write(folder, text), "--json", cwd=folder)
    assert outcomes(ran) == ["crashed"]
    assert "TypeError: 'NoneType' object is not callable" in cells(ran)[0]["failure"]["message"]


@pytest.mark.slow
def test_a_thread_that_a_cell_leaves_holds_up_nobody(folder: Path) -> None:
    text = 'drivers: {thread: "odd_drivers:thread", fake: }\nprompts: [a]\n'
    ran = matrix(write(folder, text), "--json", "--jobs", "1", cwd=folder)
    assert (ran.code, outcomes(ran)) == (0, ["completed", "completed"])


@pytest.mark.slow
def test_a_cell_that_takes_too_long_is_ended_and_the_others_go_on(folder: Path) -> None:
    write(folder, "turns: [{text: late, delay: 60}]\n", "said.yml")
    text = """\
drivers:
  fake:
  stubborn: odd_drivers:stubborn
  blocking: odd_drivers:blocking
  turn: odd_drivers:turn
  printing: odd_drivers:printing
script: said.yml
timeout: 1
prompts: [a]
"""
    ran = matrix(write(folder, text), "--json", "--jobs", "4", cwd=folder)
    assert outcomes(ran) == ["timeout"] * 4 + ["completed"]
    assert {cell["tries"] for cell in cells(ran)} == {1}
    shown = dshloop("session", "list", "--json", cwd=folder).json
    assert sorted(row["state"] for row in shown) == ["aborted", "completed", "open"]


# --- stopped and gone on with --------------------------------------------------------------------

SLOW = "drivers: [fake]\nscript: slow.yml\nprompts: [a, b, c, d, e, f]\n"


@pytest.fixture
def slow(folder: Path) -> str:
    write(folder, "turns: [{text: done, delay: 0.5}]\n", "slow.yml")
    return write(folder, SLOW)


def started(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dshloop", "session", "matrix", *words],
        cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def records() -> list[bytes]:
    (log,) = Path(os.environ["DSHLOOP_DATA"]).glob("matrix/*/cells.ndjson")
    return log.read_bytes().splitlines()


def wait_for_records(count: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        logs = list(Path(os.environ["DSHLOOP_DATA"]).glob("matrix/*/cells.ndjson"))
        if logs and logs[0].read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.02)
    raise AssertionError("no record came")


def workers(parent: int) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            yield int(entry.parent.name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on_where_it_was(
    folder: Path, slow: str, kind: signal.Signals
) -> None:
    running = started(slow, "--jobs", "2", cwd=folder)
    wait_for_records(2)
    pids = list(workers(running.pid)) if Path("/proc/self/stat").exists() else []
    running.send_signal(kind)
    _, err = running.communicate(timeout=30)
    done = records()
    if kind == signal.SIGKILL:
        assert running.returncode == -kind
    else:
        assert running.returncode == 130
        assert "stopped; run m-" in err
        assert "--resume m-" in err
    until = time.monotonic() + 20
    while any(Path("/proc", str(pid)).exists() for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in pids if Path("/proc", str(pid)).exists()]
    ran = matrix(slow, "--json", cwd=folder)
    assert ran.code == 0, ran.err
    assert ran.lines[0]["finished"] == len(done) < 6
    assert outcomes(ran) == ["completed"] * 6
    assert records()[: len(done)] == done
    assert len(records()) == 6
    assert len(sessions()) == 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_no_command_that_checks(folder: Path, kind: signal.Signals) -> None:
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(1000)"
    check = json.dumps([sys.executable, "-c", code])
    file = write(folder, f"drivers: [fake]\nprompts: [a]\nchecks: [{{command: {check}}}]\n")
    running = started(file, cwd=folder)
    until = time.monotonic() + 30
    while not ((folder / "pid").exists() and (folder / "pid").read_text()):
        assert time.monotonic() < until
        time.sleep(0.02)
    pid = int((folder / "pid").read_text())
    running.send_signal(kind)
    running.communicate(timeout=30)
    while process_exists(pid):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert matrix("--show", "last", "--json").json["finished"] == 0


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_comes_to_its_end(folder: Path) -> None:
    write(folder, "turns: [{text: done, delay: [0.1, 0.3]}]\n", "slow.yml")
    file = write(folder, "drivers: [fake]\nscript: slow.yml\nprompts: [a]\nrepeats: 40\n")
    draw, last = Random(7), 0
    for kind in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        running = started(file, "--jobs", "3", cwd=folder)
        if last:
            wait_for_records(last)
        time.sleep(draw.uniform(0.2, 1.0))
        running.send_signal(kind)
        running.communicate(timeout=30)
        logs = list(Path(os.environ["DSHLOOP_DATA"]).glob("matrix/*/cells.ndjson"))
        done = logs[0].read_bytes().count(b"\n") if logs else 0
        assert 40 > done >= last  # else the next start would begin a new run
        last = done
    ran = matrix(file, "--json", cwd=folder)
    assert ran.code == 0, ran.err
    found = [json.loads(line)["number"] for line in records()]
    assert sorted(found) == list(range(1, 41))  # each ran to its end once, and never again
    (run,) = matrix("--list", "--json").json
    assert run["state"] == "complete"
    assert sessions() == sorted(cell["session"] for cell in cells(ran))


@pytest.mark.slow
def test_a_run_whose_file_changed_is_not_gone_on_with(folder: Path, slow: str) -> None:
    running = started(slow, "--jobs", "1", cwd=folder)
    wait_for_records(1)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=30)
    (run,) = matrix("--list", "--json").json
    assert (run["state"], run["cells"]) == ("unfinished", 6)
    write(folder, "turns: [other]\n", "slow.yml")
    refused = matrix("--resume", "last", "--json", cwd=folder)
    assert (refused.code, refused.error["code"]) == (4, "MATRIX_CHANGED")
    ran = matrix(slow, cwd=folder)
    assert ran.code == 0
    assert f"run {run['id']} stays as it is, not complete: the file has changed since" in ran.err
    assert len(matrix("--list", "--json").json) == 2


def test_a_run_is_one_process_at_a_time(folder: Path, slow: str) -> None:
    running = started(slow, "--jobs", "1", cwd=folder)
    wait_for_records(1)
    refused = matrix(slow, "--json", cwd=folder)
    assert (refused.code, refused.error["code"]) == (4, "LOCK_HELD")
    (run,) = matrix("--list", "--json").json
    assert run["state"] == "running"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)


def test_cells_that_failed_run_again_when_asked(folder: Path) -> None:
    text = 'drivers: {dying: "odd_drivers:dying", fake: }\nprompts: [a]\n'
    file = write(folder, text)
    assert outcomes(matrix(file, "--json", cwd=folder)) == ["crashed", "completed"]
    same = matrix("--resume", "last", "--json", cwd=folder)
    assert (outcomes(same), same.code) == (["crashed", "completed"], 1)
    modules = folder.parent / "modules" / "odd_drivers.py"
    modules.write_text(DRIVERS.replace("os._exit(7)", "pass", 1).replace(
        "pass\n", "return await printing.create_agent(owner, options)\n", 1))  # fmt: skip
    again = matrix("--resume", "last", "--retry", "--json", cwd=folder)
    assert (outcomes(again), again.code) == (["completed", "completed"], 0)


# --- compared ------------------------------------------------------------------------------------


def test_a_damaged_run_hides_no_other(folder: Path) -> None:
    file = write(folder, "drivers: [fake]\nprompts: [a]\nneeds: [NOT_THERE]\n")
    for name in ("run.json", "cells.ndjson"):
        lost = matrix(file, "--new", "--json", cwd=folder).lines[0]["id"]
        (Path(os.environ["DSHLOOP_DATA"], "matrix", lost) / name).write_text("{}\n")
    kept = matrix(file, "--new", "--json", cwd=folder).lines[0]["id"]
    listed = matrix("--list", "--json")
    assert [run["id"] for run in listed.json] == [kept]
    assert matrix("--list").err.count("can't be read") == 2
    assert matrix("--show", "last", "--json").json["id"] == kept
    assert matrix(file, "--json", cwd=folder).code == 0


def test_two_runs_are_compared(folder: Path) -> None:
    write(folder, "turns: [hello]\n", "said.yml")
    file = write(folder, "drivers: [fake, ping]\nscript: said.yml\nprompts: [a]\n")
    assert matrix(file, cwd=folder).code == 0
    write(folder, "turns: [goodbye]\n", "said.yml")
    assert matrix(file, cwd=folder).code == 0
    b, a = (run["id"] for run in matrix("--list", "--json").json)
    ran = matrix("--compare", a, b, "--json")
    assert ran.code == 0
    (change,) = ran.json["changed"]
    assert (change["driver"], ran.json["same"]) == ("fake", 1)
    assert change["changes"]["text"] == {"a": "hello", "b": "goodbye"}
    people = matrix("--compare", a, b)
    assert people.out.splitlines()[0].split() == ["CELL", "WHAT", a, b]
    assert "1 changed, 1 the same" in people.err
    unknown = matrix("--compare", a, "nope", "--json")
    assert (unknown.code, unknown.error["code"]) == (3, "MATRIX_RUN_NOT_FOUND")


@pytest.mark.parametrize(
    "words",
    [(), ("a.yml", "--list"), ("--show", "a", "--resume", "b"), ("a.yml", "--retry")],
)
def test_what_is_not_one_thing_is_refused(words: tuple[str, ...], folder: Path) -> None:
    assert matrix(*words, cwd=folder).code == 2


# --- the original's live test --------------------------------------------------------------------


def four_turns(**variables: str) -> Ran:
    return matrix(str(ROOT / "examples" / "matrix-2x2.yml"), "--json", variables=variables)


def test_two_loops_on_two_drivers_ask_a_model_server(tmp_path: Path) -> None:
    with fake_model(tmp_path, [{"text": "aye"}]) as model:
        ran = four_turns(
            DSH_LOOP_DOCK_LIVE_API="1", DEEPSEEK_API_KEY="the-key", DEEPSEEK_BASE_URL=model.url
        )
        asked = [str(request["body"]) for request in model.asked]
    assert ran.code == 0, ran.out
    found = cells(ran)
    assert [(cell["ran_on"]["loop"], cell["ran_on"]["driver"]) for cell in found] == [
        ("live-a", "default"), ("live-a", "loop2"), ("live-b", "default"), ("live-b", "loop2"),
    ]  # fmt: skip
    assert {cell["text"] for cell in found} == {"aye"}
    assert {cell["answered_by"]["model"] for cell in found} == {"deepseek-flash"}
    assert sum("one word" in body for body in asked) == 2
    assert sum("one number" in body for body in asked) == 2
    kept = Path(os.environ["DSHLOOP_DATA"]).rglob("*")
    assert not [path for path in kept if path.is_file() and b"the-key" in path.read_bytes()]


def test_a_loop_that_asks_another_model_is_told(folder: Path, tmp_path: Path) -> None:
    text = """\
loops: {pinned: {provider: deepseek, model: other}, standard: }
models: [deepseek/deepseek-flash]
prompts: [a]
"""
    with fake_model(tmp_path, [{"text": "aye"}]) as model:
        variables = {"DEEPSEEK_API_KEY": "k", "DEEPSEEK_BASE_URL": model.url}
        ran = matrix(write(folder, text), cwd=folder, variables=variables)
    assert ran.code == 0, ran.err
    told = 'loop "pinned" asked other and not deepseek/deepseek-flash, which its column says'
    assert ran.err.splitlines().count(told) == 1
    assert "standard" not in ran.err


@pytest.mark.slow
@pytest.mark.skipif(
    bool(LACKING) or GIVEN[SWITCH] != "1",
    reason=f"asks a real model: needs {SWITCH}=1 and {KEY}; "
    f"missing: {', '.join(LACKING) or SWITCH}",
)
def test_two_loops_on_two_drivers_ask_a_real_model() -> None:
    ran = four_turns(**{name: value for name, value in GIVEN.items() if value})
    assert [cell["outcome"] for cell in cells(ran)] == ["completed"] * 4
    assert all(cell["text"] for cell in cells(ran))


def test_without_a_key_the_live_matrix_is_skipped_saying_why() -> None:
    ran = four_turns()
    assert ran.code == 0
    assert outcomes(ran) == ["skipped"] * 4
    reason = "DSH_LOOP_DOCK_LIVE_API is not 1; DEEPSEEK_API_KEY is not set"
    assert {cell["failure"]["message"] for cell in cells(ran)} == {reason}
