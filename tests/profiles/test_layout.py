from __future__ import annotations

import json
from pathlib import Path

import pytest

from dshloop.errors import (
    ManifestInvalidError,
    ProfileNameInvalidError,
    ProfileNotFoundError,
    ProfileNotNamedError,
    UnreadableFileError,
)
from dshloop.paths import Places
from dshloop.profiles.layout import (
    choose_profile,
    find_profile,
    new_manifest,
    parse_manifest,
    profile_names,
    read_manifest,
)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def put_profile(places: Places, name: str, text: str = '{"name": "x"}') -> Path:
    folder = places.profiles / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["", ".", "..", "node_modules", "a/b", "a\\b", "a\0b"])
def test_names_that_dsh_refuses_are_refused(places: Places, name: str) -> None:
    with pytest.raises(ProfileNameInvalidError):
        find_profile(places, name)


@pytest.mark.parametrize("name", [" ", ".x", "-x", "a:b", "é", "会话", "NODE_MODULES"])
def test_names_that_dsh_takes_are_taken(places: Places, name: str) -> None:
    put_profile(places, name)
    assert find_profile(places, name).name == name


def test_unknown_profile_names_near_matches(places: Places) -> None:
    put_profile(places, "work")
    with pytest.raises(ProfileNotFoundError) as caught:
        find_profile(places, "wrok")
    assert caught.value.details["near"] == ["work"]
    assert "work" in (caught.value.hint or "")


def test_template_is_found_without_a_folder_and_nothing_is_created(places: Places) -> None:
    manifest = read_manifest(find_profile(places, "web"))
    assert manifest.bundles == ("@deepseek-ai/dsh-base", "@deepseek-ai/dsh-web-app")
    assert not places.dsh_home.exists()


def test_a_folder_without_manifest_is_no_profile(places: Places) -> None:
    (places.profiles / "half").mkdir(parents=True)
    assert profile_names(places) == []
    with pytest.raises(ProfileNotFoundError):
        find_profile(places, "half")


def test_names_are_listed_without_node_modules_and_stages(places: Places) -> None:
    for name in ("web", "node_modules", ".dshloop-stage-x", ".mine", "alpha"):
        put_profile(places, name)
    assert profile_names(places) == [".mine", "alpha", "web"]


def test_option_wins_over_variable_and_variable_over_config(places: Places) -> None:
    variables = {"DSHLOOP_PROFILE": "variable"}
    assert choose_profile(places, "option", variables, "config") == "option"
    assert choose_profile(places, None, variables, "config") == "variable"
    assert choose_profile(places, None, {}, "config") == "config"


def test_no_profile_named_lists_those_there(places: Places) -> None:
    put_profile(places, "web")
    with pytest.raises(ProfileNotNamedError) as caught:
        choose_profile(places, None, {"DSHLOOP_PROFILE": ""}, None)
    assert caught.value.details["profiles"] == ["web"]
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    ["{}", '{"dsh": null}', '{"dsh": "x"}', '{"dsh": {"profile": "x"}}',
     '{"dsh": {"profile": {"bundles": null}}}'],
)  # fmt: skip
def test_manifest_without_bundle_list_has_no_bundles(text: str) -> None:
    assert parse_manifest(text.encode(), Path("package.json")).bundles == ()


@pytest.mark.parametrize("text", ["[]", "null", "3", '"x"'])
def test_manifest_must_hold_an_object(text: str) -> None:
    with pytest.raises(ManifestInvalidError, match="must hold a JSON object"):
        parse_manifest(text.encode(), Path("package.json"))


@pytest.mark.parametrize("bundles", ['"abc"', "12", "{}", "true"])
def test_bundle_list_of_another_type_is_an_error(bundles: str) -> None:
    text = f'{{"dsh": {{"profile": {{"bundles": {bundles}}}}}}}'
    with pytest.raises(ManifestInvalidError, match="list of package names"):
        parse_manifest(text.encode(), Path("package.json"))


