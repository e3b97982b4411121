from __future__ import annotations

from pathlib import Path

import pytest

from tests.profiles.checks.made import codes, found, profile


def preset(root: Path, text: str) -> Path:
    folder = root / "dsh" / ".agent-presets" / "mine"
    folder.mkdir(parents=True)
    path = folder / "agent.cordis.yml"
    path.write_text(text)
    return path


def test_a_list_of_rows_is_a_sound_preset(tmp_path: Path) -> None:
    preset(tmp_path, "- {id: a, name: x}\n- {name: y}\n")
    assert codes(profile(tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("id: a\n", 1),
        ("", 1),
        ("- {id: a, name: x}\n- insert: []\n", 2),
        ("- {id: a, name: x}\n- {id: a, disabled: true}\n", 2),
        ("- x\n", 1),
        ("[]\n- {id: a}\n", 2),
    ],
)
def test_what_is_none_is_named_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = preset(tmp_path, text)
    (finding,) = found(profile(tmp_path))
    assert finding.place is not None
    assert (finding.code, finding.place.file, finding.place.line) == (
        "PRESET_FILE_INVALID",
        str(path),
        line,
    )
