"""Whole runs on the driver `default` against a model server, on both wires."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dshloop import plugins
from dshloop.config import Config
from dshloop.errors import (
    InsecureHttpError,
    MissingCredentialError,
    UnknownProviderError,
    UsageError,
)
from dshloop.host.rows import HostRow
from dshloop.llm.credentials import Keyring
from dshloop.llm.providers import Provider, Providers, read_providers
from dshloop.paths import Places
from dshloop.plugins import headless_driver
from dshloop.plugins.built_in import ROWS
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.conversation import Conversation, RunOptions
from dshloop.runs.talking.models import ModelAsked
from dshloop.runs.talking.run import Ended, Happened, Record, run_session
from dshloop.sessions.catalog import entries
from dshloop.transcripts.dsh import read_transcript
from tests.fake_model import FakeModel, fake_model
from tests.http.server import Said, in_turn, serving
from tests.llm.frames import sse
from tests.plugins.tool_row import NAME
from tests.running import dshloop

KEY = "this-is-the-key-of-the-tests"
KINDS: Any = pytest.mark.parametrize("kind", ["openai", "anthropic"])
TOOLS = (*ROWS, HostRow("measure", NAME))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the row of the tests found, and retries come at once."""
    monkeypatch.setitem(plugins.TABLE, NAME, "tests.plugins.tool_row:Measure")
    quickly = replace(headless_driver.RETRIES, first_ms=1)
    monkeypatch.setattr(headless_driver, "RETRIES", quickly)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def providers_at(url: str, kind: Any, places: Places) -> Providers:
    provider = Provider("local", kind, url, key_variable="LOCAL_KEY", models=("small", "large"))
    known = read_providers(Config(places.config_file, {}), Keyring({}, places.dsh_home)).known
    keys = Keyring({"LOCAL_KEY": KEY}, places.dsh_home)
    elsewhere = replace(provider, name="open", url="http://192.0.2.1")
    return Providers({"local": provider, "open": elsewhere, **known}, keys)


def options(server: FakeModel, kind: str, places: Places, **more: Any) -> RunOptions:
    providers = providers_at(server.url, kind, places)
    asked = {"cwd": Path("/home/dev"), "command": "test", "driver": "headless"}
    return RunOptions(
        **{**asked, "rows": ProfileRows(TOOLS), "providers": lambda: providers, **more}
    )


def go(places: Places, given: RunOptions, *prompts: str) -> list[Record]:
    return list(run_session(places, given, prompts or ("hello",), time.time))


def events(records: Sequence[Record], *kinds: str) -> list[Any]:
    found = [record.event for record in records if isinstance(record, Happened)]
    return [event for event in found if not kinds or event["type"] in kinds]


def ended(records: Sequence[Record]) -> Ended:
    last = records[-1]
    assert isinstance(last, Ended)
    return last


def call(word: str, **more: Any) -> dict[str, Any]:
    return {"tool": "measure", "input": {"word": word}, **more}


@KINDS
def test_a_turn_with_parallel_tool_calls(kind: str, tmp_path: Path, places: Places) -> None:
    first = [{"reasoning": "two words"}, {"text": "Measuring."}, call("ab"), call("")]
    with fake_model(tmp_path, first, [{"text": "Two letters."}]) as model:
        records = go(places, options(model, kind, places))
        asked = model.asked
    assert ended(records).outcome == "completed"
    kinds = [one["type"] for one in events(records) if one["type"] != "assistant/chunk"]
    step = ["step/start", "assistant/message", "step/end"]
    assert [one for one in kinds if one in (*step, "tool/call", "tool/result")] == [
        *step[:2], "tool/call", "tool/call", "tool/result", "tool/result", step[2], *step,
    ]  # fmt: skip
    good, bad = events(records, "tool/result")
    assert good["data"]["message"]["content"][0]["content"][0]["text"] == "2 letters"
    assert bad["data"]["error"]["name"] == "ValueError"
    message = events(records, "assistant/message")[0]["data"]
    assert [block["type"] for block in message["message"]["content"]] == [
        "reasoning", "text", "tool-call", "tool-call",
    ]  # fmt: skip
    assert message["usage"] == {"inputTokens": 5, "outputTokens": 3}
    assert _results(kind, asked[1]["body"]) == ["2 letters", "Error: there is no word"]
    assert asked[0]["body"]["model"] == "small"


