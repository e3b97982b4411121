from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import ManifestInvalidError, PatchInvalidError, PatchUnreadableError
from dshloop.paths import Places
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.layout import Profile, find_profile
from dshloop.profiles.stack import stack_layers
from tests.profiles.packages import contents, package, places_in, profile_in


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return places_in(tmp_path)


def installed(profile: Profile, name: str, manifest: str, **files: str) -> Path:
    folder = profile.modules / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(manifest, encoding="utf-8")
    for file, text in files.items():
        (folder / f"{file}.yml").write_text(text, encoding="utf-8")
    return folder


def reasons(profile: Profile) -> list[str]:
    return [one.reason for one in stack_layers(profile).skipped]


NO_BUNDLE = 'Error: dsh: profile bundle "x" declares no dsh.bundle in its package.json'
BUNDLE = '{"dsh": {"bundle": {"patch": "p.yml"}}}'


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("{}", NO_BUNDLE),
        ('{"dsh": "x"}', NO_BUNDLE),
        ('{"dsh": {"bundle": {}}}',
         "Error: dsh.bundle.patch must be a file path or a list of file paths"),
        ('{"dsh": {"bundle": "x.yml"}}',
         "Error: dsh.bundle.patch must be a file path or a list of file paths"),
        ('{"dsh": {"bundle": {"patch": ["a.yml", 3]}}}',
         "Error: dsh.bundle.patch must be a file path or a list of file paths"),
        ('{"dsh":', "SyntaxError: Unexpected end of JSON input"),
        ('{"a":1}x', "SyntaxError: Unexpected non-whitespace character after JSON at position 7 "
         "(line 1 column 8)"),
        ("[1 2]", "SyntaxError: Expected ',' or ']' after array element in JSON at position 3 "
         "(line 1 column 4)"),
        ('{"a":1 "b":2}', "SyntaxError: Expected ',' or '}' after property value in JSON at "
         "position 7 (line 1 column 8)"),
        ("{x:1}", "SyntaxError: Expected property name or '}' in JSON at position 1 "
         "(line 1 column 2)"),
        ('{"a":"b', "SyntaxError: Unterminated string in JSON at position 7 (line 1 column 8)"),
        ('{"aaaaaaaaaaaa":x,"bbbbbbbbbbbbbbbb":1}',
         "SyntaxError: Unexpected token 'x', ...\"aaaaaaaa\":x,\"bbbbbbb\"... is not valid JSON"),
    ],
)  # fmt: skip
def test_a_bundle_that_dsh_skips_is_skipped_in_its_words(
    places: Places, manifest: str, reason: str
) -> None:
    profile = profile_in(places, "p", ("x",))
    installed(profile, "x", manifest)
    assert reasons(profile) == [reason]


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("a: [", "Error: dsh: failed to parse overlay {f}: YAMLException: unexpected end of the "
         "stream within a flow collection (2:1)\n\n 1 | a: [\n 2 | \n-----^"),
        ("a: 1", "Error: dsh: overlay {f} must be a top-level YAML array of loader patch entries"),
        ("- x", "Error: dsh: overlay entry 1 in {f} must be a mapping (a loader patch entry)"),
        ("- insert: x", "TypeError: patch.insert?.forEach is not a function"),
        ("- insert: [null]", "TypeError: Cannot read properties of null (reading 'name')"),
    ],
)  # fmt: skip
def test_a_broken_patch_of_a_bundle_is_told_as_dsh_tells_it(
    places: Places, patch: str, reason: str
) -> None:
    profile = profile_in(places, "p", ("x",))
    file = installed(profile, "x", BUNDLE, p=patch + "\n") / "p.yml"
    assert reasons(profile) == [reason.replace("{f}", str(file))]


def test_a_missing_patch_file_is_told_as_node_tells_it(places: Places) -> None:
    profile = profile_in(places, "p", ("x", "y"))
    file = installed(profile, "x", BUNDLE) / "p.yml"
    installed(profile, "y", '{"dsh": {"bundle": {"patch": ""}}}')
    read = "Error: dsh: failed to read overlay"
    missing, folder = reasons(profile)
    assert missing == f"{read} {file}: Error: ENOENT: no such file or directory, open '{file}'"
    assert folder.endswith("Error: EISDIR: illegal operation on a directory, read")


