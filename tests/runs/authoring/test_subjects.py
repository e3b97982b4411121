"""Where loops are found: import paths, modules, installed packages, folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.errors import DshloopError, LoopTargetError
from dshloop.runs.authoring.subjects import subject_of, subjects

MODULE = """\
async def setup(agent): pass
class MyFirst:
    kind = "strategy"
    setup = staticmethod(setup)
second = {"id": "number-2", "kind": "strategy", "setup": setup}
class NoLoop: pass
def driver():
    from dshloop.host.engine import Engine
    from dshloop.loops.hosted import HostedDriver
    return HostedDriver(Engine())
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where Python finds modules and packages, as installed ones."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "found_loops.py").write_text(MODULE)
    (folder / "no_loops.py").write_text("x = 1\n")
    (folder / "broken_loops.py").write_text("raise ValueError('no key')\n")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in ("found_loops", "no_loops", "broken_loops", "project_loops"):
        sys.modules.pop(name, None)


def installed(site: Path, name: str, points: str) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[dshloop.loops]\n{points}\n")


def ids(target: str, cwd: Path) -> list[str]:
    with subjects(target, cwd) as found:
        return [one.make().id for one in found]


def test_an_object_by_its_import_path(site: Path, tmp_path: Path) -> None:
    assert ids("found_loops:MyFirst", tmp_path) == ["my-first"]
    assert ids("found_loops:second", tmp_path) == ["number-2"]


def test_a_module_gives_the_loops_that_are_defined_in_it(site: Path, tmp_path: Path) -> None:
    assert ids("found_loops", tmp_path) == ["my-first", "number-2"]


def test_entry_points_say_which_loops_a_module_and_a_package_have(
    site: Path, tmp_path: Path
) -> None:
    installed(site, "My_Pack", "given = found_loops:MyFirst[extra]")
    assert ids("my-pack", tmp_path) == ["given"]
    assert ids("found_loops", tmp_path) == ["given"]
    assert ids("found_loops:MyFirst", tmp_path) == ["given"]


def test_a_file_has_drivers_too(site: Path, tmp_path: Path) -> None:
    (tmp_path / "loops.yml").write_text(
        "loops: {a: {prompt: x}}\ndrivers: {mine: 'found_loops:driver'}\n"
    )
    assert ids("loops.yml", tmp_path) == ["a", "mine"]


@pytest.mark.parametrize("layout", ["", "src"])
def test_a_folder_is_read_by_its_manifest(site: Path, tmp_path: Path, layout: str) -> None:
    folder = tmp_path / "project"
    (folder / layout).mkdir(parents=True)
    (folder / layout / "project_loops.py").write_text(MODULE)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "p"\n'
        '[project.entry-points."dshloop.loops"]\na = "project_loops:MyFirst [x]"\n'
    )
    before = list(sys.path)
    for target in ("./project", "project", str(folder)):
        assert ids(target, tmp_path) == ["a"]
        assert sys.path == before
        sys.modules.pop("project_loops")


def test_a_modules_file_gives_the_loops_that_are_defined_in_it(site: Path, tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "names.py").write_text("KIND = 'strategy'\n")
    (package / "project_loops.py").write_text(f"from .names import KIND\n{MODULE}")
    before = list(sys.path)
    try:
        for target in ("pack/project_loops.py", "./pack/project_loops.py"):
            assert ids(target, tmp_path) == ["my-first", "number-2"]
            assert sys.path == before
    finally:
        for name in ("pack", "pack.names", "pack.project_loops"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("./nothing", "is not there"),
        ("./none.yml/x", "is not there"),
        ("./nobody.txt", "is no folder"),
        ("./nobody.py", "there is no file"),
        ("no_loops", "has no loop"),
        ("nobody", "is no module, no installed package with loops, and no folder"),
        ("./empty", "has no pyproject.toml"),
        ("./without", "offers no loop"),
        ("./torn", "is no TOML"),
        ("found_loops.", "is no module"),
        ("none.yml", "registers no loop"),
    ],
)
def test_what_has_no_loop_says_so(site: Path, tmp_path: Path, target: str, said: str) -> None:
    for name, text in {"empty": None, "without": "[project]\nname = 1", "torn": "[project"}.items():
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "pyproject.toml").write_text(text)
    (tmp_path / "nobody.txt").write_text("")
    (tmp_path / "none.yml").write_text("drivers: {}\n")
    with pytest.raises(LoopTargetError, match=said), subjects(target, tmp_path):
        pass


def test_an_entry_point_without_an_object_is_told(site: Path, tmp_path: Path) -> None:
    installed(site, "Pack", "given = found_loops")
    with subjects("pack", tmp_path) as (found,), pytest.raises(DshloopError) as told:
        found.make()
    assert "it names a module and no object of it" in told.value.message


def test_a_module_that_raises_is_told(site: Path, tmp_path: Path) -> None:
    with pytest.raises(DshloopError, match="no key") as told, subjects("broken_loops", tmp_path):
        pass
    assert told.value.hint == "Mend what the module or the class raises."


def test_an_instance_a_class_and_a_mapping_are_subjects() -> None:
    async def setup(agent: object) -> None:
        pass

    class TwoWords:
        kind = "strategy"

        async def setup(self, agent: object) -> None:
            pass

    assert subject_of(TwoWords).make().id == "two-words"
    assert subject_of(TwoWords(), "mine").make().id == "mine"
    assert subject_of({"kind": "strategy", "setup": setup, "id": "map"}).make().id == "map"