def _results(kind: str, body: Any) -> list[str]:
    """Give what a request says that tools gave back."""
    if kind == "openai":
        return [one["content"] for one in body["messages"] if one["role"] == "tool"]
    return [
        block["content"]
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def test_what_is_logged_is_a_log_that_dsh_can_read(tmp_path: Path, places: Places) -> None:
    first = [{"reasoning": "hm"}, call("ab")]
    with fake_model(tmp_path, first, [{"text": "Two."}]) as model:
        go(places, options(model, "anthropic", places))
    (entry,) = entries(places)
    transcript = read_transcript(entry.path)
    assert not list(transcript.closers())
    message = next(one for one in transcript.events if one["type"] == "assistant/message")
    assert message["data"]["message"]["source"]["replayState"] == {
        "response": {"kind": "messages", "version": 1, "model": "small"},
        "blocks": [{"type": "reasoning"}, {"type": "tool-call"}],
    }
    everything = b"".join(path.read_bytes() for path in places.data.rglob("*") if path.is_file())
    assert KEY.encode() not in everything


@KINDS
def test_a_limit_is_waited_out_within_the_step(kind: str, tmp_path: Path, places: Places) -> None:
    limit = {"error": 429, "type": "rate_limit_error", "headers": {"retry-after-ms": "20"}}
    conflict = {"error": 409, "type": "conflict"}
    with fake_model(tmp_path, [limit], [conflict], [{"text": "At last."}]) as model:
        records = go(places, options(model, kind, places))
    assert ended(records).outcome == "completed"
    kinds = [one["type"] for one in events(records) if one["type"] != "assistant/chunk"]
    begin, end = kinds.index("step/start"), kinds.index("step/end")
    wanted = ["llm/retry", "llm/retry-started"] * 2
    assert [one for one in kinds[begin:end] if one.startswith("llm/")] == wanted
    first, second = events(records, "llm/retry")
    assert first["data"]["failure"]["code"] == "RATE_LIMIT"
    assert first["data"]["failure"]["providerRetryAfterMs"] == 20
    assert first["data"]["delayMs"] >= 20
    assert second["data"]["failure"]["code"] == "HTTP_409"


def test_a_server_that_asks_for_an_hour_is_not_waited_for(tmp_path: Path, places: Places) -> None:
    limit = {"error": 429, "type": "rate_limit_error", "headers": {"retry-after": "3600"}}
    with fake_model(tmp_path, [limit]) as model:
        end = ended(go(places, options(model, "openai", places)))
        assert len(model.asked) == 1
    assert end.failure is not None
    assert (end.failure["code"], end.failure["providerRetryAfterMs"]) == ("RATE_LIMIT", 3_600_000)


@KINDS
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"error": 401, "type": "authentication_error", "message": f"no {KEY}"}, "AUTH"),
        ({"error": 400, "type": "invalid_request_error",
          "message": "prompt is too long"}, "CONTEXT_WINDOW_EXCEEDED"),
        ({"drop": True}, "STREAM_CLOSED"),
    ],
)  # fmt: skip
def test_what_no_retry_mends_ends_the_turn(
    kind: str, answer: dict[str, Any], code: str, tmp_path: Path, places: Places
) -> None:
    with fake_model(tmp_path, [answer]) as model:
        records = go(places, options(model, kind, places))
        assert len(model.asked) == 1
    end = ended(records)
    assert (end.outcome, end.exit_code) == ("error", 1)
    assert end.failure is not None
    assert end.failure["code"] == code
    assert KEY not in str(records)


def test_a_dropped_stream_keeps_the_chunks_of_what_was_said(tmp_path: Path, places: Places) -> None:
    with fake_model(tmp_path, [{"text": "half a"}, {"drop": True}]) as model:
        records = go(places, options(model, "openai", places))
    chunks = [one["data"]["chunk"] for one in events(records, "assistant/chunk")]
    assert [one.get("text") for one in chunks if one["type"] == "text-delta"] == ["half", " a"]
    assert chunks[-1]["reason"]["failure"]["code"] == "STREAM_CLOSED"
    assert events(records, "assistant/message") == []


@KINDS
def test_an_answer_that_was_cut_runs_no_tools(kind: str, tmp_path: Path, places: Places) -> None:
    cut = [{"text": "I am"}, call("ab"), {"stop": "max_tokens"}]
    with fake_model(tmp_path, cut, [{"text": "fine"}]) as model:
        records = go(places, options(model, kind, places))
        assert ended(records).outcome == "max-tokens"
        assert events(records, "tool/call") == []
        again = go(places, options(model, kind, places, driver=None, resume="last"))
        assert ended(again).outcome == "completed"
        said = str(model.asked[1]["body"]["messages"])
    assert "I am" in said
    assert "measure" not in said


