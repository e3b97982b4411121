"""export, import, ingest and migrate, as users run them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dshloop.memory.interchange.records import header_line, record_line
from tests.cli.memory.steps import ids, memory, observe, remember, typed
from tests.memory.transfer import memory as made
from tests.running import dshloop
from tests.transcripts import test_claude_code

KEY = "ghp_" + "a" * 36


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use another, empty data folder from now on."""
    monkeypatch.setenv("DSHLOOP_DATA", str(tmp_path / "elsewhere"))


def fill() -> None:
    first = remember("the port is 8080")
    assert memory("edit", first, "--content", "the port is 9090").code == 0
    remember("of every project", "--global")
    observe("post_tool_use", tool_name="bash", tool_input="ls", tool_output="a b")


def test_what_is_exported_comes_back_byte_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill()
    file = tmp_path / "out.jsonl"
    ran = memory("export", str(file))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"wrote 3 memories, 1 observation, 1 session to {file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert memory("export").out == file.read_text()
    monkeypatch.setenv("DSHLOOP_DATA", str(tmp_path / "elsewhere"))
    ran = memory("import", str(file))
    assert ran.out == "added: 3 memories, 1 observation, 1 session\n"
    assert memory("export", "-").out == file.read_text()
    assert memory("import", str(file)).out == (
        "added: nothing\nthere already: 3 memories, 1 observation, 1 session\n"
    )
    assert ids("recall", "port 9090")


def test_a_file_is_replaced_and_nothing_is_left_over(tmp_path: Path) -> None:
    fill()
    file = tmp_path / "out.jsonl"
    file.write_text("old")
    file.chmod(0o644)
    assert memory("export", str(file)).code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    ran = memory("export", str(tmp_path / "no" / "x.jsonl"))
    assert (ran.code, "its folder does not exist" in ran.err) == (1, True)


def test_filters_choose_what_is_exported() -> None:
    fill()
    remember("of web", "--project", "web")
    ran = memory("export", "--project", "web", "--type", "fact")
    assert [json.loads(line).get("content") for line in ran.out.splitlines()] == [
        None, "of every project", "of web", None,
    ]  # fmt: skip


def test_json_tells_what_was_exported(tmp_path: Path) -> None:
    fill()
    told = memory("export", str(tmp_path / "x"), "--json").json
    assert told["exported"] == {"session": 1, "memory": 3, "observation": 1, "document": 0}
    assert told["bytes"] == (tmp_path / "x").stat().st_size
    assert memory("export", "--json").json["text"] == (tmp_path / "x").read_text()


def test_agentmemorys_shape_is_written_and_read(tmp_path: Path, elsewhere: None) -> None:
    fill()
    file = tmp_path / "out.json"
    assert memory("export", str(file), "--format", "agentmemory").code == 0
    assert json.loads(file.read_text())["version"] == "0.9.29"
    before = memory("export").out
    assert memory("forget", "--project", "p", "--yes", "--purge").code == 0
    ran = memory("import", str(file), "--on-conflict", "overwrite")
    assert ran.code == 0, ran.err
    assert sorted(memory("export").out.splitlines()) == sorted(before.splitlines())


def test_secrets_are_taken_out_on_the_way_in_and_told_on_the_way_out(
    tmp_path: Path, elsewhere: None
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(header_line() + "\n" + record_line(made(1, f"the key is {KEY}")) + "\n")
    ran = memory("import", str(file))
    assert "secret" in ran.err
    assert KEY not in memory("export").out
    assert memory("import", str(file), "--on-conflict", "overwrite", "--allow-secrets").code == 0
    ran = memory("export")
    assert KEY in ran.out
    assert "--redact" in ran.err
    assert KEY not in memory("export", "--redact").out


def test_torn_lines_are_told_with_their_numbers(tmp_path: Path, elsewhere: None) -> None:
    file = tmp_path / "x.jsonl"
    lines = [header_line(), record_line(made(1)), "{torn", '{"kind": "x"}', record_line(made(2))]
    file.write_text("\n".join(lines) + "\n")
    ran = memory("import", str(file))
    assert ran.out == "added: 2 memories\n"
    assert "1 not carried: it is no JSON (line 3)" in ran.err
    assert "no end line" in ran.err
    told = memory("import", str(file), "--json").json
    assert {"reason": "it is no JSON", "count": 1, "places": [3]} in told["not_carried"]
    file.write_text("\n".join([header_line(), "{torn"]))
    assert memory("import", str(file)).code == 1


def test_a_dry_run_stores_nothing(tmp_path: Path, elsewhere: None) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join([header_line(), record_line(made(1))]))
    assert memory("import", str(file), "--dry-run").out == "would be added: 1 memory\n"
    assert memory("list", "--count").out == "0\n"
    assert not (tmp_path / "elsewhere").exists()


