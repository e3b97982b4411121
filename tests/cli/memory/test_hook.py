"""`dshloop memory hook`, called as Claude Code and Codex call it."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import PeerDownError
from dshloop.memory import hook_waiting, hooking, stores
from dshloop.memory.hook_settings import PROGRAMS, SECONDS
from dshloop.memory.outbox import Outbox
from tests.cli.memory.steps import memory, remember
from tests.cli.test_startup import HEAVY, imported
from tests.running import Ran


def hook(*words: str, session: str = "c1", **members: Any) -> Ran:
    value = {"session_id": session, "cwd": str(Path.cwd()), **members}
    return memory("hook", *words, stdin=json.dumps(value))


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMEMORY_PROJECT_NAME", "p")


def test_a_hook_that_has_nothing_to_say_prints_nothing(project: None) -> None:
    for event, members in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "hello"}),
        ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ("PostToolUse", {"tool_name": "Bash", "tool_input": {}, "tool_response": "a"}),
        ("PreCompact", {"trigger": "auto"}),
        ("Stop", {"last_assistant_message": "done"}),
        ("SessionEnd", {"reason": "other"}),
    ):
        ran = hook(event, **members)
        assert (ran.code, ran.out, ran.err) == (0, "", ""), event
    hooks = [one["hook"] for one in memory("observations", "--json").json]
    assert hooks == ["stop", "pre_compact", "post_tool_use", "pre_tool_use", "prompt_submit"]


def test_what_is_known_is_given_back_in_the_shape_that_agents_read(project: None) -> None:
    remember("We deploy on Fridays")
    started = hook("SessionStart", source="startup")
    answer = json.loads(started.out)
    assert set(answer) == {"hookSpecificOutput"}
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "We deploy on Fridays" in answer["hookSpecificOutput"]["additionalContext"]
    asked = hook(hook_event_name="UserPromptSubmit", prompt="when do we deploy", session="c2")
    assert json.loads(asked.out)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert hook("UserPromptSubmit", "--json", prompt="when do we deploy", session="c2").json == {}
    assert hook("SessionStart", "--no-inject", session="c3").out == ""


def test_the_project_is_that_of_the_folder_the_agent_works_in(tmp_path: Path) -> None:
    folder = tmp_path / "shop" / "src"
    folder.mkdir(parents=True)
    (tmp_path / "shop" / ".git").mkdir()
    ran = hook("UserPromptSubmit", "--agent", "codex", cwd=str(folder), prompt="a")
    assert ran.code == 0
    (seen,) = memory("observations", "--json").json
    assert (seen["project"], seen["agent"]) == ("shop", "codex")
    hook("UserPromptSubmit", "--project", "other", prompt="b")
    assert memory("observations", "--json").json[0]["project"] == "other"


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("Stop",), "{bad"),
        (("Stop",), ""),
        (("Stop",), "[1]"),
        (("Stop",), '{"cwd": "/"}'),
        (("Nonsense",), '{"session_id": "c1"}'),
        ((), '{"session_id": "c1"}'),
        (("Stop", "--store", "nowhere"), '{"session_id": "c1"}'),
        (("Stop", "--bogus"), '{"session_id": "c1"}'),
        (("Stop", "--budget", "0"), '{"session_id": "c1"}'),
        (("Stop", "Stop"), '{"session_id": "c1"}'),
    ],
)
def test_whatever_is_wrong_the_agent_goes_on(words: tuple[str, ...], stdin: str) -> None:
    ran = memory("hook", *words, stdin=stdin)
    assert (ran.code, ran.out) == (0, "")
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("dshloop memory hook: ")
    assert memory("hook", *words, "--strict", stdin=stdin).code in (1, 2, 3)


def test_a_store_that_can_not_be_opened_does_not_stop_the_agent(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no database" * 500)
    words = ("Stop", "--store", f"embedded:{damaged}")
    ran = hook(*words, last_assistant_message="x")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (0, "", 1)
    again = hook(*words, last_assistant_message="y")
    assert (again.code, again.out, len(again.err.splitlines())) == (0, "", 1)
    assert f"{damaged} is damaged" in again.err
    assert hook(*words, "--strict", last_assistant_message="z").code == 5
    damaged.unlink()
    memory("outbox", "flush")
    assert hook(*words, last_assistant_message="last").err == ""
    seen = memory("observations", "--store", f"embedded:{damaged}", "--json").json
    assert [one["content"] for one in seen] == ["last", "z", "y", "x"]
    gone = hook("Stop", "--store", f"patchouli:{tmp_path}/no.sock", last_assistant_message="x")
    assert (gone.code, gone.out, len(gone.err.splitlines())) == (0, "", 1)


def test_settings_that_are_not_readable_do_not_stop_the_agent(tmp_path: Path) -> None:
    assert memory("use", "embedded").code == 0
    (Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml").write_text("memory: [")
    ran = hook("Stop", last_assistant_message="x")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (0, "", 1)


@pytest.mark.parametrize("agent", sorted(PROGRAMS))
def test_the_settings_call_every_event_they_name(agent: str, project: None) -> None:
    ran = memory("hook", "--print-settings", agent, "--store", "embedded", "--project", "p q")
    assert ran.code == 0
    assert PROGRAMS[agent].file in ran.err
    hooks = json.loads(ran.out)["hooks"]
    assert list(hooks) == list(PROGRAMS[agent].events)
    for event, ((matched),) in hooks.items():
        (command,) = matched["hooks"]
        assert command["type"] == "command"
        assert command["timeout"] > hooking.patience_of(event) + 1
        assert command["timeout"] <= (3 if (agent, event) == ("codex", "SessionEnd") else 10)
        assert command["command"] == (
            f"dshloop memory hook {event} --agent {agent} --project 'p q' --store embedded"
        )
        assert hook(event, "--strict", prompt="x", tool_name="T", tool_input={}).code == 0
    assert memory("hook", "--print-settings", agent, "--json").json["hooks"].keys() == hooks.keys()


def test_settings_repeat_what_hooks_are_to_do() -> None:
    words = ("--no-inject", "--no-record", "--budget", "300", "--data-dir", "/srv/notes")
    ran = memory("hook", "--print-settings", "codex", *words)
    assert ran.json["hooks"]["Stop"][0]["hooks"][0]["command"] == (
        "dshloop memory hook Stop --agent codex --budget 300 --data-dir /srv/notes --no-record "
        "--no-inject"
    )


def test_settings_name_the_program_as_asked() -> None:
    ran = memory("hook", "--print-settings", "codex", "--program", "/opt/my tools/dshloop")
    assert "'/opt/my tools/dshloop' memory hook Stop" in ran.out
    assert "is not on PATH" in ran.err
    assert memory("hook", "--print-settings", "emacs").code == 2


def test_a_hook_imports_nothing_heavy(project: None) -> None:
    hook("SessionStart")
    modules = imported(["memory", "hook", "UserPromptSubmit", "--no-inject"])
    assert not modules & (HEAVY - {"importlib.metadata"})
    assert "dshloop.memory.sqlite.store" not in modules
    assert "dshloop.memory.federation" not in imported(["memory", "stats"])


# --- a store that is away ----------------------------------------------------------------------


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Gives a switch that takes the store away, and back."""
    opened = stores.open_recorder

    def switch(is_away: bool) -> None:
        def refused(*_words: Any, **_more: Any) -> Any:
            raise PeerDownError("nobody is there")

        monkeypatch.setattr(stores, "open_recorder", refused if is_away else opened)

    return switch