def test_broken_manifest_names_line_and_column() -> None:
    with pytest.raises(ManifestInvalidError) as caught:
        parse_manifest(b'{\n  "a": ,\n}', Path("p/package.json"))
    assert (caught.value.details["line"], caught.value.details["column"]) == (2, 8)


@pytest.mark.parametrize("text", ['{"a": NaN}', "[" * 100_000, '{"a": 1} x', "{"])
def test_manifest_that_javascript_refuses_is_refused(text: str) -> None:
    with pytest.raises(ManifestInvalidError):
        parse_manifest(text.encode(), Path("package.json"))


def test_manifest_that_is_not_utf8_is_an_error() -> None:
    with pytest.raises(UnreadableFileError):
        parse_manifest(b'{"a": "\xff"}', Path("package.json"))


def test_byte_order_mark_is_read_and_written_without() -> None:
    text = '{"dsh": {"profile": {"bundles": ["a"]}}}'.encode("utf-8-sig")
    manifest = parse_manifest(text, Path("package.json"))
    assert manifest.bundles == ("a",)
    assert manifest.as_bytes().startswith(b"{")


def test_old_headless_bundles_are_those_of_the_template() -> None:
    bundles = ["@deepseek-ai/dsh-base", "@deepseek-ai/dsh-web-app", "@deepseek-ai/dsh-headless"]
    text = json.dumps({"dsh": {"profile": {"bundles": bundles}}}).encode()
    mended = parse_manifest(text, Path("package.json"), name="headless")
    assert mended.bundles == ("@deepseek-ai/dsh-base", "@deepseek-ai/dsh-headless")
    assert parse_manifest(text, Path("package.json"), name="other").bundles == tuple(bundles)


def test_new_manifest_has_the_bytes_of_dsh() -> None:
    assert new_manifest("mine", ("@deepseek-ai/dsh-base",)).as_bytes() == (
        b'{\n  "name": "dsh-profile-mine",\n  "private": true,\n  "dependencies": {},\n'
        b'  "dsh": {\n    "profile": {\n      "bundles": [\n        "@deepseek-ai/dsh-base"\n'
        b"      ]\n    }\n  }\n}\n"
    )


def test_changed_manifest_keeps_other_keys_indentation_and_line_ends() -> None:
    dsh = b'"dsh": {"other": {}, "profile": {"patchReload": "live"}}'
    text = b'{\r\n\t"x": 1.5,\r\n\t' + dsh + b"\r\n}\r\n"
    changed = parse_manifest(text, Path("package.json"))
    written = changed.with_specs({"b": "1", "A": "2"}).with_bundles(["b"]).as_bytes()
    assert written.startswith(b'{\r\n\t"x": 1.5,\r\n\t"dsh"')
    value = json.loads(written)
    assert list(value["dependencies"]) == ["A", "b"]
    assert value["dsh"] == {"other": {}, "profile": {"patchReload": "live", "bundles": ["b"]}}


def test_the_last_dependency_takes_the_key_with_it_as_in_pnpm() -> None:
    manifest = new_manifest("x", ())
    full = manifest.with_specs({"a": "1", "b": "2"})
    assert full.without(["a"]).dependencies == {"b": "2"}
    assert "dependencies" not in full.without(["a", "b"]).value
    assert manifest.without(["a"]).value["dependencies"] == {}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"x": "\\ud800"}', '"x": "\\ud800"'),
        ('{"x": 1e400}', '"x": null'),
        ('{"x": 1.0}', '"x": 1.0'),
    ],
)
def test_what_dsh_reads_is_written_as_what_it_reads(text: str, written: str) -> None:
    manifest = parse_manifest(text.encode(), Path("package.json"))
    data = manifest.with_bundles(["b"]).as_bytes()
    assert written in data.decode()
    assert parse_manifest(data, Path("package.json")).bundles == ("b",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"x": ' + "1" * 5000 + "}", "endless number"),
        ('{"x": ' + "[" * 100_000, "nested too deep"),
    ],
)
def test_faults_of_json_are_told_without_the_words_of_python(text: str, said: str) -> None:
    with pytest.raises(ManifestInvalidError, match=said):
        parse_manifest(text.encode(), Path("package.json"))