def test_an_import_is_undone_as_a_whole(tmp_path: Path) -> None:
    remember("here before")
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join([header_line(), *(record_line(made(n)) for n in range(9))]))
    assert memory("import", str(file)).code == 0
    ran = memory("undo")
    assert "took back import" in ran.out
    assert memory("list", "--count").out == "1\n"


def test_standard_input_and_notes_are_read(tmp_path: Path, elsewhere: None) -> None:
    graph = '{"type":"entity","name":"A","entityType":"x","observations":["is here"]}\n'
    assert memory("import", "-", "--project", "web", stdin=graph).out == "added: 1 memory\n"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("---\ntype: bug\n---\nit breaks")
    assert memory("import", str(tmp_path / "notes")).code == 0
    shown = memory("list", "--json").json
    assert [(one["content"], one["project"], one["type"]) for one in shown] == [
        ("it breaks", "", "bug"), ("A: is here", "web", "fact"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [("export", "--format", "x"), ("import", "x", "--format", "x"),
     ("import", "x", "--on-conflict", "x"), ("migrate", "embedded", "embedded")],
)  # fmt: skip
def test_wrong_words_are_refused(words: tuple[str, ...]) -> None:
    remember("something")
    assert memory(*words).code == 2


def test_stores_are_migrated_and_the_old_one_is_only_read(tmp_path: Path) -> None:
    fill()
    target = f"embedded:{tmp_path / 'other.db'}"
    ran = memory("migrate", "embedded", target)
    assert ran.out == "added: 3 memories, 1 observation, 1 session\n"
    assert memory("export", "--store", target).out == memory("export").out
    folder = tmp_path / "folder"
    folder.mkdir()
    assert memory("migrate", target, f"embedded:{folder}", "--type", "fact").code == 0
    assert (folder / "memory.db").exists()
    ran = memory("migrate", f"embedded:{tmp_path / 'none.db'}", target)
    assert (ran.code, "there is no memory database" in ran.err) == (3, True)
    assert memory("migrate", "nowhere", "embedded").code == 3


def test_logs_are_ingested(tmp_path: Path) -> None:
    log = test_claude_code.write(tmp_path / "x.jsonl")
    assert memory("ingest", str(log), "--dry-run").out.startswith("would be added: 7 obs")
    assert memory("ingest", str(log)).out == "added: 7 observations, 1 session\n"
    assert memory("sessions", "--json").json[0]["project"] == "shop"
    assert memory("ingest", str(log), "--project", "other", "--json").json["same"] != {}
    assert memory("ingest", str(tmp_path / "none")).code == 1


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path, elsewhere: None) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join([header_line(), *(record_line(made(n)) for n in range(1_500))]))
    ran = typed("import", str(file))
    assert "Importing" in ran.err
    assert "Importing" not in memory("import", str(file)).err


@pytest.mark.slow
def test_an_import_that_was_killed_goes_on_when_it_is_run_again(
    tmp_path: Path, elsewhere: None
) -> None:
    file = tmp_path / "x.jsonl"
    count = 40_000
    with file.open("w") as lines:
        lines.write(header_line() + "\n")
        for number in range(count):
            lines.write(record_line(made(number)) + "\n")
        lines.write('{"kind": "end"}\n')
    command = [sys.executable, "-m", "dshloop", "memory", "import", str(file)]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            before = stored()
            while process.poll() is None and stored() <= before:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
    had = stored()
    assert had > 0
    told = memory("import", str(file), "--json").json
    assert told["added"]["memory"] + told["same"]["memory"] == count
    assert told["same"]["memory"] == had
    assert memory("export").out == file.read_text().replace(
        '{"kind": "end"}',
        json.dumps({"kind": "end", "session": 0, "memory": count, "observation": 0, "document": 0}),
    )


