from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dshloop.dsh import Program
from dshloop.errors import BundleInvalidError, PluginRefusedError, RefusedError, RowIdTakenError
from dshloop.journal import Journal
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.plugins.changing import Request
from dshloop.profiles.plugins.compatibility import Engines
from dshloop.profiles.plugins.install import add_plugins
from tests.profiles.packages import contents, package, packed, places_in, profile_in

HERE = Path()


def engines(dsh: str = "0.2.1-rc.2", node: str = "20.1.0") -> Engines:
    versions = {"dsh": dsh, "node": node}
    programs = Program("dsh", HERE, HERE), Program("node", HERE, HERE)
    return Engines(*programs, {}, lambda program, _: versions[program.name])


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    """Give a request on an empty profile "p", as dsh 0.2.1 judges, without pnpm."""
    places = places_in(tmp_path / "home")
    profile = profile_in(places, "p", (), name="dsh-profile-p")
    variables = {"HOME": str(tmp_path)}
    journal = Journal(places.journal)
    return Request(places, journal, profile, tmp_path, variables, "test", engines=engines())


def found(request: Request, *specs: str) -> dict[str, Finding]:
    outcome = add_plugins(replace(request, force=True), specs)
    return {finding.code: finding for finding in outcome.findings}


def refused(request: Request, kind: type[RefusedError], *specs: str) -> RefusedError:
    before = contents(request.profile.folder)
    with pytest.raises(kind) as caught:
        add_plugins(request, specs)
    assert contents(request.profile.folder) == before
    return caught.value


def test_a_good_plugin_has_no_findings(request_: Request) -> None:
    package(request_.cwd / "a")
    assert found(request_, "./a") == {}


def test_two_good_plugins_that_collide(request_: Request) -> None:
    package(request_.cwd / "a", "a", "picker")
    package(request_.cwd / "b", "b", "picker")
    add_plugins(request_, ["./a"])
    error = refused(request_, RowIdTakenError, "./b")
    assert (error.details["owner"], error.details["newcomer"]) == ("a", "b")
    (finding,) = error.details["findings"]
    assert (finding["code"], finding["severity"], finding["row"]) == (
        "ROW_ID_DUPLICATE", "error", "picker",
    )  # fmt: skip
    assert finding["line"] == 2
    assert finding["fix"]


def test_a_row_in_a_group_collides_with_one_at_the_root(request_: Request) -> None:
    package(request_.cwd / "a", "a", "x")
    group = "- insert: [{id: g, name: 'cordis:group', group: true, config: [{id: x, name: b}]}]\n"
    (package(request_.cwd / "b") / "cordis.patch.yml").write_text(group)
    refused(request_, RowIdTakenError, "./a", "./b")


def test_a_patch_file_that_the_archive_lacks(request_: Request) -> None:
    folder = package(request_.cwd / "a")
    (folder / "cordis.patch.yml").unlink()
    error = refused(request_, BundleInvalidError, str(packed(folder)))
    assert "not in the package" in error.message
    assert str(error.details["file"]).endswith("a-1.0.0.tgz/cordis.patch.yml")


def test_force_goes_on_and_lists_what_was_found(request_: Request) -> None:
    (package(request_.cwd / "a") / "cordis.patch.yml").unlink()
    findings = found(request_, "./a")
    assert findings["BUNDLE_BROKEN"].severity == "error"


@pytest.mark.parametrize(("version", "severity"), [("0.2.1-rc.2", "warning"), ("0.1.2", "error")])
def test_a_row_without_its_module(request_: Request, version: str, severity: str) -> None:
    (package(request_.cwd / "a") / "index.js").unlink()
    findings = found(replace(request_, engines=engines(version)), "./a")
    assert findings["ROW_NAME_UNRESOLVED"].severity == severity
    if severity == "error":
        other = package(request_.cwd / "b")
        (other / "index.js").unlink()
        request = replace(request_, engines=engines(version))
        error = refused(request, PluginRefusedError, "./b")
        assert error.details["finding"] == "ROW_NAME_UNRESOLVED"


