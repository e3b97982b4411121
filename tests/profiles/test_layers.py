"""Patch files as layers: what is refused, in DSH's words and with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import (
    DshloopError,
    DshYamlInvalidError,
    PatchInvalidError,
    PatchUnreadableError,
)
from dshloop.profiles.layers import parse_layer, read_bundle_layer, read_layer


def write(folder: Path, text: str, name: str = "p.yml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_label_is_the_path_unless_named(tmp_path: Path) -> None:
    path = write(tmp_path, "[]\n")
    assert read_layer(path).label == str(path)
    assert read_layer(path, "@acme/b", "bundle").label == "@acme/b"
    assert read_layer(path).patches == []


def test_a_bundle_layer_has_many_files(tmp_path: Path) -> None:
    first = write(tmp_path, "- insert: [{id: a}]\n", "1.yml")
    second = write(tmp_path, "- id: a\n  x: 1\n", "2.yml")
    layer = read_bundle_layer([first, second], "@acme/b")
    assert layer.patches == [{"insert": [{"id": "a"}]}, {"id": "a", "x": 1}]


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("", "overlay F must be a top-level YAML array of loader patch entries", 1, 1),
        ("id: a\n", "overlay F must be a top-level YAML array of loader patch entries", 1, 1),
        (
            "- id: a\n-\n  - 1\n",
            "overlay entry 2 in F must be a mapping (a loader patch entry)",
            3,
            3,
        ),
    ],
)
def test_what_is_no_list_of_mappings_is_refused(
    tmp_path: Path, text: str, message: str, line: int, column: int
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(PatchInvalidError) as raised:
        read_layer(path)
    assert raised.value.message == message.replace("F", str(path))
    details = raised.value.details
    assert (details["file"], details["line"], details["column"]) == (str(path), line, column)


def test_the_home_file_is_called_patches(tmp_path: Path) -> None:
    path = write(tmp_path, "1\n")
    with pytest.raises(PatchInvalidError, match=r"^patches "):
        read_layer(path, kind="home")


def test_broken_yaml_is_refused_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, "- a: 1\n- b: [\n")
    with pytest.raises(DshYamlInvalidError) as raised:
        read_layer(path)
    assert raised.value.message == (
        f"failed to parse overlay {path}: YAMLException: "
        "unexpected end of the stream within a flow collection (3:1)"
    )
    assert raised.value.details["line"] == 3


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    missing = tmp_path / "none.yml"
    with pytest.raises(PatchUnreadableError, match="ENOENT: no such file or directory"):
        read_layer(missing)
    with pytest.raises(PatchUnreadableError, match="EISDIR"):
        read_layer(tmp_path)


def test_every_refusal_is_a_failure_of_exit_code_1(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yml", write(tmp_path, "{"), write(tmp_path, "1", "q.yml")):
        with pytest.raises(DshloopError) as raised:
            read_layer(path)
        assert raised.value.exit_code == 1


def test_a_layer_of_text_has_no_places() -> None:
    layer = parse_layer("- insert: [{id: a}]\n", "@acme/b", "bundle")
    assert layer.place(layer.files[0], layer.patches) == ("@acme/b", None, None, None)
