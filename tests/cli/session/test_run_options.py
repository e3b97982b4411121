"""What may be asked of a run besides its prompt: bounds, copies, files that come and go with it."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers.fake import FAKE_REPLY
from tests.fake_model import fake_model
from tests.running import Ran, dshloop
from tests.transcripts.logs import HEADER, turn, write

FAKE = ("session", "run", "--driver", "fake")


def png(width: int = 3, height: int = 2) -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\0\0\0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")


def script(folder: Path, text: str) -> str:
    path = folder / "script.yml"
    path.write_text(text)
    return str(path)


def events(ran: Ran, kind: str) -> list[Any]:
    found = [record["event"] for record in ran.lines if record["type"] == "event"]
    return [event["data"] for event in found if event["type"] == kind]


def said(name: str) -> list[str]:
    found = dshloop("session", "show", name, "--json").json["events"]
    return [e["data"]["content"][0]["text"] for e in found if e["type"] == "user/message"]


# --- copies --------------------------------------------------------------------------------------


def test_a_fork_goes_on_and_the_other_stays() -> None:
    dshloop(*FAKE, "--session-id", "first", "one")
    ran = dshloop("session", "run", "--resume", "first", "--fork", "--json", "two")
    assert ran.code == 0
    new = ran.lines[0]["id"]
    assert new != "first"
    assert (said("first"), said(new)) == (["one"], ["one", "two"])
    header = dshloop("session", "show", new, "--json").json["header"]
    assert header["parentSession"] == "first"
    assert dshloop("session", "fsck", new).code == 0
    again = dshloop("session", "run", "--resume", new, "three")
    assert (again.code, said(new)) == (0, ["one", "two", "three"])


def test_a_fork_can_be_named_and_a_taken_name_is_refused() -> None:
    dshloop(*FAKE, "--session-id", "first", "one")
    words = ("session", "run", "--resume", "first", "--fork", "--json", "two")
    assert dshloop(*words, "--session-id", "second").lines[0]["id"] == "second"
    taken = dshloop(*words, "--session-id", "first")
    assert (taken.code, taken.error["code"]) == (4, "SESSION_EXISTS")


def test_a_fork_that_is_refused_leaves_nothing(isolated: Path) -> None:
    dshloop(*FAKE, "--session-id", "first", "one")
    before = sorted(isolated.rglob("*"))
    ran = dshloop("session", "run", "--resume", "first", "--fork", "--driver", "ping", "two")
    assert ran.code == 4
    assert sorted(isolated.rglob("*")) == before


def test_a_session_of_dsh_is_forked(isolated: Path) -> None:
    folder = isolated / "dsh" / "sessions" / "--home-dev--" / "s-1"
    folder.mkdir(parents=True)
    log = write(folder / "session.jsonl", turn(1, 0, "hello dsh"), HEADER)
    before = log.read_bytes()
    ran = dshloop(*FAKE, "--resume", "s-1", "--fork", "--json", "and ours")
    assert ran.code == 0
    assert said(ran.lines[0]["id"]) == ["hello dsh", "and ours"]
    assert log.read_bytes() == before


# --- read-only -----------------------------------------------------------------------------------


def test_read_only_refuses_tools_that_change_something(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    text = """
turns:
- calls:
  - {name: edit, arguments: {path: a.txt, old: before, new: after}}
  - {name: remember, arguments: {content: a thing}}
  - {name: read, arguments: {path: a.txt}}
