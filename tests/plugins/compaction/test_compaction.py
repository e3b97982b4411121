"""Compactions in whole runs: events, the next request, failures, resumed sessions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dshloop.sessions.surface import Surface
from tests.fake_model import FakeModel, fake_model
from tests.running import Ran, dshloop

KEY = "this-is-the-key-of-the-tests"
LONG = "A long story about the harbour. " * 120  # about 1300 tokens


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def configured(model: FakeModel, window: int) -> None:
    config = Path(os.environ["DSHLOOP_CONFIG"])
    config.mkdir(exist_ok=True)
    entry = {"kind": "openai", "url": model.url, "models": ["small"], "context_window": window}
    (config / "config.yml").write_text(json.dumps({"providers": {"local": entry}}))


def run(work: Path, prompts: list[str], *words: str) -> Ran:
    return dshloop(
        "session", "run", "--provider", "local", "--input-format", "lines", "--json", *words,
        stdin="".join(f"{prompt}\n" for prompt in prompts), cwd=work,
    )  # fmt: skip


def events_of(work: Path) -> list[Any]:
    (log,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()[1:]]


def of(events: list[Any], kind: str) -> list[Any]:
    return [event for event in events if event["type"] == kind]


def said(text: str, used: int | None = None) -> list[dict[str, Any]]:
    return [{"text": text}, *([] if used is None else [{"usage": [used, 5]}])]


def require_invariants(events: list[Any]) -> None:
    """What dsh checks of a replacement: bounds on the surface, sources with all it hides."""
    surface = Surface()
    for event in events:
        operation = event.get("surfaceOp")
        if isinstance(operation, dict):
            seqs = [node["seq"] for node in surface.nodes]
            first, last = seqs.index(operation["start"]), seqs.index(operation["end"])
            hidden = seqs[first : last + 1]
            assert set(hidden) <= set(event["sourceEventSeqs"])
            assert all(seq < event["seq"] for seq in event["sourceEventSeqs"])
        surface.see(event)


def test_a_history_near_the_window_gives_way_to_a_summary(tmp_path: Path, work: Path) -> None:
    answers = [said("One.", 100), said("Two.", 2400), said("Three.", 50)]
    with fake_model(tmp_path, *answers) as model:
        configured(model, 3000)
        ran = run(work, [LONG, "and then?", "the end?"], "--session-id", "s")
        requests = model.asked
    assert ran.code == 0, ran.err
    events = events_of(work)
    kinds = [event["type"] for event in events if event["type"].startswith("compaction/")]
    assert kinds == ["compaction/start", "compaction/summary", "compaction/end"]
    (summary,) = of(events, "compaction/summary")
    data = summary["data"]
    assert set(data) == {
        "compactionId", "summary", "shadowedRange", "shadowedSeqs", "shadowedTokenCount",
        "provider", "model", "maxTokens", "usage",
    }  # fmt: skip
    assert data["summary"] == [{"type": "text", "text": "side"}]
    assert data["shadowedRange"] == {
        "start": data["shadowedSeqs"][0],
        "end": data["shadowedSeqs"][-1],
    }
    (end,) = of(events, "compaction/end")
    assert end["data"] == {"compactionId": data["compactionId"], "turn": 3}
    require_invariants(events)
    # The request for the summary holds what was hidden; the one after it the summary and the tail.
    asked, after = requests[-2]["body"]["messages"], requests[-1]["body"]["messages"]
    assert "A long story" in str(asked)
    assert "A long story" not in str(after)
    assert "<conversation-summary>" in str(after)
    assert "the end?" in str(after[-1])
    assert "Two." in str(after)
    assert dshloop("session", "fsck", "s", cwd=work).code == 0


def test_a_compacted_session_resumes_with_summary_and_tail(tmp_path: Path, work: Path) -> None:
    with fake_model(tmp_path, said("One.", 100), said("Two.", 2400), said("Three.", 50)) as model:
        configured(model, 3000)
        assert run(work, [LONG, "and then?", "the end?"], "--session-id", "s").code == 0
        assert run(work, ["once more"], "--resume", "s").code == 0
        after = model.asked[-1]["body"]["messages"]
    assert str(after).count("<conversation-summary>") == 1
    assert "A long story" not in str(after)
    assert all(text in str(after) for text in ("Two.", "the end?", "Three.", "once more"))
    assert dshloop("session", "fsck", "s", cwd=work).code == 0


def test_a_summary_is_summarised_again(tmp_path: Path, work: Path) -> None:
    answers = [said(f"{LONG} {number}", 2900) for number in range(6)]
    with fake_model(tmp_path, *answers) as model:
        configured(model, 3000)
        ran = run(work, [f"part {number}" for number in range(6)], "--session-id", "s")
        last = model.asked[-1]["body"]["messages"]
    assert ran.code == 0, ran.err
    events = events_of(work)
    assert len(of(events, "compaction/summary")) >= 3
    require_invariants(events)
    assert str(last).count("<conversation-summary>") == 1
    assert dshloop("session", "fsck", "s", cwd=work).code == 0


def test_a_failing_summary_leaves_the_history_as_it_was(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.peers.fake_llm import State

    answer: Any = State.answer

    def failing(self: Any, path: str, headers: Any, body: Any) -> Any:
        n, items = answer(self, path, headers, body)
        return (
            (n, [{"error": 400, "message": "no summary today"}])
            if not body.get("tools")
            else (n, items)
        )

    monkeypatch.setattr(State, "answer", failing)
    with fake_model(tmp_path, said("One.", 100), said("Two.", 2400), said("Three.", 50)) as model:
        configured(model, 3000)
        ran = run(work, [LONG, "and then?", "the end?"], "--session-id", "s")
        after = model.asked[-1]["body"]["messages"]
    assert ran.code == 0, ran.err
    events = events_of(work)
    (end,) = of(events, "compaction/end")
    assert "no summary today" in end["data"]["error"]["message"]
    assert end["data"]["error"]["code"] == "INVALID_REQUEST"
    assert of(events, "compaction/summary") == []
    assert "A long story" in str(after)
    assert dshloop("session", "fsck", "s", cwd=work).code == 0


def test_a_request_that_is_too_long_is_made_again_with_a_summary(
    tmp_path: Path, work: Path
) -> None:
    message = "This model's maximum context length is 10 tokens"
    long = [{"error": 400, "type": "invalid_request_error", "message": message}]
    with fake_model(tmp_path, said("One."), said("Two."), long, said("Three.")) as model:
        configured(model, 900_000)
        ran = run(work, [LONG, LONG, "the end?"], "--session-id", "s")
    assert ran.code == 0, ran.err
    events = events_of(work)
    assert len(of(events, "compaction/summary")) == 1
    require_invariants(events)
    assert dshloop("session", "fsck", "s", cwd=work).code == 0


def test_a_replay_compacts_where_the_session_did(tmp_path: Path, work: Path) -> None:
    silent = [{"text": "One."}, {"usage": [0, 0]}]  # so lengths count, those of tools too
    with fake_model(tmp_path, silent) as model:
        configured(model, 600)
        assert run(work, ["x" * 400, "and then?"], "--session-id", "s").code == 0
    assert len(of(events_of(work), "compaction/summary")) == 1
    ran = dshloop("session", "replay", "s", "--recorded", "--assert", "--json", cwd=work)
    assert (ran.code, ran.json["differences"]) == (0, [])


def test_a_replay_goes_on_where_a_summary_failed(tmp_path: Path, work: Path) -> None:
    silent = [{"text": "One."}, {"usage": [0, 0]}]
    with fake_model(tmp_path, silent) as model:
        configured(model, 600)
        assert run(work, ["x" * 400], "--session-id", "s").code == 0
    gone = run(work, ["nobody answers", "nor here"], "--resume", "s", "--timeout", "0.2")
    assert gone.code == 1
    with fake_model(tmp_path, silent) as model:
        configured(model, 600)
        assert run(work, ["and then?"], "--resume", "s").code == 0
    ends = of(events_of(work), "compaction/end")
    assert [bool(end["data"].get("error")) for end in ends] == [True, False]
    ran = dshloop("session", "replay", "s", "--recorded", "--assert", "--json", cwd=work)
    assert (ran.code, ran.json["differences"]) == (0, [])