def stored() -> int:
    if not Path(os.environ["DSHLOOP_DATA"], "memory.db").exists():
        return 0
    ran = memory("list", "--count", "--readonly")
    return int(ran.out) if ran.code == 0 else 0


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    ran = memory("export", str(fifo))
    assert (ran.code, "it is a named pipe" in ran.err) == (1, True)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_terminal_is_not_read_as_a_file(elsewhere: None) -> None:
    assert typed("import", "-").code == 2


def test_an_imported_database_passes_its_check(tmp_path: Path, elsewhere: None) -> None:
    file = tmp_path / "x.jsonl"
    old = made(1, "port 8080", latest=False)
    new = made(2, f"port 9090 {KEY}", version=2, previous="mem_1")
    lines = [record_line(one) for one in (old, new, made(3), made(4, "memory number 3"))]
    file.write_text("\n".join([header_line(), *lines]))
    assert memory("import", str(file), "--allow-secrets").code == 0
    assert memory("check").code == 0
    assert memory("audit", "--fix").code == 0
    assert memory("check").code == 0
    assert memory("undo").code == 0
    assert memory("undo").code == 0
    assert memory("check").code == 0


@pytest.mark.slow
def test_two_imports_of_one_file_at_once_store_it_once(tmp_path: Path, elsewhere: None) -> None:
    file = tmp_path / "x.jsonl"
    lines = [record_line(made(number)) for number in range(9_000)]
    file.write_text("\n".join([header_line(), *lines]))
    command = [sys.executable, "-m", "dshloop", "memory", "import", str(file), "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    told = [json.loads(process.communicate()[0]) for process in both]
    assert sum(one["added"]["memory"] for one in told) == 9_000
    assert sum(one["same"]["memory"] for one in told) == 9_000
    assert memory("list", "--count").out == "9000\n"
    assert memory("check").code == 0


def test_our_own_sessions_are_ingested() -> None:
    assert dshloop("session", "run", "--driver", "fake", "why is the tax wrong").code == 0
    sessions = Path(os.environ["DSHLOOP_DATA"], "sessions")
    ran = memory("ingest", str(sessions))
    assert ran.code == 0, ran.err
    assert "1 session" in ran.out
    found = memory("observations", "--json").json
    assert "why is the tax wrong" in [one["content"] for one in found]
    assert memory("ingest", str(sessions)).out.startswith("added: nothing")


def test_pages_of_markdown_are_written_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = remember("the port is 8080", "--type", "bug", "--concept", "a: b", "--title", 'Say "x"')
    assert memory("edit", first, "--content", "the port is 9090\n\n# more").code == 0
    remember("部署 on Fridays", "--global", "--ttl", "30d")
    observe("stop", reason="done")
    folder = tmp_path / "pages"
    ran = memory("export", str(folder), "--format", "markdown")
    assert ran.out.startswith("wrote 2 memories to ")
    assert "1 not carried: an older version has no page" in ran.err
    pages = sorted(folder.iterdir())
    assert len(pages) == 2
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in pages)
    before = memory("list", "--json").json
    monkeypatch.setenv("DSHLOOP_DATA", str(tmp_path / "elsewhere"))
    assert memory("import", str(folder)).out == "added: 2 memories\n"
    after = memory("list", "--json").json
    told = ("id", "title", "type", "content", "concepts", "project", "created_at", "expires_at")
    assert sorted([one[key] for key in told] for one in after) == sorted(
        [one[key] for key in told] for one in before
    )
    assert memory("import", str(folder)).out.startswith("added: nothing")


def test_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    remember("something")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    ran = memory("export", str(tmp_path / "full"), "--format", "markdown")
    assert (ran.code, ran.err.count("OUTPUT_EXISTS")) == (4, 1)
    assert [one.name for one in tmp_path.iterdir()] == ["full"]
    assert memory("export", "--format", "markdown").code == 2