def test_the_module_of_an_archive_is_named_where_the_user_has_it(request_: Request) -> None:
    folder = package(request_.cwd / "a")
    (folder / "index.js").unlink()
    finding = found(request_, str(packed(folder)))["ROW_NAME_UNRESOLVED"]
    assert f"{request_.cwd}/a-1.0.0.tgz/index.js" in finding.why
    assert "dshloop-" not in finding.why


def test_packages_of_dsh_among_the_dependencies(request_: Request) -> None:
    hosts = {"@deepseek-ai/dsh-tools": "1"}
    folder = package(request_.cwd / "a", dependencies=hosts)
    for name in hosts:
        package(folder / "node_modules" / name, name)
    finding = found(request_, "./a")["HOST_PACKAGE_BUNDLED"]
    assert (finding.severity, "@deepseek-ai/dsh-tools" in finding.why) == ("warning", True)


def test_paths_that_depend_on_the_working_directory(request_: Request) -> None:
    text = "- insert: [{id: a, name: ./index.js, config: {command: ./server.js}}]\n"
    (package(request_.cwd / "a") / "cordis.patch.yml").write_text(text)
    finding = found(request_, "./a")["PATH_CWD_RELATIVE"]
    assert finding.row == "a"
    assert finding.place is not None
    assert finding.place.line == 1


@pytest.mark.parametrize(
    ("manifest", "severity"),
    [
        ({"engines": {"dsh": "^9"}}, "error"),
        ({"engines": {"dsh": ""}}, "error"),
        ({"peerDependencies": {"@deepseek-ai/dsh-agent": "^0.1"}}, "error"),
        ({"engines": {"node": ">=22"}}, "warning"),
    ],
)
def test_ranges_that_are_not_met(
    request_: Request, manifest: dict[str, Any], severity: str
) -> None:
    package(request_.cwd / "a", **manifest)
    if severity == "error":
        assert refused(request_, PluginRefusedError, "./a").details["finding"] == "ENGINE_UNMET"
    assert found(request_, "./a")["ENGINE_UNMET"].severity == severity


def test_an_exemption_lets_a_plugin_in(request_: Request) -> None:
    package(request_.cwd / "a", engines={"dsh": "^9"})
    path = request_.profile.folder / "compatibility.json"
    path.write_text('{"a@1.0.0": ["0.2.1-rc.2"]}')
    assert add_plugins(request_, ["./a"]).findings == ()


def test_two_takers_of_the_agent_factory(request_: Request) -> None:
    rows = "[{id: e, name: '@deepseek-ai/dsh-agent-loop'}, {id: d, name: dsh-loop-dock}]"
    (package(request_.cwd / "a") / "cordis.patch.yml").write_text(f"- insert: {rows}\n")
    error = refused(request_, PluginRefusedError, "./a")
    codes = {finding["code"] for finding in error.details["findings"]}
    assert "AGENT_FACTORY_TWICE" in codes


def test_two_rows_that_inject_recall(request_: Request) -> None:
    for name in ("dsh-agentmemory", "dsh-patchouli-agent-loop"):
        text = f"- insert: [{{id: {name}, name: {name}}}]\n"
        (package(request_.cwd / name, name) / "cordis.patch.yml").write_text(text)
    assert "RECALL_TWICE" in found(request_, "./dsh-agentmemory", "./dsh-patchouli-agent-loop")


def test_scripts_did_not_run(request_: Request) -> None:
    archive = packed(package(request_.cwd / "a", scripts={"postinstall": "x", "test": "y"}))
    package(request_.cwd / "linked", scripts={"postinstall": "x"})
    finding = found(request_, str(archive), "./linked")["BUILD_NOT_ALLOWED"]
    assert finding.details["scripts"] == ["postinstall"]
    assert finding.details["key"] == f"a@file:{'../' * 4}a-1.0.0.tgz"


def test_what_was_wrong_before_is_not_the_newcomers_doing(request_: Request) -> None:
    request_.profile.patch.write_text("- {id: nobody, disabled: true}\n")
    package(request_.cwd / "a")
    assert found(request_, "./a") == {}


def test_a_row_of_its_own_package_without_an_entry_file(request_: Request) -> None:
    folder = package(request_.cwd / "a", main="lib/none.js")
    (folder / "cordis.patch.yml").write_text("- insert: [{id: a, name: a}]\n")
    assert "ROW_NAME_UNRESOLVED" in found(request_, "./a")
