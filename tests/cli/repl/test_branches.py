"""Choosing what answers, and going back: each in process, as it is typed."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from dshloop.cli.docked import run_rows
from dshloop.cli.invocation import Invocation
from dshloop.config import Config
from dshloop.drivers.fake import FAKE_REPLY
from dshloop.environment import Environment
from dshloop.errors import ExitCode, OutputExistsError
from dshloop.llm.credentials import Keyring
from dshloop.llm.providers import read_providers
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.conversation import Conversation
from dshloop.runs.talking.transcribing import Transcribing
from tests.cli.repl.talking import HOME, script, talk
from tests.fake_model import fake_model
from tests.running import dshloop

LOOPS = """\
loops:
  careful: {prompt: Look twice.}
  pinned: {driver: default, provider: deepseek, model: large}
"""


@pytest.fixture
def rows() -> ProfileRows:
    """The rows of a profile that registers two loops."""
    assert dshloop("profile", "create", "work").code == 0
    folder = Path(os.environ["DSH_HOME"]) / "profiles" / "work"
    (folder / "loops.yml").write_text(LOOPS, encoding="utf-8")
    env = Environment(io.StringIO(), io.StringIO(), io.StringIO(), os.environ, HOME)
    return run_rows(Invocation(env, profile="work"))


def shown(session: str) -> Any:
    return dshloop("session", "show", session, "--json").json


def log_of(session: str) -> list[Any]:
    (path,) = Path(os.environ["DSHLOOP_DATA"]).rglob(f"{session}/session.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def bindings(session: str) -> list[Any]:
    selected = (line for line in log_of(session) if line["type"] == "agent-preset/selected")
    return [line["data"] for line in selected]


def forget_turns(session: str) -> None:
    """Leave of a log what stands before its first turn, as a kill at that moment would."""
    (path,) = Path(os.environ["DSHLOOP_DATA"]).rglob(f"{session}/session.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if '"agent/inbox/' in line or "turn/" in line)
    path.write_text("".join(lines[:first]), encoding="utf-8")


def words(session: str) -> list[str]:
    """Give what a person said in a session."""
    messages = (line["data"] for line in log_of(session) if line["type"] == "user/message")
    return [one["content"][0]["text"] for one in messages if one["source"]["kind"] == "user"]


def sessions() -> list[str]:
    return [row["id"] for row in dshloop("session", "list", "--all", "--json").json]


def test_a_blank_session_takes_another_driver_and_preset() -> None:
    left, out = talk("/driver ping\r/preset minimal\rhello\r\x04", session_id="s")
    assert "[standard on default" in out
    assert "preset minimal" in out
    assert "[LOOP-PING]" in out or "ping" in out.lower()
    assert (left.id, left.turns) == ("s", 1)
    assert shown("s")["driver"] == "default"
    assert shown("s")["preset"] == "minimal"
    assert sessions() == ["s"]


def test_a_blank_session_that_is_stored_records_a_newer_binding() -> None:
    talk("hello\r\x04", session_id="s")
    forget_turns("s")
    assert [one["agentLoopDock"]["driver"] for one in bindings("s")] == ["fake-driver"]
    left, _ = talk("/preset minimal\r/driver ping\rhello\r\x04", driver=None, resume="s")
    assert (left.id, left.turns) == ("s", 1)
    recorded = bindings("s")
    assert recorded[-1]["agentLoopDock"] == {"loop": "standard", "driver": "default"}
    assert recorded[-1]["agentPreset"] == "minimal"
    assert recorded[0]["agentLoopDock"]["driver"] == "fake-driver"
    assert dshloop("session", "fsck", "s").code == 0


def test_what_can_t_be_chosen_leaves_the_conversation_as_it_was() -> None:
    left, out = talk("/loop nowhere\r/preset nothing\r/driver none\rhello\r\x04", session_id="s")
    for code in ("UNKNOWN_LOOP", "PRESET_NOT_FOUND", "DRIVER_UNAVAILABLE"):
        assert f"({code})" in out
    assert (left.id, left.turns) == ("s", 1)
    assert FAKE_REPLY in out


def test_a_session_that_has_begun_is_refused_and_the_fork_offered() -> None:
    left, out = talk("hello\r/loop other\r/driver ping\r/preset minimal\ragain\r\x04")
    assert out.count("(LOOP_SWITCH)") == 3
    for way in ("/fork loop other", "/fork driver ping", "/fork preset minimal"):
        assert f"Go on in a fork of it: {way}\n" in out
    assert left.turns == 2
    assert len(sessions()) == 1


def test_a_fork_goes_on_with_what_was_said_on_another_driver() -> None:
    left, out = talk("hello\r/fork driver ping\ragain\r\x04", session_id="first")
    assert f"session {left.id}, a fork of first, which stays as it is" in out
    assert words("first") == ["hello"]
    assert words(left.id) == ["hello", "again"]
    assert shown("first")["driver"] == "fake-driver"
    assert shown(left.id)["driver"] == "default"
    assert log_of(left.id)[0]["parentSession"] == "first"
    assert dshloop("session", "fsck", left.id).code == 0
    plain, _ = talk("/fork\rmore\r\x04", resume="first", driver=None)
    assert words(plain.id) == ["hello", "more"]
    assert shown(plain.id)["driver"] == "fake-driver"


def test_a_fork_that_can_t_be_opened_is_not_left_behind() -> None:
    left, out = talk("hello\r/fork loop nowhere\ragain\r\x04", session_id="s")
    assert "(UNKNOWN_LOOP)" in out
    assert (left.id, left.turns) == ("s", 2)
    assert sessions() == ["s"]


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize(("times", "left_with"), [(1, ExitCode.DONE), (2, ExitCode.INTERRUPTED)])
def test_ctrl_c_while_a_fork_is_opened_leaves_only_twice(
    monkeypatch: pytest.MonkeyPatch, times: int, left_with: ExitCode
) -> None:
    real, opened = Conversation.open, 0

    async def slowly(*given: Any) -> Conversation:
        nonlocal opened
        opened += 1
        if opened == 2:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.1)
        return await real(*given)

    monkeypatch.setattr(Conversation, "open", slowly)
    again = "\x03" * (times - 1)  # at the prompt behind it
    left, out = talk(f"hello\r/fork\r{again}more\r\x04", session_id="s")
    assert "[this is done to its end; once more leaves at once]" in out
    assert left.id != "s"
    assert left.exit_code == left_with
    assert words("s") == ["hello"]


def test_a_fork_needs_to_know_what_and_to_what() -> None:
    _, out = talk("hello\r/fork colour red\r/fork loop\r/undo x\r/undo 0\r\x04")
    assert out.count("(USAGE)") == 4
    assert len(sessions()) == 1


def test_undo_goes_on_before_the_last_turn_in_a_fork() -> None:
    left, out = talk("one\rtwo\rthree\r/undo\rfour\r\x04", session_id="s")
    assert f"session {left.id}, a fork of s behind 2 turns, which stays as it is" in out
    assert 'without turn 3 "three"' in out
    assert words("s") == ["one", "two", "three"]
    assert words(left.id) == ["one", "two", "four"]
    again, _ = talk("/undo 2\rnew\r\x04", resume="s", driver=None)
    assert words(again.id) == ["one", "new"]


def test_undo_of_everything_goes_on_in_a_new_session_on_the_same() -> None:
    left, out = talk("one\r/undo 5\rnew\r\x04", session_id="s", preset="minimal")
    assert f"session {left.id}, a new one; s stays as it is" in out
    assert words(left.id) == ["new"]
    assert shown(left.id)["preset"] == "minimal"
    assert shown(left.id)["driver"] == "fake-driver"
    _, empty = talk("/undo\r/retry\r\x04")
    assert empty.count("nothing was said yet (NO_TURN)") == 2


def test_retry_says_the_last_prompt_again_in_a_fork() -> None:
    replies = script("first answer", "second answer", "third answer")
    left, out = talk("one\rtwo\r/retry\r\x04", session_id="s", script=replies)
    assert "> two\n" in out
    assert words("s") == ["one", "two"]
    assert words(left.id) == ["one", "two"]
    assert left.id != "s"
    first = [line["data"]["id"] for line in log_of("s") if line["type"] == "user/message"]
    second = [line["data"]["id"] for line in log_of(left.id) if line["type"] == "user/message"]
    assert first[0] == second[0]
    assert first[-1] != second[-1]


def test_retry_of_the_only_turn_is_a_new_session() -> None:
    left, _ = talk("one\r/retry\r\x04", session_id="s")
    assert left.id != "s"
    assert words(left.id) == ["one"]


def test_names_without_words_are_listed() -> None:
    _, out = talk("/loop\r/driver\r/preset\r/model\r\x04")
    assert "loop standard\nthere are: standard" in out
    assert "driver fake-driver\nthere are: " in out
    assert "preset standard\nthere are: code, cordis, minimal" in out
    assert "model driver-ping/fake\nknown: " in out


def test_a_driver_that_asks_no_model_takes_none() -> None:
    left, out = talk("/model deepseek/deepseek-flash\rhello\r\x04")
    assert "(USAGE)" in out
    assert left.turns == 1


def test_a_loop_is_chosen_and_keeps_the_driver(rows: ProfileRows) -> None:
    talk("hello\r\x04", session_id="s", rows=rows)
    forget_turns("s")
    left, out = talk("/loop careful\rhello\r\x04", resume="s", driver=None, rows=rows)
    assert "[careful on fake-driver" in out
    assert left.turns == 1
    assert bindings("s")[-1]["agentLoopDock"] == {"loop": "careful", "driver": "fake-driver"}


def test_a_loop_with_a_pin_says_so_and_takes_no_other_model(
    rows: ProfileRows, tmp_path: Path
) -> None:
    with fake_model(tmp_path, [{"text": "One."}], [{"text": "Two."}]) as model:
        named = {"DEEPSEEK_API_KEY": "key", "DEEPSEEK_BASE_URL": model.url}
        keys = "/model small high\r/model large high low\rhello\r"
        keys += "/loop pinned\r/fork loop pinned\r/model other\r"
        left, out = talk(
            keys + "again\r/model\r\x04",
            driver="default",
            rows=rows,
            providers=lambda: read_providers(Config(tmp_path, {}), Keyring(named, tmp_path)),
        )
        asked = [one["body"]["model"] for one in model.asked]
    assert "[standard on default · deepseek/small · no tokens yet" in out
    assert 'loop "pinned" pins deepseek/large (MODEL_PINNED)' in out
    assert "[pinned on default · deepseek/large (pinned by pinned)" in out
    assert '/model takes a model and an effort, not "large high low" (USAGE)' in out
    assert "model deepseek/large\nknown: deepseek/deepseek-flash, " in out
    assert asked == ["small", "large"]
    assert words(left.id) == ["hello", "again"]
    headers = [line["data"] for line in log_of(left.id) if line["type"] == "request/header"]
    assert headers[0]["header"]["config"]["reasoningEffort"] == "high"


def test_a_transcript_follows_the_conversation_into_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    left, _ = talk("one\rtwo\r/undo\rthree\r\x04", watcher=Transcribing(path))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == log_of(left.id)
    with pytest.raises(OutputExistsError):
        Transcribing(path)


# --- a session that is only read -----------------------------------------------------------------


def test_a_fork_of_what_is_kept_nowhere_has_it_and_is_kept() -> None:
    talk("one\rtwo\r\x04", session_id="s")
    before = log_of("s")
    left, out = talk("three\r/fork\rfour\r\x04", resume="s", read_only=True)
    assert words(left.id) == ["one", "two", "three", "four"]
    assert out.count("what is said now is kept nowhere") == 1
    assert log_of("s") == before
    assert dshloop("session", "fsck", left.id).code == 0


def test_undo_of_what_is_kept_nowhere_drops_only_that() -> None:
    talk("one\r\x04", session_id="s")
    left, out = talk("two\rthree\r/undo\rfour\r\x04", resume="s", read_only=True)
    assert "behind 2 turns" in out
    assert words(left.id) == ["one", "two", "four"]
    assert words("s") == ["one"]


def test_another_model_is_refused_where_it_would_lose_what_was_said() -> None:
    talk("one\r\x04", session_id="s")
    left, out = talk("two\r/model x\r/fork\r\x04", resume="s", read_only=True)
    assert "(SAID_NOWHERE)\n  Go on in a copy that keeps it: /fork\n" in out
    assert words(left.id) == ["one", "two"]


def test_a_fork_that_can_t_be_opened_loses_nothing_that_is_kept_nowhere() -> None:
    talk("one\r\x04", session_id="s")
    left, out = talk("two\r/fork loop nowhere\r/fork\r\x04", resume="s", read_only=True)
    assert "(UNKNOWN_LOOP)" in out
    assert words(left.id) == ["one", "two"]
    assert sorted(sessions()) == sorted(["s", left.id])


def test_a_conversation_that_only_reads_goes_on_being_kept_when_it_is_opened_again() -> None:
    left, out = talk("one\r/model x\rtwo\r\x04", session_id="s", read_only=True)
    assert "(USAGE)" in out  # it was closed for that and opened again
    assert words(left.id) == ["one", "two"]
