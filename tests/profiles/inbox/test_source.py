from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dshloop.dsh import Program
from dshloop.paths import Places
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.inbox.cache import read_record
from dshloop.profiles.inbox.source import Inbox, inbox_of, user_inbox
from dshloop.profiles.layout import find_profile
from dshloop.profiles.stack import Stack, stack_layers
from tests.profiles.inbox.test_installation import package as dsh_package
from tests.profiles.packages import contents, package, places_in, profile_in
from tests.profiles.stand_in_dsh import runs, write_bundles, write_dsh
from tests.running import dshloop, process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts with #! need POSIX")

SCOPE = "@deepseek-ai/"
BASE = """
- insert:
    - {id: timer, name: '@s/timer'}
    - {id: tools, disabled: !!js "!ctx.get('x')", config: {mode: one}}
"""
WEB = "- {id: tools, disabled: null}\n- {id: nobody}\n- insert: [{id: web, name: '@s/web'}]\n"
OWN = {SCOPE + "dsh-base": BASE, SCOPE + "dsh-web-app": WEB, SCOPE + "broken": "a: ["}
BUNDLES = (SCOPE + "dsh-base", SCOPE + "dsh-web-app")
DUMP = """\
# == @deepseek-ai/dsh-base
- id: timer
  name: '@s/timer'
# == @deepseek-ai/dsh-base, patched by @deepseek-ai/dsh-web-app
- id: tools
  disabled: null
  config:
    mode: one
# == @deepseek-ai/dsh-web-app
- id: web
  name: '@s/web'
"""
WARNING = 'dsh: [@deepseek-ai/dsh-web-app] patch: entry "nobody" not found\n'


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return places_in(tmp_path)


@pytest.fixture
def dsh(tmp_path: Path) -> Program:
    return write_dsh(tmp_path / "bin", OWN)


def opened(dsh: Program, places: Places, said: list[str] | None = None) -> Inbox:
    progress = None if said is None else said.append
    return inbox_of(dsh, places, dict(os.environ), progress)


def stacked(dsh: Program, places: Places, profile: str = "web") -> Stack:
    return stack_layers(find_profile(places, profile), inbox=opened(dsh, places))


def cache_of(places: Places) -> Path:
    (path,) = (places.data / "inbox").iterdir()
    return path


def test_a_template_that_is_not_there_yet_has_dshs_rows(places: Places, dsh: Program) -> None:
    stack = stacked(dsh, places)
    composition = compose(stack.layers)
    assert dump_text(composition) == DUMP
    assert [tuple(one) for one in composition.warnings] == [
        (SCOPE + "dsh-web-app", 'patch: entry "nobody" not found')
    ]
    assert not places.dsh_home.exists()


def test_dsh_is_asked_once_and_people_are_told(places: Places, dsh: Program) -> None:
    said: list[str] = []
    for _ in range(2):
        opened(dsh, places, said).find(BUNDLES)
    asked = len(runs(dsh))
    assert 0 < asked <= 5
    opened(dsh, places, said).find(BUNDLES[:1])  # another list: looked at once more
    opened(dsh, places, said).find(BUNDLES[:1])
    assert len(runs(dsh)) == asked + 1
    assert len(said) == 2
    assert cache_of(places).stat().st_mode & 0o777 == 0o600


def test_another_dsh_in_the_same_place_is_asked_anew(places: Places, dsh: Program) -> None:
    stacked(dsh, places)
    write_bundles(dsh.entry / "own", {SCOPE + "dsh-base": "- insert: [{id: other}]"})
    os.utime(dsh.path, (1, 1))
    assert "- id: other" in dump_text(compose(stacked(dsh, places).layers))


