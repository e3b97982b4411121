"""Loops and drivers from all places: the nearer one wins, a broken one stays alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.errors import (
    DuplicateLoopError,
    InvalidDriverError,
    InvalidLoopDefinitionError,
    LoopImportError,
)
from dshloop.loops.catalog import (
    Offer,
    catalogue_drivers,
    catalogue_loops,
    driver_offers,
    loop_offers,
)
from dshloop.loops.discovery import Offered, offered
from dshloop.loops.importing import load_driver, load_loop, load_object
from dshloop.loops.loops_file import LoopsFile, parse_loops
from dshloop.loops.registry import Loop
from dshloop.loops.strategy_setup import strategy_as_loop
from dshloop.loops.wrapping import strategy_loop

MODULE = """\
from dshloop.loops.wrapping import strategy_loop

async def setup(agent): pass

async def make(owner, options): return {"agent": None, "dispose": None}

instance = strategy_loop(setup, id="instance", label="An instance")
mapping = {"kind": "strategy", "setup": setup}
nothing = 7
renamed = {"id": "other", "kind": "strategy", "setup": setup}

class Strategy:
    kind = "strategy"
    async def setup(self, agent): pass

class Configured(Strategy):
    def __init__(self, config): self.label = f"config {config}"

class Engine:
    async def create_agent(self, owner, options): return await make(owner, options)
    async def resume(self, owner, options): return await make(owner, options)

def factory(config): return {**mapping, "label": "made"}
def driver_factory(): return {"createAgent": make, "resume": make}
def broken(config): raise RuntimeError("no key")
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that is found like an installed one, under a name of its own."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "loops_for_test.py").write_text(MODULE)
    (folder / "loops_that_fail.py").write_text("raise ValueError('cannot start')\n")
    monkeypatch.syspath_prepend(str(folder))
    yield "loops_for_test"
    for name in ("loops_for_test", "loops_that_fail"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("instance", "An instance"),
        ("mapping", None),
        ("Strategy", None),
        ("Configured", "config {}"),
        ("factory", "made"),
    ],
)
def test_a_loop_is_an_instance_a_class_or_a_factory(name: str, label: str | None) -> None:
    loop = load_loop("instance", f"loops_for_test:{name}")
    assert (loop.id, loop.kind, loop.label) == ("instance", "strategy", label)


def test_a_class_with_an_engine_is_a_driver() -> None:
    for name in ("Engine", "driver_factory"):
        driver = load_driver(f"loops_for_test:{name}")
        assert callable(driver.create_agent)
    with pytest.raises(InvalidDriverError, match="loops_for_test:Strategy is no driver"):
        load_driver("loops_for_test:Strategy")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("loops_that_fail:x", "ValueError: cannot start"),
        ("loops_for_test:absent", "AttributeError"),
        ("loops_for_test:broken", "RuntimeError: no key"),
        ("no_such_module_anywhere:x", "there is no module no_such_module_anywhere"),
        ("loops_for_test.deeper:x", "is not a package"),
    ],
)
def test_what_can_not_be_imported_says_why(target: str, said: str) -> None:
    with pytest.raises(LoopImportError) as caught:
        load_loop("x", target)
    assert said in caught.value.message
    assert caught.value.details["target"] == target


def test_what_is_no_loop_or_another_one_is_refused() -> None:
    with pytest.raises(InvalidLoopDefinitionError):
        load_loop("x", "loops_for_test:nothing")
    with pytest.raises(InvalidLoopDefinitionError, match='gives loop "other"'):
        load_loop("x", "loops_for_test:renamed")


def test_nothing_under_the_working_directory_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "loops_lying_about.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))
    with pytest.raises(LoopImportError, match="under the working directory and not installed"):
        load_object("loops_lying_about:x")


def test_an_editable_install_under_the_working_directory_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert load_object("dshloop.loops.standard:ID") == "standard"


# --- places --------------------------------------------------------------------------------------


def loops_yml(text: str) -> LoopsFile:
    return parse_loops(text, Path("/profile/loops.yml"))


def built_in(name: str) -> Offer[Loop]:
    return Offer(name, "built-in", "dshloop", lambda: strategy_loop(print, id=name))


def test_the_nearer_place_wins_and_says_what_it_hides() -> None:
    file = loops_yml("loops:\n  a: {label: ours}\n")
    packages = [Offered("a", "loops_for_test:mapping", "pack")]
    found = catalogue_loops([built_in("a"), *loop_offers(file, packages, strategy_as_loop)])
    entry = found["a"]
    assert entry.value is not None
    assert entry.value.label == "ours"
    assert [one.where for one in entry.shadows] == ["pack", "dshloop"]
    assert entry.notice == (
        '"a" of profile (/profile/loops.yml:2) hides that of package (pack), built-in (dshloop)'
    )


def test_two_packages_with_one_id_are_a_duplicate_that_names_both() -> None:
    packages = [
        Offered("a", "loops_for_test:mapping", "one"),
        Offered("a", "loops_for_test:factory", "two"),
        Offered("b", "loops_for_test:mapping", "two"),
    ]
    found = catalogue_loops(loop_offers(LoopsFile(), packages, strategy_as_loop))
    fault = found["a"].fault
    assert isinstance(fault, DuplicateLoopError)
    assert fault.details["offered_by"] == ["one", "two"]
    assert found["b"].fault is None


def test_a_broken_one_is_reported_and_the_rest_is_there() -> None:
    file = loops_yml("loops:\n  a: loops_that_fail:x\n  b: loops_for_test:mapping\n")
    found = catalogue_loops(loop_offers(file, [], strategy_as_loop))
    assert isinstance(found["a"].fault, LoopImportError)
    assert found["a"].as_json()["fault"]["code"] == "LOOP_IMPORT_FAILED"
    assert found["b"].value is not None


def test_drivers_come_from_the_file_and_from_packages() -> None:
    file = loops_yml("drivers:\n  mine: loops_for_test:Engine\n")
    packages = [Offered("theirs", "loops_for_test:driver_factory", "pack")]
    found = catalogue_drivers(driver_offers(file, packages))
    assert [entry.offer.where for entry in found.values()] == ["/profile/loops.yml:2", "pack"]
    assert all(entry.value is not None for entry in found.values())


def test_entry_points_of_distributions_are_found(tmp_path: Path) -> None:
    for name in ("loops-one", "loops-two"):
        info = tmp_path / "site" / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "[dshloop.loops]\nshared-loop = loops_for_test:mapping\n"
            "[dshloop.drivers]\ntheir-driver = loops_for_test:Engine\n"
        )
    assert offered("dshloop.loops", "shared-loop") == [
        Offered("shared-loop", "loops_for_test:mapping", "loops-one"),
        Offered("shared-loop", "loops_for_test:mapping", "loops-two"),
    ]
    assert "their-driver" in [one.id for one in offered("dshloop.drivers")]
    assert offered("dshloop.loops", "not-there") == []
