from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.profiles.checks import surgery
from tests.profiles.checks.made import codes, found, profile, repaired, write

APPENDED = {
    "template": ("# mine\n[]\n- {id: p, disabled: true}\n", "# mine\n- {id: p, disabled: true}\n"),
    "comment kept": ("[] # keep\n- {id: p}\n", "# keep\n- {id: p}\n"),
    "glued": ("[]- {id: p}\n", "- {id: p}\n"),
    "blank between": ("[ ]\n\n\n- {id: p}\n", "\n\n- {id: p}\n"),
    "twice": ("[]\n- {id: p}\n[]\n- {id: q}\n", "- {id: p}\n- {id: q}\n"),
    "put back": ("- {id: p}\n[]\n", "- {id: p}\n"),
    "indented": ("[]\n  - {id: p}\n", "  - {id: p}\n"),
    "windows": ("[]\r\n- {id: p}\r\n", "- {id: p}\r\n"),
    "flow list": ("[{id: q}]\n- {id: p}\n", "- id: q\n- {id: p}\n"),
    "document start": ("---\n[]\n- {id: p}\n", "---\n- {id: p}\n"),
    "no line end": ("[]\n- {id: p}", "- {id: p}"),
    "null": ("null\n- {id: p}\n", "- {id: p}\n"),
    "managed block": (
        "[]\n# >>> skins\n- {id: p} # 中文 😀\n# <<<\n",
        "# >>> skins\n- {id: p} # 中文 😀\n# <<<\n",
    ),
}


@pytest.mark.parametrize("name", APPENDED)
def test_entries_behind_a_complete_list_are_joined_with_it(tmp_path: Path, name: str) -> None:
    before, after = APPENDED[name]
    made = profile(tmp_path, patch=before)
    (finding,) = found(made, "PATCH_ROOT_APPENDED")
    assert finding.severity == "error"
    assert finding.place is not None
    assert finding.place.file == str(made.patch)
    repaired(made, safe_only=True)
    assert made.patch.read_bytes().decode() == after
    assert "PATCH_ROOT_APPENDED" not in codes(made)


@pytest.mark.parametrize(
    "text",
    [
        "[]\n---\n- {id: p}\n",
        "id: p\nconfig: {}\n",
        "- {id: p\n",
        "- id: p\n  config: 1\n  config: 2\n",
        "just text\n",
        "- a\n- b\n",
    ],
)
def test_what_is_meant_by_other_damage_is_not_guessed(tmp_path: Path, text: str) -> None:
    made = profile(tmp_path, patch=text)
    assert {"PATCH_UNPARSABLE", "PATCH_INVALID"} & set(codes(made))
    repair = repaired(made)
    assert not repair.plan.changes
    assert made.patch.read_text() == text


@pytest.mark.parametrize("text", ["", "# only a comment", "null\n", "~ # nothing\n", "\r\n# x\r\n"])
def test_a_file_without_a_list_gets_one(tmp_path: Path, text: str) -> None:
    made = profile(tmp_path, patch=text)
    assert codes(made) == ["PATCH_EMPTY"]
    repaired(made, safe_only=True)
    assert codes(made) == []
    assert surgery.entries_of(made.patch.read_text()) == []


def test_utf_16_is_saved_as_utf_8_and_then_mended_further(tmp_path: Path) -> None:
    made = profile(tmp_path, patch="[]\r\n- {id: '中'}\r\n".encode("utf-16"))
    assert "PATCH_ENCODING" in codes(made)
    repaired(made, safe_only=True)
    assert made.patch.read_bytes().decode("utf-8") == "- {id: '中'}\r\n"


def test_bytes_that_are_no_utf_8_are_named_and_left(tmp_path: Path) -> None:
    made = profile(tmp_path, patch=b"- insert: [{id: a, name: '\xff'}]\n")
    (finding,) = found(made, "PATCH_ENCODING")
    assert finding.place is not None
    assert (finding.place.line, finding.mend) == (1, None)


def test_a_byte_order_mark_is_taken_out_only_when_asked(tmp_path: Path) -> None:
    made = profile(tmp_path, patch="\ufeff[]\n")
    assert [(one.code, one.severity) for one in found(made)] == [("PATCH_BOM", "info")]
    assert not repaired(made, safe_only=True).mended
    repaired(made)
    assert made.patch.read_bytes() == b"[]\n"


def test_a_byte_order_mark_inside_is_an_error_that_is_mended(tmp_path: Path) -> None:
    made = profile(tmp_path, patch="- {id: p}\n\ufeff- {id: q}\n")
    assert codes(made)[0] == "PATCH_BOM_INSIDE"
    repaired(made, safe_only=True)
    assert made.patch.read_text() == "- {id: p}\n- {id: q}\n"


def test_a_folder_in_the_place_of_a_patch_file_is_named(tmp_path: Path) -> None:
    made = profile(tmp_path)
    made.home_patch.mkdir(parents=True)
    assert codes(made) == ["PATCH_UNREADABLE"]


def test_an_insert_that_is_no_list_is_named_with_its_line(tmp_path: Path) -> None:
    made = profile(tmp_path, patch="- id: a\n  insert: {id: b}\n")
    (finding,) = found(made, "PATCH_INVALID")
    assert finding.place is not None
    assert finding.place.line == 2


def test_a_linked_patch_file_is_mended_where_it_is(tmp_path: Path) -> None:
    made = profile(tmp_path)
    elsewhere = tmp_path / "dotfiles.yml"
    write(elsewhere, "[]\n- {id: p}\n")
    made.patch.unlink()
    made.patch.symlink_to(elsewhere)
    repaired(made, safe_only=True)
    assert elsewhere.read_text() == "- {id: p}\n"
    assert made.patch.is_symlink()


@given(st.lists(st.sampled_from(["[]\n", "- {id: a}\n", "# c\n", "\n", "- id: b\n  x: [1]\n"])))
def test_a_mended_text_has_every_entry_of_the_parts(parts: list[str]) -> None:
    text = "".join(parts)
    mended = surgery.joined_lists(text)
    if mended is None:
        return
    entries = surgery.entries_of(mended)
    assert entries is not None
    assert len(entries) == sum(part.startswith("- ") for part in parts)
    assert mended.count("# c") == text.count("# c")


def test_entries_behind_a_list_are_named_under_a_byte_order_mark_too(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    made.patch.write_bytes(b"\xef\xbb\xbf[]\r\n- {id: b, disabled: true}\r\n")
    assert codes(made) == ["PATCH_ROOT_APPENDED", "PATCH_BOM"]
    repaired(made)
    assert made.patch.read_bytes() == b"- {id: b, disabled: true}\r\n"