def recorded(*words: str) -> list[str]:
    rows = memory("observations", *words, "--json").json
    return [row["content"] for row in reversed(rows)]


def test_a_daemon_that_is_away_keeps_nobody_from_keeping_what_happens(project: None) -> None:
    words = ("--store", "agentmemory:http://127.0.0.1:1")
    ran = hook("UserPromptSubmit", *words, prompt="first")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (0, "", 1)
    assert "what happened is kept until then" in ran.err
    assert hook("Stop", *words, "--strict", last_assistant_message="x").code == 5
    assert hook("Stop", *words).code == 0  # it says nothing, so nothing is kept of it
    waiting = memory("outbox", "list", "--json").json
    assert [(row["store"], row["session"], row["kind"]) for row in waiting] == [
        ("hook:agentmemory:http://127.0.0.1:1", "c1", "UserPromptSubmit"),
        ("hook:agentmemory:http://127.0.0.1:1", "c1", "Stop"),
    ]
    assert memory("outbox", "flush").code == 5


def test_what_waited_is_recorded_before_what_comes_later(
    away: Callable[[bool], None], project: None
) -> None:
    hook("UserPromptSubmit", prompt="one")
    away(True)
    for prompt in ("two", "three"):
        assert hook("UserPromptSubmit", prompt=prompt).code == 0
    away(False)
    assert hook("UserPromptSubmit", prompt="four").err == ""
    assert recorded() == ["one", "two", "three", "four"]
    assert memory("outbox", "list", "--json").json == []


