"""agentmemory's real export is read, and it reads ours."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cli.memory.steps import memory
from tests.peers.agentmemory import Worker

pytestmark = [pytest.mark.peer, pytest.mark.slow]

Call = Callable[..., Any]


@pytest.fixture
def call(agentmemory: Callable[[str], Worker]) -> Call:
    """Call the worker: a path, and a body where one is posted."""
    base = f"{agentmemory('open').url}/agentmemory"

    def answer_of(path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{base}/{path}", data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    return answer_of


@pytest.fixture
def mark() -> str:
    """A word that nothing else has in it."""
    return "m" + uuid4().hex[:12]


def observe(call: Call, session: str, project: str, hook: str, data: dict[str, Any]) -> None:
    at = "2026-01-05T10:00:00.000Z"
    call("observe", {"hookType": hook, "sessionId": session, "project": project, "cwd": "/p",
                     "timestamp": at, "data": data})  # fmt: skip


def of(export: dict[str, Any], mark: str) -> dict[str, Any]:
    """Take what has the mark out of an export, without what we add."""
    sessions = [one for one in export["sessions"] if mark in one["project"]]
    ids = {one["id"] for one in sessions}
    memories = [one for one in export["memories"] if mark in one.get("project", "")]
    observations = {id_: rows for id_, rows in export["observations"].items() if id_ in ids}
    lessons = [one for one in export.get("lessons", ()) if mark in one["content"]]
    found = {"sessions": sessions, "memories": memories, "observations": observations,
             "lessons": lessons}  # fmt: skip
    plain: dict[str, Any] = json.loads(json.dumps(found), object_hook=without_ours)
    return plain


def without_ours(value: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if key not in ("dshloop", "updatedAt")}


def test_a_real_export_comes_in_and_goes_back_whole(call: Call, mark: str, tmp_path: Path) -> None:
    session = f"session-{mark}"
    call("session/start", {"sessionId": session, "project": mark, "cwd": "/p", "title": "Tax"})
    bash = {"tool_name": "bash", "tool_input": {"command": "pytest"}, "tool_output": "1 failed"}
    observe(call, session, mark, "prompt_submit", {"prompt": "why is the tax wrong"})
    observe(call, session, mark, "post_tool_use", bash)
    said = f"the tax service of {mark} rounds every single line of a bill"
    call("remember", {"content": said, "project": mark, "type": "bug", "concepts": ["tax"]})
    call("remember", {"content": f"{said} again", "project": mark, "ttlDays": 30})
    call("lessons", {"content": f"{mark}: test first"})
    export = call("export")
    file = tmp_path / "export.json"
    file.write_text(json.dumps(export))
    told = memory("import", str(file), "--json").json
    before = of(export, mark)
    assert told["added"]["memory"] >= 2
    assert told["added"]["observation"] >= 2
    assert [one["isLatest"] for one in before["memories"]] == [False, True]
    assert memory("import", str(file), "--json").json["added"]["memory"] == 0
    out = tmp_path / "out.json"
    assert memory("export", str(out), "--format", "agentmemory").code == 0
    assert of(json.loads(out.read_text()), mark) == before


def test_it_reads_what_we_export(call: Call, mark: str, tmp_path: Path) -> None:
    said = f"the cache of {mark} is cleared every night"
    assert memory("remember", said, "--project", mark, "--type", "workflow").code == 0
    data = json.dumps({"tool_name": "bash", "tool_input": "make", "tool_output": f"built {mark}"})
    words = ("--session", f"s-{mark}", "--project", mark, "--data", data)
    assert memory("observe", "post_tool_use", *words).code == 0
    file = tmp_path / "out.json"
    assert memory("export", str(file), "--format", "agentmemory").code == 0
    done = call("import", {"exportData": json.loads(file.read_text()), "strategy": "merge"})
    assert done["success"] is True
    assert (done["sessions"], done["observations"], done["memories"]) == (1, 1, 1)
    found = call("search", {"query": f"cache {mark}", "project": mark})["results"]
    assert said in [one["observation"]["narrative"] for one in found]
    file.write_text(json.dumps(call("export")))
    told = memory("import", str(file), "--json").json
    assert (told["same"]["memory"], told["same"]["observation"]) == (1, 1)
