"""`dshloop memory edit`, `history` and `show`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.memory.steps import ids, memory, observe, remember, typed


@pytest.fixture
def id_() -> str:
    return remember("deploy on Fridays", "--concept", "deploy", "--type", "workflow")


def editor(folder: Path, script: str) -> dict[str, str]:
    """Give the variables of an editor that runs a script on `text`, the file's content."""
    program = folder / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1]); text = file.read_text()\n"
        f"{script}\n"
    )
    return {"EDITOR": f"{sys.executable} {program}"}


def test_what_is_not_given_stays(id_: str) -> None:
    ran = memory("edit", id_, "--content", "deploy on Mondays", "--json")
    assert ran.code == 0, ran.err
    new = ran.json
    assert (new["content"], new["version"], new["previous"]) == ("deploy on Mondays", 2, id_)
    assert (new["concepts"], new["type"], new["project"]) == (["deploy"], "workflow", "p")
    assert (new["superseded"], new["changed"]) == (id_, True)
    assert ids("recall", "Mondays") == [new["id"]]
    assert memory("recall", "Fridays").code == 3


def test_labels_can_be_changed_and_dropped(id_: str) -> None:
    ran = memory("edit", id_, "--title", "When", "--concept", "", "--file-ref", "ship.sh",
                 "--strength", "3", "--type", "fact", "--json")  # fmt: skip
    new = ran.json
    assert (new["title"], new["concepts"], new["files"]) == ("When", [], ["ship.sh"])
    assert (new["strength"], new["type"], new["content"]) == (3.0, "fact", "deploy on Fridays")


@pytest.mark.parametrize("words", [["-"], ["--content", "-"]])
def test_a_text_from_stdin(id_: str, words: list[str]) -> None:
    new = memory("edit", id_, *words, "--quiet", stdin="第一行\nsecond\n").out.strip()
    assert memory("show", new, "--json").json["content"] == "第一行\nsecond"


def test_the_editor_gets_the_text_and_its_change_is_a_version(id_: str, tmp_path: Path) -> None:
    variables = editor(tmp_path, "file.write_text(text.replace('Fridays', 'Sundays'))")
    ran = typed("edit", id_, variables=variables)
    assert (ran.code, "version 2" in ran.err) == (0, True)
    assert memory("show", ran.out.strip(), "--json").json["content"] == "deploy on Sundays"


def test_an_editor_that_changes_nothing_makes_no_version(id_: str, tmp_path: Path) -> None:
    ran = typed("edit", id_, variables=editor(tmp_path, ""))
    assert (ran.code, ran.err) == (0, "nothing was changed\n")
    assert ids("history", id_) == [id_]


@pytest.mark.parametrize("script", ["file.write_text(' ')", "file.unlink()"])
def test_a_text_that_was_emptied_changes_nothing(id_: str, tmp_path: Path, script: str) -> None:
    ran = typed("edit", id_, variables=editor(tmp_path, script))
    assert (ran.code, "MEMORY_EMPTY" in ran.err) == (2, True)
    assert ids("history", id_) == [id_]


def test_an_editor_that_fails_changes_nothing(id_: str, tmp_path: Path) -> None:
    ran = typed("edit", id_, variables=editor(tmp_path, "file.write_text('x'); sys.exit(3)"))
    assert (ran.code, "EDITOR_FAILED" in ran.err) == (1, True)
    assert ids("history", id_) == [id_]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], "USAGE"),
        (["--content", " "], "MEMORY_EMPTY"),
        (["-"], "MEMORY_EMPTY"),
        (["x", "--content", "y"], "USAGE"),
        (["--strength", "nan"], "USAGE"),
        (["--type", "opinion"], "MEMORY_TYPE"),
    ],
)
def test_bad_edits_change_nothing(id_: str, words: list[str], code: str) -> None:
    ran = memory("edit", id_, *words, "--json")
    assert (ran.code, ran.error["code"]) == (2, code)
    assert ids("history", id_) == [id_]


def test_unknown_ids_and_observations_cant_be_edited(id_: str) -> None:
    seen = observe("prompt_submit", prompt="hello")
    for named in ("mem_ffff", seen):
        ran = memory("edit", named, "new text", "--json")
        assert (ran.code, ran.error["code"]) == (3, "MEMORY_NOT_FOUND")


def test_history_lists_versions_oldest_first(id_: str) -> None:
    second = memory("edit", id_, "deploy on Mondays", "--quiet").out.strip()
    third = memory("edit", second, "deploy on Sundays", "--quiet").out.strip()
    for named in (id_, second, third):
        assert ids("history", named) == [id_, second, third]
    lines = memory("history", third).out.splitlines()
    assert [line.split()[0] for line in lines] == ["VERSION", "1", "2", "3*"]
    assert "deploy on Fridays" in memory("history", third, "--full").out
    ran = memory("history", "mem_ffff", "--json")
    assert (ran.code, ran.error["code"]) == (3, "MEMORY_NOT_FOUND")


def test_show_takes_forms(id_: str) -> None:
    assert memory("show", id_[:30], "--format", "jsonl").out.count("\n") == 1
    assert memory("show", id_, "--format", "md").out.startswith("## deploy on Fridays\n")
    assert memory("show", id_, "--brief").out == f"{id_}  deploy on Fridays\n"
    assert "content" not in memory("show", id_, "--brief", "--json").json
    seen = observe("post_tool_use", tool_name="bash", tool_input={"command": "ls"}, tool_output="a")
    text = memory("show", seen).out
    assert ("hook      post_tool_use" in text, "ls" in text) == (True, True)