def test_what_waited_is_recorded_as_it_was(away: Callable[[bool], None], project: None) -> None:
    key = "sk-" + "abcd1234" * 4
    away(True)
    hook("SessionStart", "--agent", "codex", source="startup")
    hook("PostToolUse", "--agent", "codex", tool_name="Bash", tool_input={"command": "ls"},
         tool_response=f"KEY={key}")  # fmt: skip
    hook("SessionEnd", "--agent", "codex")
    for file in Path(os.environ["DSHLOOP_DATA"]).rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes()
    away(False)
    assert memory("sessions", "--json").json == []
    assert memory("outbox", "flush", "--json").json["delivered"] == 3
    (session,) = memory("sessions", "--json").json
    assert (session["id"], session["agent"], session["status"]) == ("c1", "codex", "completed")
    (entry,) = memory("observations", "--json").json
    assert (entry["hook"], entry["type"], entry["project"]) == (
        "post_tool_use",
        "command_run",
        "p",
    )


def test_the_start_of_a_session_takes_along_what_others_left(
    away: Callable[[bool], None], project: None
) -> None:
    away(True)
    hook("UserPromptSubmit", session="left", prompt="left behind")
    away(False)
    hook("UserPromptSubmit", session="c2", prompt="not the start")
    assert recorded() == ["not the start"]
    hook("SessionStart", session="c3")
    assert recorded() == ["not the start", "left behind"]


def test_behind_what_still_waits_a_call_waits_too(
    away: Callable[[bool], None], project: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    away(True)
    hook("UserPromptSubmit", prompt="one")
    away(False)

    def refuses(*_words: Any) -> None:
        raise PeerDownError("not yet")

    with monkeypatch.context() as patched:
        patched.setattr(hook_waiting, "deliver", refuses)
        assert hook("UserPromptSubmit", prompt="two").code == 0
    assert recorded() == []
    with monkeypatch.context() as patched:
        patched.setattr(Outbox, "failed", None)
        assert hook("UserPromptSubmit", prompt="three").code == 0  # before the time of the next try
    assert recorded() == []
    (first, *_) = memory("outbox", "list", "--json").json
    assert first["attempts"] == 1
    memory("outbox", "flush")
    assert hook("UserPromptSubmit", prompt="four").code == 0
    assert recorded() == ["one", "two", "three", "four"]


def test_a_silent_store_costs_the_agent_its_patience_and_no_more(
    project: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def silent(*_words: Any, **_more: Any) -> Any:
        over.wait(60)
        raise PeerDownError("nobody is there")

    assert hooking.PATIENCE + hook_waiting.AT_START < SECONDS
    monkeypatch.setattr(hooking, "PATIENCE", 0.2)
    monkeypatch.setattr(stores, "open_recorder", silent)
    ran = hook("UserPromptSubmit", prompt="one")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == (
        "dshloop memory hook: embedded did not answer within 0.2 s; "
        "what happened is kept until then\n"
    )
    (entry,) = memory("outbox", "list", "--json").json
    assert (entry["attempts"], entry["error"]) == (1, "embedded did not answer within 0.2 s")
    over.set()


def test_a_damaged_outbox_keeps_nothing_from_being_recorded(project: None) -> None:
    folder = Path(os.environ["DSHLOOP_DATA"]) / "outbox"
    folder.mkdir(parents=True)
    (folder / "hook%3Aembedded.db").write_bytes(b"this is no database" * 500)
    ran = hook("UserPromptSubmit", prompt="one")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (0, "", 1)
    assert ran.err.startswith("dshloop memory hook: the outbox ")
    assert recorded() == ["one"]


def test_what_a_store_refuses_waits_and_a_store_that_is_none_leaves_nothing(tmp_path: Path) -> None:
    later = tmp_path / "later.db"
    store = ("--store", f"embedded:{later}")
    hook("UserPromptSubmit", *store, prompt="one")
    ours = schema(later, 99)
    ran = hook("UserPromptSubmit", *store, prompt="two")
    assert (ran.code, ran.out) == (0, "")
    assert "was written by a later dshloop" in ran.err
    schema(later, ours)
    assert hook("UserPromptSubmit", *store, prompt="three").err == ""
    seen = memory("observations", *store, "--json").json
    assert [one["content"] for one in seen] == ["three", "two", "one"]
    hook("UserPromptSubmit", "--store", "nowhere", prompt="lost")
    assert memory("outbox", "list", "--json").json == []


def schema(database: Path, new: int) -> int:
    """Give a database another version; give the old one."""
    with closing(sqlite3.connect(database)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {new}")
    return int(version)
