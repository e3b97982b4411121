"""Keys from variables and from DSH's own file; none is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import CredentialsInvalidError
from dshloop.llm.credentials import FILE, Keyring

SECRET = "very-secret-words"
STORED = f"""\
version: 1
refs:
  DEEPSEEK_API_KEY: {SECRET}
records:
  deepseek/account: {{kind: grant, token: x}}
"""


def stored(home: Path, text: str, mode: int = 0o600) -> Path:
    home.mkdir(exist_ok=True)
    path = home / FILE
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_variable_goes_before_the_file(tmp_path: Path) -> None:
    stored(tmp_path, STORED)
    found = Keyring({"DEEPSEEK_API_KEY": " typed \n"}, tmp_path).find("DEEPSEEK_API_KEY")
    assert found is not None
    assert (found.value, found.source) == ("typed", "$DEEPSEEK_API_KEY")
    assert "typed" not in repr(found)


def test_the_file_has_it_where_the_variable_is_empty(tmp_path: Path) -> None:
    path = stored(tmp_path, STORED)
    keys = Keyring({"DEEPSEEK_API_KEY": ""}, tmp_path)
    found = keys.find("DEEPSEEK_API_KEY")
    assert found is not None
    assert found.value == SECRET
    assert Path(found.source).name == path.name
    assert keys.find("OTHER_KEY") is None
    assert SECRET not in repr(found) + repr(keys)


@pytest.mark.parametrize("text", ["", "version: 1\n", "version: 1\nrefs:\n"])
def test_a_file_without_keys_has_none(tmp_path: Path, text: str) -> None:
    stored(tmp_path, text)
    assert Keyring({}, tmp_path).find("A") is None
    assert Keyring({}, tmp_path / "nowhere").find("A") is None


@pytest.mark.parametrize(
    "text",
    [
        f"refs: {{A: {SECRET}}}\n",
        f"version: 2\nrefs: {{A: {SECRET}}}\n",
        f"version: 1\nrefs: [{SECRET}]\n",
        f"version: 1\nrefs: {{A: [{SECRET}]}}\n",
        f"version: 1\nrefs:\n  A: {SECRET}\n B: *{SECRET}\n",
        f"[{SECRET}]\n",
        f"{SECRET}: [\n",
    ],
)
def test_a_file_that_dsh_would_not_write_is_refused_without_a_word_of_it(
    tmp_path: Path, text: str
) -> None:
    stored(tmp_path, text)
    with pytest.raises(CredentialsInvalidError) as caught:
        Keyring({}, tmp_path).find("A")
    assert FILE in caught.value.message
    assert SECRET not in str(caught.value.as_json())
    assert caught.value.__cause__ is None


def test_a_file_that_others_can_read_is_refused_as_dsh_does(tmp_path: Path) -> None:
    path = stored(tmp_path, STORED, mode=0o644)
    with pytest.raises(CredentialsInvalidError) as caught:
        Keyring({}, tmp_path).find("A")
    assert caught.value.hint == f"chmod 600 {path}"
