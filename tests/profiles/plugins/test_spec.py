from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import SpecInvalidError
from dshloop.profiles.plugins.spec import parse_spec

HOME = {"HOME": "/home/u"}
CWD = Path("/w/d")


@pytest.mark.parametrize(
    ("text", "kind", "path", "recorded"),
    [
        ("./plugin", "folder", "/w/d/plugin", "link:/w/d/plugin"),
        (".", "folder", "/w/d", "link:/w/d"),
        ("..", "folder", "/w", "link:/w"),
        ("../with space", "folder", "/w/with space", "link:/w/with space"),
        ("./h#ash", "folder", "/w/d/h#ash", "link:/w/d/h#ash"),
        ("~/plugin", "folder", "/home/u/plugin", "link:/home/u/plugin"),
        ("/abs/插件", "folder", "/abs/插件", "link:/abs/插件"),
        ("link:../x", "folder", "/w/x", "link:/w/x"),
        ("file:../x", "folder", "/w/x", "file:/w/x"),
        ("file:///abs/x", "folder", "/abs/x", "file:/abs/x"),
        ("x-1.0.0.tgz", "archive", "/w/d/x-1.0.0.tgz", "file:/w/d/x-1.0.0.tgz"),
        ("./x.tar.gz", "archive", "/w/d/x.tar.gz", "file:/w/d/x.tar.gz"),
        ("file:./x.tgz", "archive", "/w/d/x.tgz", "file:/w/d/x.tgz"),
        ("sub/x.tgz", "archive", "/w/d/sub/x.tgz", "file:/w/d/sub/x.tgz"),
    ],
)
def test_local_specs_become_absolute(text: str, kind: str, path: str, recorded: str) -> None:
    spec = parse_spec(text, CWD, HOME)
    assert (spec.kind, spec.path, spec.recorded) == (kind, Path(path), recorded)
    assert spec.for_pnpm == recorded


@pytest.mark.parametrize(
    ("text", "kind", "alias"),
    [
        ("is-odd", "registry", None),
        ("@scope/name", "registry", None),
        ("is-odd@3.0.1", "registry", "is-odd"),
        ("@scope/name@^1.0.0", "registry", "@scope/name"),
        ("@scope/name@latest", "registry", "@scope/name"),
        ("odd@npm:is-odd@3.0.1", "registry", "odd"),
        ("npm:is-odd@3", "registry", None),
        ("https://example.org/x/-/x-1.0.0.tgz", "url", None),
        ("x@https://example.org/x.tgz?token=a", "url", "x"),
        ("https://example.org/x.git", "git", None),
        ("owner/repo", "git", None),
        ("owner/repo#v1.2", "git", None),
        ("github:owner/repo#semver:^1.0.0", "git", None),
        ("x@github:owner/repo", "git", "x"),
        ("git+ssh://git@example.org/x.git#main&path:/sub", "git", None),
        ("git@example.org:owner/repo.git", "git", None),
    ],
)
def test_specs_for_pnpm_keep_their_text(text: str, kind: str, alias: str | None) -> None:
    spec = parse_spec(text, CWD, HOME)
    assert (spec.kind, spec.alias, spec.for_pnpm) == (kind, alias, text)
    assert not spec.local


def test_alias_of_a_folder_keeps_its_name() -> None:
    spec = parse_spec("mine@file:./x", CWD, HOME)
    assert (spec.alias, spec.for_pnpm) == ("mine", "mine@file:/w/d/x")


@pytest.mark.parametrize("text", ["C:\\plugins\\x", "c:/plugins/x", "\\\\server\\share\\x"])
def test_windows_paths_are_paths(text: str) -> None:
    spec = parse_spec(text, CWD, HOME)
    assert spec.kind == "folder"
    assert str(spec.path).endswith("x")


@pytest.mark.parametrize(
    "text",
    ["", "  ", "-D", "--save-dev", "-x/y", "a\0b", "a\nb", "file:", "link:x.tgz", "weird:thing",
     "workspace:*", "not a name", "a/b/c"],
)  # fmt: skip
def test_what_cannot_be_meant_is_a_usage_error(text: str) -> None:
    with pytest.raises(SpecInvalidError):
        parse_spec(text, CWD, HOME)


def test_a_folder_that_reads_like_a_repository_asks_which(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(SpecInvalidError) as caught:
        parse_spec("a/b", tmp_path, HOME)
    assert "./a/b" in (caught.value.hint or "")


def test_a_folder_named_like_an_archive_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x.tgz").mkdir()
    assert parse_spec("./x.tgz", tmp_path, HOME).kind == "folder"


@given(st.text(max_size=40))
def test_any_text_is_a_spec_or_a_usage_error(text: str) -> None:
    try:
        spec = parse_spec(text, Path("/nowhere"), HOME)
    except SpecInvalidError:
        return
    assert not spec.for_pnpm.startswith("-")
    assert spec.path is None or spec.path.is_absolute() or spec.text[1:2] in (":", "\\")
