"""What pnpm's errors mean for the people whose profile it works on, and what to do about each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dshloop.errors import (
    DshloopError,
    PackageNotFoundError,
    PnpmFailedError,
    PnpmMissingError,
    RegistryUnreachableError,
)
from dshloop.files import shown
from dshloop.terminal import one_line

_FAULT = re.compile(r"^\s*(?:\[(ERR_PNPM_\w+|ERROR)\]|(ERR_PNPM_\w+)|pnpm:)\s*(.+)$", re.MULTILINE)
_NETWORK = re.compile(
    r"ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|META_FETCH_FAIL|fetch failed"
    r"|Could not resolve host|unable to access|Connection refused"
)
_ALLOWED = re.compile(r"^allowBuilds:\n\s+(\S.*): true\s*$", re.MULTILINE)
_ABSENT = ("FETCH_404", "NO_MATCHING_VERSION")
_OTHER_PNPM = ("UNEXPECTED_STORE", "UNEXPECTED_VIRTUAL_STORE", "LOCKFILE_BREAKING_CHANGE")
_HINTS: Mapping[str, str] = {
    "GIT_DEP_PREPARE_NOT_ALLOWED": "The package builds itself when it is installed. --allow-build "
    "gives it leave",
    "IGNORED_BUILDS": "Packages want to run scripts when they are installed. --allow-build gives "
    "them leave.",
    "UNEXPECTED_STORE": "node_modules was filled by another pnpm, or by one with another store. "
    "Use that pnpm (dshloop doctor shows which one is found; corepack may pick another), or "
    "remove the profile's node_modules and install again.",
    "UNEXPECTED_VIRTUAL_STORE": "node_modules was filled by another pnpm. Use that one, or remove "
    "the profile's node_modules and install again.",
    "LOCKFILE_BREAKING_CHANGE": "pnpm-lock.yaml was written by another pnpm version; use that one.",
    "FETCH_404": "Check the name and the scope; a private package needs a token in .npmrc.",
    "FETCH_401": "The registry wants a token: write it into .npmrc.",
    "FETCH_403": "The registry refuses: check the token in .npmrc.",
    "NO_MATCHING_VERSION": "No published version is in that range.",
    "NO_MATURE_MATCHING_VERSION": "All versions in that range are newer than pnpm's "
    "minimumReleaseAge lets in; wait, or name an older version.",
    "SPEC_NOT_SUPPORTED_BY_ANY_RESOLVER": "pnpm doesn't know this way of naming a package. A path "
    "starts with ./, / or a drive letter; quotes belong to the shell and not into the spec.",
    "CANNOT_REMOVE_MISSING_DEPS": "The package is no dependency of the profile; dshloop plugin "
    "list shows those that are.",
    "OUTDATED_LOCKFILE": "pnpm-lock.yaml and package.json differ: see dshloop profile check.",
    "TARBALL_INTEGRITY": "The archive isn't the one that was locked. When that is meant, "
    "dshloop plugin update reads it again.",
    "UNSUPPORTED_ENGINE": "The package asks for another node or pnpm than the one that is here.",
    "LINKED_PKG_DIR_NOT_FOUND": "The folder is not there any more: bring it back, or remove the "
    "plugin.",
    "NO_OFFLINE_TARBALL": "The package isn't in pnpm's store and pnpm is offline.",
}


def failure_in(log: Path, status: int, *, filled_by: str | None = None) -> DshloopError:
    """Make an error of the line in pnpm's output that says why it failed; the log is named.

    ``filled_by`` is the pnpm that filled node_modules, told where the two may not agree.
    """
    text = log.read_bytes().decode("utf-8", "replace")
    return failure_of(_code_in(text), text, status, log=log, filled_by=filled_by)


def failure_of(
    code: str,
    text: str,
    status: int,
    *,
    log: Path | None = None,
    filled_by: str | None = None,
) -> DshloopError:
    """Make an error of what pnpm said and its code ("" for none).

    PackageNotFoundError, PnpmMissingError for a pnpm that can't run, RegistryUnreachableError
    where the network is at fault, else PnpmFailedError.
    """
    found = _FAULT.search(text)
    said = one_line(found.group(3) if found else text.strip().rpartition("\n")[2], 300)
    details: dict[str, Any] = {"status": status, "pnpm_code": code or None}
    hint = _HINTS.get(code.removeprefix("ERR_PNPM_"), "")
    entry = _ALLOWED.search(text)
    if entry:
        details["allow_builds"] = entry.group(1)
        hint += f"; or write under allowBuilds in pnpm-workspace.yaml: {entry.group(1)}: true"
    if filled_by is not None and code.removeprefix("ERR_PNPM_") in _OTHER_PNPM:
        details["filled_by"] = filled_by
        hint += f" It was filled by {filled_by}."
    if log is not None:
        details["log"] = shown(log)
        hint = f"{hint} pnpm's output: {shown(log)}".strip()
    if status in (126, 127):
        return PnpmMissingError(f"pnpm can't run: {said}", **details)
    kind: type[DshloopError] = PnpmFailedError
    if code.removeprefix("ERR_PNPM_") in _ABSENT:
        kind = PackageNotFoundError
    elif _NETWORK.search(text):
        kind = RegistryUnreachableError
    return kind(f"pnpm failed: {said or 'it said nothing'}", hint=hint or None, **details)


def _code_in(text: str) -> str:
    found = _FAULT.search(text)
    return (found.group(1) or found.group(2) or "") if found else ""