def test_a_turn_that_is_cancelled_keeps_the_text_so_far(tmp_path: Path, places: Places) -> None:
    answer = [{"text": "so far"}, {"sleep": 20}, {"text": "too late"}]

    async def cancel_in_the_middle(given: RunOptions) -> Sequence[Any]:
        conversation = await Conversation.open(places, given, time.time)
        conversation.say("hello")
        found = []
        async for event in conversation.events():
            found.append(event)
            if event["type"] == "assistant/chunk" and event["data"]["chunk"].get("text") == " far":
                conversation.cancel()
        await conversation.close()
        return found

    with fake_model(tmp_path, answer) as model:
        found = asyncio.run(cancel_in_the_middle(options(model, "openai", places)))
    message = next(one["data"] for one in found if one["type"] == "assistant/message")
    assert message["interrupted"] is True
    assert message["message"]["content"] == [{"type": "text", "text": "so far"}]
    assert found[-1]["data"]["reason"] == {"kind": "aborted", "reason": {"kind": "user"}}


def test_who_answers_stays_with_the_session_and_can_be_named(
    tmp_path: Path, places: Places
) -> None:
    with fake_model(tmp_path, [{"text": "Hi."}]) as model:
        named = ModelAsked("local", "large", max_tokens=99, effort="low")
        go(places, options(model, "openai", places, model=named))
        go(places, options(model, "openai", places, driver=None, resume="last"))
        other = ModelAsked(model="small")
        go(places, options(model, "openai", places, resume="last", model=other))
        bodies = [one["body"] for one in model.asked]
    assert [body["model"] for body in bodies] == ["large", "large", "small"]
    assert (bodies[0]["max_tokens"], bodies[0]["reasoning_effort"]) == (99, "low")


def test_what_cannot_answer_is_refused_before_anything_is_written(
    tmp_path: Path, places: Places
) -> None:
    with fake_model(tmp_path, [{"text": "Hi."}]) as model:
        for asked, driver, error in (
            (ModelAsked("deepseek"), "headless", MissingCredentialError),
            (ModelAsked("nobody"), "headless", UnknownProviderError),
            (ModelAsked("open"), "headless", InsecureHttpError),
            (ModelAsked("local"), "fake", UsageError),
            (ModelAsked(effort="high"), "ping", UsageError),
        ):
            with pytest.raises(error):
                go(places, options(model, "openai", places, model=asked, driver=driver))
        assert model.asked == []
    assert list(entries(places)) == []


def test_ping_answers_as_before_where_models_are_set_up(tmp_path: Path, places: Places) -> None:
    with fake_model(tmp_path, [{"text": "Hi."}]) as model:
        records = go(places, options(model, "openai", places, driver="ping"))
        assert model.asked == []
    assert ended(records).outcome == "completed"


def test_the_command_line_asks_what_the_environment_names(tmp_path: Path) -> None:
    with fake_model(tmp_path, [{"text": "hello"}]) as model:
        variables = {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": model.url}
        ran = dshloop("session", "run", "hello", variables=variables)
        (asked,) = model.asked
    assert (ran.code, ran.out) == (0, "hello\n")
    assert asked["path"] == "/v1/messages"
    assert asked["body"]["model"] == "deepseek-flash"
    assert asked["body"]["max_tokens"] == 256_000


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_in_a_real_process_keeps_what_was_said(tmp_path: Path) -> None:
    config = Path(os.environ["DSHLOOP_CONFIG"])
    config.mkdir()
    never = threading.Event()
    said = sse({"choices": [{"delta": {"content": "so far"}}]})
    answer = Said(headers={"Content-Type": "text/event-stream"}, pieces=[said], wait=never)
    with serving(in_turn(answer)) as server:
        text = f"providers:\n  local: {{kind: openai, url: '{server.url}', models: [m]}}\n"
        (config / "config.yml").write_text(text)
        command = [sys.executable, "-m", "dshloop", "session", "run", "hello"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout is not None
            assert running.stdout.read(6) == b"so far"
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=30)
            never.set()
    assert (running.returncode, out.strip()) == (130, b"")
    assert b"Traceback" not in err
    shown = dshloop("session", "show", "last", "--json").json
    assert shown["open"] is False