def test_a_broken_cache_is_learned_anew(places: Places, dsh: Program) -> None:
    stacked(dsh, places)
    cache = cache_of(places)
    whole = cache.read_bytes()
    cache.write_bytes(whole[: len(whole) // 2])
    assert dump_text(compose(stacked(dsh, places).layers)) == DUMP
    assert cache.read_bytes() == whole


@pytest.mark.parametrize(
    ("text", "whole"),
    [("", False), ("{", False), ("[]", False), ("\xff", False), ("null", False),
     ('{"schema": 1}', False), ("[" * 100_000, False),
     ('{"schema":1,"files":["k"],"version":null,"bundles":{"x":[{}]},"lists":{}}', True),
     ('{"schema":2,"files":["k"],"version":null,"bundles":{},"lists":{}}', False),
     ('{"schema":1,"files":["l"],"version":null,"bundles":{},"lists":{}}', False),
     ('{"schema":1,"files":["k"],"version":null,"bundles":{"x":1},"lists":{}}', False),
     ('{"schema":1,"files":["k"],"version":null,"bundles":[],"lists":{}}', False),
     ('{"schema":1,"files":["k"],"version":null,"bundles":{"x":[1]},"lists":{}}', False),
     ('{"schema":1,"files":["k"],"version":null,"bundles":{},"lists":{"[]":[1]}}', False)],
)  # fmt: skip
def test_only_a_whole_cache_of_this_very_dsh_counts(tmp_path: Path, text: str, whole: bool) -> None:
    path = tmp_path / "cache.json"
    path.write_text(text, encoding="latin-1")
    key: Any = ["k"]
    assert (read_record(path, key) is not None) is whole


def test_without_a_data_folder_dsh_is_asked_each_time(tmp_path: Path, dsh: Program) -> None:
    (tmp_path / "file").write_text("")
    places = Places(tmp_path / "dsh", tmp_path / "file" / "data", tmp_path / "config")
    for _ in range(2):
        assert dump_text(compose(stacked(dsh, places).layers)) == DUMP


def test_many_at_once_learn_once(places: Places, dsh: Program) -> None:
    with ThreadPoolExecutor(12) as pool:
        texts = list(pool.map(lambda _: dump_text(compose(stacked(dsh, places).layers)), range(24)))
    assert set(texts) == {DUMP}
    assert len(runs(dsh)) <= 5


def test_dshs_own_bundle_wins_over_the_profiles_copy(places: Places, dsh: Program) -> None:
    profile = profile_in(places, "p", (*BUNDLES, "mine", "./beside"))
    write_bundles(
        profile.folder,
        {SCOPE + "dsh-base": "- insert: [{id: copy}]", "mine": "- {id: timer, config: mine}"},
    )
    package(profile.folder / "beside")
    stack = stacked(dsh, places, "p")
    assert [layer.label for layer in stack.layers] == [*BUNDLES, "mine", "./beside"]
    text = dump_text(compose(stack.layers))
    assert "copy" not in text
    assert "# == @deepseek-ai/dsh-base, patched by mine\n- id: timer" in text
    (place,) = [layer for layer in stack.layers if layer.label == "mine"]
    assert place.files[0].path == profile.modules / "mine" / "p.yml"


def test_a_package_of_dshs_that_is_no_bundle_is_skipped_in_its_words(
    places: Places, dsh: Program
) -> None:
    profile_in(places, "p", (SCOPE + "broken", SCOPE + "dsh-base", 12, "nowhere"))
    stack = stacked(dsh, places, "p")
    assert [layer.label for layer in stack.layers] == [SCOPE + "dsh-base"]
    broken, number, nowhere = stack.skipped
    assert broken.reason.startswith("Error: dsh: failed to parse overlay ")
    assert broken.reason.count("\n") > 1
    assert "Received type number (12)" in number.reason
    assert str(places.profiles / "p") in nowhere.reason


def test_a_dsh_that_ends_at_what_it_misses_is_asked_again(tmp_path: Path, places: Places) -> None:
    dsh = write_dsh(tmp_path / "old", OWN, version="0.1.2-rc.1", strict=True)
    profile_in(places, "p", ("nowhere", SCOPE + "dsh-base", "nor-there"))
    inbox = opened(dsh, places)
    stack = stack_layers(find_profile(places, "p"), inbox=inbox)
    assert [layer.label for layer in stack.layers] == [SCOPE + "dsh-base"]
    assert [one.bundle for one in stack.skipped] == ["nowhere", "nor-there"]
    assert (inbox.version, inbox.notices) == ("0.1.2-rc.1", [])
    assert opened(dsh, Places(tmp_path, tmp_path / "new", tmp_path)).version == "0.1.2-rc.1"


def test_an_older_dsh_is_told_of(tmp_path: Path, places: Places) -> None:
    inbox = opened(write_dsh(tmp_path / "old", OWN, version="0.1.1-rc.2"), places)
    inbox.find(BUNDLES)
    assert inbox.notices == [
        "dsh 0.1.1-rc.2 is older than 0.1.2: profiles are composed by the rules of 0.1.2"
    ]


@pytest.mark.parametrize("body", ["exit 3", "echo 'x: ['", "echo '{}'", "echo no >&2; exit 1"])
def test_a_dsh_that_does_not_answer_is_left_out(tmp_path: Path, places: Places, body: str) -> None:
    path = tmp_path / "broken" / "dsh"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo 0.2.1 && exit\n{body}\n")
    path.chmod(0o755)
    inbox = opened(Program("dsh", path, path.parent), places)
    stack = stack_layers(find_profile(places, "web"), inbox=inbox)
    assert [one.bundle for one in stack.skipped] == list(BUNDLES)
    (notice,) = inbox.notices
    assert notice.startswith("the bundles of dsh are left out: ")
    assert not (places.data / "inbox").exists()


def test_without_dsh_there_is_no_inbox(places: Places) -> None:
    assert user_inbox(places, {"PATH": "/nowhere"}) is None


@pytest.mark.parametrize("layout", ["nested", "hoisted", "pnpm"])
def test_a_node_package_has_its_bundles_with_file_and_line(
    tmp_path: Path, places: Places, layout: str
) -> None:
    root = tmp_path / "lib"
    folder = root / "node_modules" / "@deepseek-ai" / "dsh"
    holder = root
    if layout == "nested":
        holder = folder
    if layout == "pnpm":
        holder = root / "node_modules" / ".pnpm" / "dsh@0.2.1"
        folder = holder / "node_modules" / "@deepseek-ai" / "dsh"
    entry = dsh_package(folder, version="0.2.1-rc.2")
    write_bundles(holder, OWN)
    link = tmp_path / "bin" / "dsh"
    link.parent.mkdir()
    link.symlink_to(entry)
    inbox = user_inbox(places, {"PATH": str(link.parent)})
    assert inbox is not None
    profile_in(places, "web", (*BUNDLES, SCOPE + "broken"))
    stack = stack_layers(find_profile(places, "web"), inbox=inbox)
    composition = compose(stack.layers)
    assert dump_text(composition) == DUMP
    ((tools, _),) = composition.find("tools")
    place = composition.origin(tools, ("disabled",))
    assert place is not None
    file = holder / "node_modules" / (SCOPE + "dsh-web-app") / "p.yml"
    assert place == (SCOPE + "dsh-web-app", str(file.resolve()), 1, 15)
    assert [one.bundle for one in stack.skipped] == [SCOPE + "broken"]
    assert inbox.notices == []
    assert not places.data.exists()


def test_the_age_of_a_node_package_is_told(tmp_path: Path, places: Places) -> None:
    entry = dsh_package(tmp_path / "dsh", version="0.1.1-rc.2")
    inbox = inbox_of(Program("dsh", entry, entry.parent), places, {})
    assert (inbox.version, len(inbox.notices)) == ("0.1.1-rc.2", 1)


# --- the commands -------------------------------------------------------------------------------


def with_dsh(dsh: Program) -> dict[str, str]:
    return {"PATH": os.pathsep.join([str(dsh.entry), os.environ["PATH"]])}


def test_profile_dump_prints_what_dsh_prints(isolated: Path, dsh: Program) -> None:
    ran = dshloop("profile", "dump", "web", "--strict", variables=with_dsh(dsh))
    assert (ran.code, ran.out, ran.err) == (0, DUMP, WARNING)
    assert not (isolated / "dsh").exists()
    bare = dshloop("profile", "dump", "web", "--strict")
    assert (bare.code, bare.out) == (1, "\n")
    assert bare.err.count("dsh: skipping profile bundle") == 2


def test_profile_dump_as_many_processes_at_once(isolated: Path, dsh: Program) -> None:
    with ThreadPoolExecutor(8) as pool:
        done = list(
            pool.map(lambda _: process("profile", "dump", "web", env=with_dsh(dsh)), range(16))
        )
    assert {(one.returncode, one.stdout, one.stderr) for one in done} == {(0, DUMP, WARNING)}
    assert len(runs(dsh)) <= 5


def test_profile_show_counts_dshs_rows(dsh: Program) -> None:
    shown = dshloop("profile", "show", "web", "--json", variables=with_dsh(dsh)).json
    assert (shown["rows"], shown["skipped"]) == (3, [])
    assert [layer["label"] for layer in shown["layers"]] == list(BUNDLES)


def test_profile_dump_shows_progress_on_a_terminal(dsh: Program) -> None:
    ran = dshloop("profile", "dump", "web", tty=True, variables=with_dsh(dsh))
    assert "asking dsh for its bundles" in ran.err
    again = dshloop("profile", "dump", "web", tty=True, variables=with_dsh(dsh))
    assert again.err == WARNING


def test_plugin_add_refuses_a_row_of_dshs_own(tmp_path: Path, isolated: Path, dsh: Program) -> None:
    folder = package(tmp_path / "taker", None, "timer")
    words = ["plugin", "add", str(folder), "--profile", "web"]
    before: dict[str, Any] = contents(isolated / "dsh")
    variables = {"PATH": str(dsh.entry)}  # without pnpm
    refused = dshloop(*words, "--json", variables=variables)
    assert refused.code == 4
    assert refused.error["code"] == "ROW_ID_TAKEN"
    assert refused.error["details"]["owner"] == SCOPE + "dsh-base"
    assert contents(isolated / "dsh") == before
    assert dshloop(*words, "--json", variables={"PATH": "/nowhere"}).code == 0


def test_a_dsh_that_hangs_is_asked_one_thing_and_no_more(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dshloop.dsh._PATIENCE", 0.3)
    program = tmp_path / "bin" / "dsh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\nexec sleep 30\n')
    program.chmod(0o755)
    inbox = inbox_of(Program("dsh", program, program.parent), places, dict(os.environ))
    assert inbox.version is None
    for _ in range(2):
        assert inbox.find(BUNDLES) == [None, None]
    assert inbox.notices == [
        f"the bundles of dsh are left out: {program} does not tell its version"
    ]
    assert (tmp_path / "asked").read_text() == "--version\n"
