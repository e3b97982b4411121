from __future__ import annotations

import json
from pathlib import Path

import pytest

from dshloop.errors import ProfileExistsError, ProfileNameInvalidError, UsageError
from dshloop.journal import Journal
from dshloop.profiles.create import create_profile
from dshloop.profiles.layout import CHOICES
from tests.profiles.packages import contents, places_in

BASE = ["@deepseek-ai/dsh-base"]


def bundles(places: object, name: str) -> list[str]:
    path = places.profiles / name / "package.json"  # type: ignore[attr-defined]
    found: list[str] = json.loads(path.read_text())["dsh"]["profile"]["bundles"]
    return found


def test_new_profile_has_the_files_of_dsh(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    create_profile(places, Journal(places.journal), "mine", template=None, command="test")
    assert contents(places.profiles / "mine") == {
        "cordis.patch.yml": b"# Your patch layer for this dsh profile, applied after every bundle "
        b"layer:\n# a top-level YAML array of loader patch entries (id-targeted config\n"
        b"# overrides, disables, and insert lists; `!!js` expressions allowed).\n[]\n",
        "package.json": b'{\n  "name": "dsh-profile-mine",\n  "private": true,\n'
        b'  "dependencies": {},\n  "dsh": {\n    "profile": {\n      "bundles": [\n'
        b'        "@deepseek-ai/dsh-base"\n      ]\n    }\n  }\n}\n',
        "pnpm-workspace.yaml": b"packages:\n  - .\n\nnodeLinker: hoisted\n"
        b"autoInstallPeers: false\n",
    }


@pytest.mark.parametrize("template", CHOICES)
def test_each_template_has_its_bundles(tmp_path: Path, template: str) -> None:
    places = places_in(tmp_path)
    create_profile(places, Journal(places.journal), "mine", template=template, command="test")
    assert bundles(places, "mine") == list(CHOICES[template])


def test_the_name_decides_without_a_template(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    create_profile(places, Journal(places.journal), "headless", template=None, command="test")
    create_profile(places, Journal(places.journal), "empty", template=None, command="test")
    assert bundles(places, "headless") == [*BASE, "@deepseek-ai/dsh-headless"]
    assert bundles(places, "empty") == BASE


def test_a_profile_that_is_there_is_kept(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    create_profile(places, Journal(places.journal), "mine", template="empty", command="test")
    with pytest.raises(ProfileExistsError):
        create_profile(places, Journal(places.journal), "mine", template="web", command="test")
    assert bundles(places, "mine") == []


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    patch = places.profiles / "mine" / "cordis.patch.yml"
    patch.parent.mkdir(parents=True)
    patch.write_text("- {id: x}\n")
    create_profile(places, Journal(places.journal), "mine", template="empty", command="test")
    assert patch.read_text() == "- {id: x}\n"


def test_unknown_template_and_bad_name_create_nothing(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    with pytest.raises(UsageError, match="no template"):
        create_profile(places, Journal(places.journal), "mine", template="webb", command="test")
    with pytest.raises(ProfileNameInvalidError):
        create_profile(places, Journal(places.journal), "a/b", template="web", command="test")
    assert contents(tmp_path) == {}


def test_creating_can_be_undone(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    create_profile(places, Journal(places.journal), "mine", template="web", command="test")
    Journal(places.journal).undo()
    assert not places.dsh_home.exists()