- done
"""
    words = ("--script", script(tmp_path, text), "--read-only", "--cwd", str(tmp_path), "--json")
    ran = dshloop("session", "run", *words, "change it")
    assert ran.code == 0
    failed = ["error" in data for data in events(ran, "tool/result")]
    assert failed == [True, True, False]
    assert (tmp_path / "a.txt").read_text() == "before"
    (header,) = events(ran, "request/header")
    offered = {tool["name"] for tool in header["header"]["tools"]}
    assert offered == {"list", "read", "recall", "search"}
    assert events(ran, "sandbox/mode") == [{"mode": "read-only"}]


def test_read_only_leaves_a_resumed_session_as_it_is(isolated: Path) -> None:
    dshloop(*FAKE, "--session-id", "first", "one")
    before = {p: p.read_bytes() for p in isolated.rglob("*") if p.is_file()}
    ran = dshloop("session", "run", "--resume", "first", "--read-only", "two")
    assert (ran.code, ran.out) == (0, FAKE_REPLY + "\n")
    assert 'session "first" stays as it is' in ran.err
    assert {p: p.read_bytes() for p in isolated.rglob("*") if p.is_file()} == before
    kept = dshloop("session", "run", "--resume", "first", "--read-only", "--fork", "--json", "two")
    assert said(kept.lines[0]["id"]) == ["one", "two"]


@pytest.mark.parametrize("driver", ["dsh", "acp"])
def test_a_driver_with_its_own_tools_is_not_read_only(driver: str, isolated: Path) -> None:
    ran = dshloop("session", "run", "--driver", driver, "--read-only", "--json", "x")
    assert (ran.code, ran.error["code"]) == (4, "DRIVER_NOT_READ_ONLY")
    assert not (isolated / "data" / "sessions").exists()


# --- bounds --------------------------------------------------------------------------------------


def test_no_more_turns_than_asked_for() -> None:
    words = (*FAKE, "--input-format", "lines", "--max-turns", "2")
    ran = dshloop(*words, "--json", stdin="one\ntwo\nthree\n")
    last = ran.lines[-1]
    assert (ran.code, last["outcome"], last["turns"]) == (1, "max-turns", 2)
    assert last["failure"]["code"] == "MAX_TURNS"
    assert said(last["id"]) == ["one", "two"]
    enough = dshloop(*words, stdin="one\ntwo\n")
    assert (enough.code, enough.out) == (0, (FAKE_REPLY + "\n") * 2)


def test_a_turn_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    text = "turns:\n- {text: it would come, delay: 60}\n"
    words = ("--script", script(tmp_path, text), "--timeout", "0.2", "--json")
    ran = dshloop("session", "run", *words, "quick")
    last = ran.lines[-1]
    assert (ran.code, last["outcome"], last["failure"]["code"]) == (1, "timeout", "TIMEOUT")
    (end,) = events(ran, "turn/end")
    assert end["reason"]["kind"] == "aborted"
    assert "--timeout" in end["reason"]["reason"]["reason"]
    assert dshloop("session", "show", "last", "--json").json["open"] is False


def test_a_turn_in_time_is_not_ended() -> None:
    assert dshloop(*FAKE, "--timeout", "60", "quick").code == 0


# --- what models are told ------------------------------------------------------------------------


def test_a_seed_fixes_the_draws_and_is_recorded(tmp_path: Path) -> None:
    path = script(tmp_path, "turns:\n- text: a text that is long enough to be drawn in pieces\n")

    def pieces(seed: str) -> list[str]:
        ran = dshloop("session", "run", "--script", path, "--seed", seed, "--json", "x")
        (header,) = events(ran, "request/header")
        assert header["header"]["config"]["seed"] == int(seed)
        chunks = (data["chunk"] for data in events(ran, "assistant/chunk"))
        return [chunk["text"] for chunk in chunks if chunk["type"] == "text-delta"]

    assert pieces("1") == pieces("1") != pieces("2")
    kept = dshloop("session", "export", "last", "--to", "dsh", "--out", str(tmp_path / "v4.jsonl"))
    assert kept.code == 0
    assert 'seed"' not in (tmp_path / "v4.jsonl").read_text()


def test_a_provider_is_sent_the_seed_or_refused(tmp_path: Path) -> None:
    with fake_model(tmp_path, [{"text": "yes"}], [{"text": "yes"}]) as model:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{model.url}/v1"}
        words = ("session", "run", "--provider", "openai", "--seed", "7", "x")
        dshloop(*words, variables=variables)
        assert model.asked[0]["body"]["seed"] == 7
    ran = dshloop(
        "session", "run", "--provider", "anthropic", "--seed", "7", "--json", "x",
        variables={"ANTHROPIC_API_KEY": "k"},
    )  # fmt: skip
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


def test_more_of_the_system_prompt_typed_or_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("Be brief.\n")

    def system(text: str) -> str:
        ran = dshloop(*FAKE, "--system", text, "--json", "x", cwd=tmp_path)
        (header,) = events(ran, "request/header")
        found: str = header["header"]["system"]
        return found

    assert system("Speak Latin.").endswith("Speak Latin.")
    assert system("@rules.md").rstrip().endswith("Be brief.")
    gone = dshloop(*FAKE, "--system", "@nowhere", "--json", "x", cwd=tmp_path)
    assert (gone.code, gone.error["code"]) == (1, "UNREADABLE_FILE")
    other = dshloop("session", "run", "--driver", "dsh", "--system", "x", "--json", "x")
    assert (other.code, other.error["details"]["option"]) == (2, "--system")


@pytest.mark.parametrize("content", [b"\0\1\2", b"x" * 1_000_001])
def test_a_system_prompt_is_a_text_of_bearable_size(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rules").write_bytes(content)
    ran = dshloop(*FAKE, "--system", "@rules", "--json", "x", cwd=tmp_path)
    assert (ran.code, ran.error["details"]["option"]) == (2, "--system")


def test_a_session_stays_in_its_folder_and_a_copy_may_leave_it(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    dshloop(*FAKE, "--session-id", "s", "one", cwd=here)
    words = ("session", "run", "--resume", "s", "--cwd", str(there), "--json")
    for more in ((), ("--read-only",)):
        moved = dshloop(*words, *more, "two", cwd=here)
        assert (moved.code, moved.error["details"]["option"]) == (2, "--cwd")
    assert said("s") == ["one"]
    copy = dshloop(*words, "--fork", "two", cwd=here)
    assert (copy.code, copy.lines[0]["cwd"]) == (0, str(there))
    assert dshloop("session", "run", "--resume", "s", "--cwd", "here", "x", cwd=tmp_path).code == 0


# --- attachments ---------------------------------------------------------------------------------


def test_a_text_is_a_marked_part_of_the_first_prompt(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("some ``` fences\n")
    words = (*FAKE, "--attach", "notes.md", "--input-format", "lines")
    ran = dshloop(*words, stdin="read it\nand now\n", cwd=tmp_path)
    assert ran.code == 0
    first, second = said(dshloop("session", "list", "--json", cwd=tmp_path).json[0]["id"])
    assert first == "read it\n\nAttached file notes.md:\n\n````\nsome ``` fences\n````"
    assert second == "and now"


def test_an_image_is_kept_and_named_by_its_block(tmp_path: Path, isolated: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    ran = dshloop(*FAKE, "--attach", "a.png", "--json", "what is it?", cwd=tmp_path)
    (message,) = events(ran, "user/message")
    text, image = message["content"]
    assert text["text"] == "what is it?"
    attachment = image["attachment"]
    assert {k: v for k, v in attachment.items() if k != "attachmentId"} == {
        "mediaType": "image/png", "bytes": len(png()), "width": 3, "height": 2, "name": "a.png",
    }  # fmt: skip
    kept = isolated / "data" / "attachments" / attachment["attachmentId"]
    assert kept.read_bytes() == png()
    facts = json.loads(kept.with_name(kept.name + ".json").read_text())
    assert (facts["mediaType"], facts["bytes"]) == ("image/png", len(png()))


def test_an_image_reaches_a_model_in_every_turn_of_its_session(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    with fake_model(tmp_path, *([{"text": "yes"}] for _ in range(4))) as model:
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{model.url}/v1"}
        words = ("--provider", "openai", "--attach", "a.png", "--session-id", "s", "look")
        dshloop("session", "run", *words, cwd=tmp_path, variables=variables)
        dshloop("session", "run", "--resume", "s", "again", cwd=tmp_path, variables=variables)
        for asked in (model.asked[0], model.asked[-1]):
            user = next(m for m in asked["body"]["messages"] if m["role"] == "user")
            assert user["content"][0] == {"type": "text", "text": "look"}
            assert user["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["--driver", "dsh"], 4, "IMAGES_UNSUPPORTED"),
        (["--driver", "acp"], 4, "IMAGES_UNSUPPORTED"),
        (["--provider", "deepseek"], 4, "IMAGES_UNSUPPORTED"),
    ],
)
def test_what_takes_no_images_refuses_them(
    words: list[str], code: int, name: str, tmp_path: Path, isolated: Path
) -> None:
    (tmp_path / "a.png").write_bytes(png())
    variables = {"DEEPSEEK_API_KEY": "k"}
    words = ["session", "run", *words, "--attach", "a.png", "--json", "x"]
    ran = dshloop(*words, cwd=tmp_path, variables=variables)
    assert (ran.code, ran.error["code"]) == (code, name)
    assert not (isolated / "data").exists()


@pytest.mark.parametrize(
    ("content", "code", "name"),
    [
        (None, 1, "UNREADABLE_FILE"),
        (b"", 2, "ATTACHMENT_UNSUPPORTED"),
        (b"\x7fELF\0\0", 2, "ATTACHMENT_UNSUPPORTED"),
        (b"\xff\xfe\xfd text", 2, "ATTACHMENT_UNSUPPORTED"),
        (png()[:20], 2, "ATTACHMENT_UNSUPPORTED"),
        (b"x" * 1_000_001, 2, "ATTACHMENT_TOO_LARGE"),
        (png() + b"x" * 10_000_000, 2, "ATTACHMENT_TOO_LARGE"),
        (png()[:45], 2, "ATTACHMENT_UNSUPPORTED"),
    ],
)
def test_files_that_cannot_be_attached(
    content: bytes | None, code: int, name: str, tmp_path: Path, isolated: Path
) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    ran = dshloop(*FAKE, "--attach", "file", "--json", "x", cwd=tmp_path)
    assert (ran.code, ran.error["code"]) == (code, name)
    assert not (isolated / "data").exists()


# --- transcript ----------------------------------------------------------------------------------


def test_a_transcript_is_readable_or_a_log(tmp_path: Path) -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    for name in ("copy.md", "copy.jsonl"):
        ran = dshloop("session", "run", "--resume", "s", "--transcript", name, "two", cwd=tmp_path)
        assert ran.code == 0
    text = (tmp_path / "copy.md").read_text()
    assert "you: one" in text
    assert f"assistant (fake): {FAKE_REPLY}" in text
    copy = tmp_path / "copy.jsonl"
    assert dshloop("session", "fsck", str(copy)).code == 0
    kept = dshloop("session", "show", "s", "--json").json["events"]
    assert dshloop("session", "show", str(copy), "--json").json["events"] == kept
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_transcript_never_replaces_a_file(tmp_path: Path, isolated: Path) -> None:
    (tmp_path / "copy.md").write_text("mine")
    ran = dshloop(*FAKE, "--transcript", "copy.md", "--json", "x", cwd=tmp_path)
    assert (ran.code, ran.error["code"]) == (4, "OUTPUT_EXISTS")
    assert (tmp_path / "copy.md").read_text() == "mine"
    assert not (isolated / "data").exists()


# --- as an agent ---------------------------------------------------------------------------------

PATCH = """
- insert:
    - id: dock
      name: dsh-loop-dock
      config:
        agents:
          - {id: planner, driver: fake-driver, sessionId: plans}
          - {id: elsewhere, driver: fake-driver, cwd: nowhere}
    - {id: engine, name: dsh-loop-dock/headless-driver, config: {fakeDriver: true}}
