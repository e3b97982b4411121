"""`dshloop session export` on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dshloop.transcripts.dsh import read_transcript
from tests.running import dshloop, run_script
from tests.sessions.logs import conversation
from tests.transcripts.logs import turn, write

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "firefox")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "session.jsonl", conversation(3))


def test_markdown_is_the_usual_format(log: Path) -> None:
    ran = dshloop("session", "export", str(log))
    assert ran.code == 0
    assert ran.out.startswith("# hello\n")
    assert ran.out == dshloop("session", "export", str(log), "--format", "md").out
    short = dshloop("session", "export", str(log), "--last", "1").out
    assert "## Turn 3" in short
    assert "## Turn 2" not in short


def test_json_and_json_lines_are_the_events(log: Path) -> None:
    whole = json.loads(dshloop("session", "export", str(log), "--format", "json").out)
    assert whole["events"] == conversation(3)
    lines = dshloop("session", "export", str(log), "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines[1:]] == conversation(3)
    assert json.loads(lines[0])["type"] == "session"


def test_a_file_is_new_and_named(log: Path, tmp_path: Path) -> None:
    words = ("session", "export", str(log), "--format", "html", "--out", "it.html")
    ran = dshloop(*words, cwd=tmp_path)
    assert (ran.code, ran.out) == (0, f"wrote {tmp_path / 'it.html'}\n")
    again = dshloop(*words, "--json", cwd=tmp_path)
    assert (again.code, again.error["code"]) == (4, "OUTPUT_EXISTS")
    data = dshloop("session", "export", str(log), "--json").json
    assert data["text"].startswith("# hello")


def test_what_is_whole_of_a_damaged_log_is_exported_with_a_warning(tmp_path: Path) -> None:
    log = write(tmp_path / "session.jsonl", [*turn(1, 0, "before"), *turn(2, 7, "after")])
    for form in ("markdown", "html", "jsonl"):
        ran = dshloop("session", "export", str(log), "--format", form)
        assert ran.code == 0
        assert "before" in ran.out
        assert "after" in ran.out
        assert "warning: seq gap" in ran.err


def test_a_log_for_dsh_is_v4(log: Path, tmp_path: Path) -> None:
    for name in ("session.v4.jsonl", "session.v4.jsonl.zstd"):
        ran = dshloop("session", "export", str(log), "--to", "dsh", "--out", str(tmp_path / name))
        assert ran.code == 0
        assert "dsh --profile headless --session-id s-1" in ran.err
        read = read_transcript(tmp_path / name)
        assert (read.version, read.findings, read.counts["turns"]) == (4, [], 3)
    printed = dshloop("session", "export", str(log), "--to", "dsh").out
    assert printed.encode() == (tmp_path / "session.v4.jsonl").read_bytes()


def test_a_log_is_put_where_dsh_finds_it_once(log: Path, isolated: Path) -> None:
    words = ("session", "export", str(log), "--to", "dsh", "--install", "--json")
    ran = dshloop(*words)
    path = Path(ran.json["out"])
    assert path == isolated / "dsh/sessions/--home-dev--/s-1/session.v4.jsonl.zstd"
    assert dshloop(*words).error["code"] == "OUTPUT_EXISTS"
    own = dshloop("session", "export", str(path), *words[3:])
    assert (own.code, own.error["code"]) == (4, "OUTPUT_REFUSED")


@pytest.mark.parametrize(
    "words",
    [
        ("--format", "pdf"),
        ("--to", "claude"),
        ("--to", "dsh", "--format", "html"),
        ("--to", "dsh", "--last", "1"),
        ("--install",),
    ],
)
def test_options_that_make_no_sense_are_usage(log: Path, words: tuple[str, ...]) -> None:
    assert dshloop("session", "export", str(log), *words).code == 2


def test_a_browser_shows_the_page(log: Path, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or "firefox" in browser:
        pytest.skip("no chromium is on PATH")
    file = tmp_path / "it.html"
    dshloop("session", "export", str(log), "--format", "html", "--out", str(file))
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=600,800"]
    words += [f"--user-data-dir={tmp_path / 'profile'}", file.as_uri()]
    shown = run_script([*words, "--dump-dom"])
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("<details>") == 3
    assert "answer 3" in shown.stdout
    pictures = []
    for scheme in (0, 1):  # dark, light
        picture = tmp_path / f"{scheme}.png"
        settings = f"--blink-settings=preferredColorScheme={scheme}"
        assert run_script([*words, settings, f"--screenshot={picture}"]).returncode == 0
        pictures.append(picture.read_bytes())
    assert pictures[0] != pictures[1]