@pytest.mark.parametrize(
    ("bundle", "received"),
    [(12, "type number (12)"), (None, "null"), (True, "type boolean (true)"),
     ({"a": 1}, "an instance of Object"), ([], "an instance of Array")],
)  # fmt: skip
def test_a_bundle_that_is_no_text_is_skipped(places: Places, bundle: Any, received: str) -> None:
    (skipped,) = stack_layers(profile_in(places, "p", (bundle,))).skipped
    assert skipped.reason.endswith(f"must be of type string. Received {received}")


def test_unknown_bundle_has_the_line_of_dsh(places: Places) -> None:
    profile = profile_in(places, "p", ("@deepseek-ai/dsh-base",))
    (skipped,) = stack_layers(profile).skipped
    assert skipped.line == (
        'dsh: skipping profile bundle "@deepseek-ai/dsh-base": Error: dsh: cannot resolve profile '
        f'bundle "@deepseek-ai/dsh-base" from the dsh installation or {profile.folder}; run '
        "'dsh plugin --profile p install' if its dependency is not installed"
    )


def test_bundles_are_found_where_node_finds_them(places: Places) -> None:
    profile = profile_in(places, "p", ("./beside", "@s/n", "up", "sub/x", "/etc", ".."))
    package(profile.folder / "beside")
    package(profile.modules / "@s" / "n", "other-name")
    package(places.profiles / "node_modules" / "up")
    package(profile.modules / "sub" / "x")
    stack = stack_layers(profile)
    assert [layer.label for layer in stack.layers] == ["./beside", "@s/n", "up", "sub/x"]
    assert [one.bundle for one in stack.skipped] == ["/etc", ".."]


def test_layers_come_in_the_order_of_dsh(places: Places, tmp_path: Path) -> None:
    profile = profile_in(places, "p", ("b", "a"))
    for name in "ab":
        package(profile.modules / name)
    profile.patch.write_text("[]")
    profile.home_patch.write_text("- {id: a, disabled: true}")
    (tmp_path / "more.yml").write_text("[]")
    stack = stack_layers(profile, patches=[tmp_path / "more.yml"])
    labels = ["b", "a", str(profile.patch), str(profile.home_patch), str(tmp_path / "more.yml")]
    assert [layer.label for layer in stack.layers] == labels
    text = dump_text(compose(stack.layers))
    assert f"# == a, patched by {profile.home_patch}\n" in text
    assert [layer.label for layer in stack_layers(profile, bundles_only=True).layers] == ["b", "a"]


def test_the_patch_files_of_one_bundle_are_one_layer(places: Places) -> None:
    profile = profile_in(places, "p", ("base", "two"))
    package(profile.modules / "base", "base", "r")
    manifest = '{"dsh": {"bundle": {"patch": ["p.yml", "q.yml"]}}}'
    patch = "- {id: r, config: 1}\n"
    installed(profile, "two", manifest, p=patch, q=patch.replace("1", "2"))
    text = dump_text(compose(stack_layers(profile).layers))
    assert text.startswith("# == base, patched by two\n")


def test_the_users_own_files_are_never_skipped(places: Places, tmp_path: Path) -> None:
    profile = profile_in(places)
    with pytest.raises(PatchUnreadableError):
        stack_layers(profile, patches=[tmp_path / "none.yml"])
    profile.patch.mkdir()
    with pytest.raises(PatchUnreadableError):
        stack_layers(profile)
    profile.patch.rmdir()
    profile.home_patch.write_text("a: 1")
    with pytest.raises(PatchInvalidError) as caught:
        stack_layers(profile)
    assert caught.value.details["line"] == 1


def test_a_bundle_list_of_another_type_ends_the_command(places: Places) -> None:
    profile = profile_in(places, dsh={"profile": {"bundles": "abc"}})
    with pytest.raises(ManifestInvalidError):
        stack_layers(profile)


def test_reading_creates_nothing(places: Places) -> None:
    profile_in(places, "p", ("x",))
    before = contents(places.dsh_home)
    for name in ("p", "web", "sdk-minimal"):
        stack_layers(find_profile(places, name))
    assert contents(places.dsh_home) == before