"""


@pytest.fixture
def profile(isolated: Path) -> str:
    assert dshloop("profile", "create", "web", "--template", "empty").code == 0
    (isolated / "dsh" / "profiles" / "web" / "cordis.patch.yml").write_text(PATCH)
    return "web"


def test_a_run_as_an_agent_of_the_profile(profile: str, tmp_path: Path) -> None:
    words = ("session", "run", "--profile", profile, "--agent", "planner", "--json")
    first = dshloop(*words, "one")
    assert (first.code, first.lines[0]["id"], first.lines[0]["driver"]) == (
        0, "plans", "fake-driver",
    )  # fmt: skip
    again = dshloop(*words, "two")
    assert again.lines[0]["resumed"] is True
    assert said("plans") == ["one", "two"]
    unknown = dshloop("session", "run", "--profile", profile, "--agent", "x", "--json", "one")
    assert (unknown.code, unknown.error["code"]) == (3, "AGENT_NOT_FOUND")
    lost = dshloop("session", "run", "--profile", profile, "--agent", "elsewhere", "--json", "one")
    assert (lost.code, lost.error["code"]) == (2, "USAGE")
    moved = dshloop(
        "session", "run", "--profile", profile, "--agent", "elsewhere", "--cwd", str(tmp_path), "x"
    )
    assert moved.code == 0


def test_a_copy_of_an_agents_session_is_gone_on_with(profile: str) -> None:
    words = ("session", "run", "--profile", profile, "--agent", "planner", "--json")
    early = dshloop(*words, "--fork", "one")
    assert (early.code, early.error["details"]["option"]) == (2, "--fork")
    dshloop(*words, "one")
    ran = dshloop(*words, "--fork", "--session-id", "rival", "two")
    assert (ran.code, ran.lines[0]["id"]) == (0, "rival")
    assert (said("plans"), said("rival")) == (["one"], ["one", "two"])


# --- what makes no sense -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--fork"], "--fork"),
        (["--force-rebind"], "--force-rebind"),
        (["--resume", "a", "--session-id", "b"], "--session-id"),
        (["--resume", "a", "--preset", "b"], "--preset"),
        (["--resume", "a", "--fork", "--force-rebind"], "--force-rebind"),
        (["--resume", "a", "--read-only", "--force-rebind"], "--force-rebind"),
        (["--agent", "a", "--resume", "b"], "--resume"),
        (["--agent", "a", "--session-id", "b"], "--session-id"),
        (["--read-only", "--allow", "edit"], "--allow"),
        (["--timeout", "0"], "--timeout"),
        (["--timeout", "nan"], "--timeout"),
        (["--timeout", "inf"], "--timeout"),
        (["--input-format", "lines"], "--input-format"),
        (["--system", " "], "--system"),
        (["--driver", "fake", "--max-tokens", "5"], "--max-tokens"),
        (["--driver", "dsh", "--seed", "5"], "--seed"),
        (["--driver", "ping", "--script", "x"], "--script"),
        (["--driver", "fake", "--command", "x"], "--command"),
    ],
)
def test_options_that_make_no_sense(words: list[str], option: str, isolated: Path) -> None:
    ran = dshloop("session", "run", *words, "--json", "hello")
    assert (ran.code, ran.out, ran.error["code"]) == (2, "", "USAGE")
    assert ran.error["details"]["option"] == option
    assert option in ran.error["message"]
    assert not (isolated / "data").exists()


@pytest.mark.parametrize("words", [["--max-turns", "0"], ["--max-tokens", "0"], ["--seed", "x"]])
def test_numbers_that_are_none(words: list[str]) -> None:
    assert dshloop(*FAKE, *words, "hello").code == 2


# --- ways on -------------------------------------------------------------------------------------


def test_a_session_of_dsh_offers_the_ways_on(isolated: Path) -> None:
    folder = isolated / "dsh" / "sessions" / "--home-dev--" / "s-1"
    folder.mkdir(parents=True)
    write(folder / "session.jsonl", turn(1, 0), HEADER)
    ran = dshloop(*FAKE, "--resume", "s-1", "--json", "x")
    assert (ran.code, ran.error["code"]) == (4, "SESSION_READ_ONLY")
    assert "dshloop session run --resume s-1 --fork" in ran.error["hint"]
    assert dshloop(*FAKE, "--resume", "s-1", "--read-only", "x").code == 0


def test_a_session_that_is_open_elsewhere_offers_the_ways_on(isolated: Path) -> None:
    from dshloop.locks import hold
    from dshloop.sessions.naming import LOCK_NAME

    dshloop(*FAKE, "--session-id", "s", "one")
    (log,) = (isolated / "data" / "sessions").glob("*/s/session.jsonl")
    with hold(log.with_name(LOCK_NAME), command="another one", wait=0.0, what="session s"):
        refused = dshloop("session", "run", "--resume", "s", "--json", "two")
        assert (refused.code, refused.error["code"]) == (4, "LOCK_HELD")
        assert "--resume s --fork" in refused.error["hint"]
        assert "--resume s --read-only" in refused.error["hint"]
        assert dshloop("session", "run", "--resume", "s", "--read-only", "two").code == 0
        assert dshloop("session", "run", "--resume", "s", "--fork", "two").code == 0


def test_a_fork_says_that_an_open_turn_is_left_out(tmp_path: Path) -> None:
    dshloop(*FAKE, "--session-id", "s", "one")
    ended = dshloop("session", "show", "s", "--json").json
    open_turn = turn(2, len(ended["events"]), "lost")[:-1]
    log = Path(ended["path"])
    log.write_bytes(log.read_bytes() + b"".join(json.dumps(e).encode() + b"\n" for e in open_turn))
    ran = dshloop("session", "run", "--resume", "s", "--fork", "two")
    assert ran.code == 0
    assert 'session "s" has a turn that is not over: its 4 events were left out' in ran.err
    assert said(ran.err.splitlines()[-1].removeprefix("session ")) == ["one", "two"]
