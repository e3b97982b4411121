from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import (
    DshloopError,
    PackageNotFoundError,
    PnpmFailedError,
    PnpmMissingError,
    RegistryUnreachableError,
)
from dshloop.profiles.plugins.pnpm_errors import failure_in

GIT = """\
[ERR_PNPM_GIT_DEP_PREPARE_NOT_ALLOWED] Failed to prepare git-hosted package: The git-hosted \
package "x@1.0.0" needs to execute build scripts but is not in the "allowBuilds" allowlist.

Add the package to "allowBuilds" in your project's pnpm-workspace.yaml. For example:
allowBuilds:
  x@https://codeload.github.com/o/x/tar.gz/4531cae381b6: true
"""


def failure(tmp_path: Path, text: str, status: int = 1) -> DshloopError:
    log = tmp_path / "pnpm.log"
    log.write_text(f"Progress: resolved 1\n{text}\n", encoding="utf-8")
    return failure_in(log, status, filled_by="pnpm@9.1.0")


@pytest.mark.parametrize(
    ("text", "kind", "hint"),
    [
        ("[ERR_PNPM_FETCH_404] GET http://x/y: Not Found - 404", PackageNotFoundError, "scope"),
        ("ERR_PNPM_NO_MATCHING_VERSION No matching version", PackageNotFoundError, "range"),
        ("[ERR_PNPM_UNEXPECTED_STORE] Unexpected store location", PnpmFailedError, "pnpm@9.1.0"),
        ("[ERR_PNPM_SPEC_NOT_SUPPORTED_BY_ANY_RESOLVER] x", PnpmFailedError, "quotes"),
        ("[ERR_PNPM_CANNOT_REMOVE_MISSING_DEPS] x", PnpmFailedError, "plugin list"),
        ("[ERR_PNPM_OUTDATED_LOCKFILE] x", PnpmFailedError, "profile check"),
        ("[ERR_PNPM_TARBALL_INTEGRITY] x", PnpmFailedError, "plugin update"),
        ("[ERR_PNPM_IGNORED_BUILDS] Ignored build scripts: a", PnpmFailedError, "--allow-build"),
        ("[ERR_PNPM_META_FETCH_FAIL] GET http://x: fetch failed", RegistryUnreachableError, "log"),
        ("[ERROR] fetch failed", RegistryUnreachableError, "log"),
        ("[ERR_PNPM_SOMETHING_NEW] what is this", PnpmFailedError, "pnpm.log"),
        ("boom", PnpmFailedError, "pnpm.log"),
    ],
)
def test_a_line_and_what_to_do(
    tmp_path: Path, text: str, kind: type[DshloopError], hint: str
) -> None:
    error = failure(tmp_path, text)
    assert type(error) is kind
    assert error.message.startswith("pnpm failed: ")
    assert "\n" not in error.message
    assert hint in str(error.hint)
    assert str(tmp_path / "pnpm.log") in str(error.hint)
    code = text.lstrip("[").partition(" ")[0].rstrip("]")
    assert error.details["pnpm_code"] == (code if code.startswith("ERR") else None)


def test_the_exact_entry_that_a_git_package_needs(tmp_path: Path) -> None:
    error = failure(tmp_path, GIT)
    entry = "x@https://codeload.github.com/o/x/tar.gz/4531cae381b6"
    assert error.details["allow_builds"] == entry
    assert f"{entry}: true" in str(error.hint)
    assert "--allow-build" in str(error.hint)


def test_a_pnpm_that_cannot_run(tmp_path: Path) -> None:
    assert type(failure(tmp_path, "env: node: not found", 127)) is PnpmMissingError
