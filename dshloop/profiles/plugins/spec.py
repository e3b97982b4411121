"""A plugin spec as data: what to install, whatever way it was written (dsh-profiles 12).

A spec is text that a user types after `plugin add`. It is taken apart once and never pasted into
a command line again: paths with spaces, drive letters and ``#`` stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dshloop.errors import SpecInvalidError
from dshloop.paths import absolute
from dshloop.profiles.bundle import valid_package_name

Kind = Literal["folder", "archive", "registry", "url", "git"]

_ARCHIVE = re.compile(r"\.(?:tgz|tar\.gz|tar)$", re.IGNORECASE)
_LOCAL = re.compile(r"^(?:\.|~$|~[/\\]|[/\\]|[A-Za-z]:[/\\])")
_DRIVE = re.compile(r"^[A-Za-z]:[/\\]|^\\\\")
_PROTOCOL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")
_ALIAS = re.compile(r"^(@[^/@]+/[^/@]+|[^/@:]+)@(.+)$", re.DOTALL)
_SHORTHAND = re.compile(r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+(?:#.*)?$")
_GIT_HOSTS = ("github", "gitlab", "bitbucket", "gist")
_GIT = ("git", "ssh", "git+ssh", "git+https", "git+http", "git+file")
_REGISTRY = ("npm", "jsr")


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """One spec.

    ``path`` is set for a folder or an archive, absolute; ``link`` says whether a folder is linked
    (else it is copied); ``alias`` is the name the user wants it installed under; ``target`` is
    what follows the alias, for pnpm.
    """

    text: str
    kind: Kind
    target: str
    path: Path | None = None
    link: bool = False
    alias: str | None = None

    @property
    def local(self) -> bool:
        """Whether it can be had without a network and without pnpm."""
        return self.path is not None

    @property
    def recorded(self) -> str:
        """What stands under dependencies for a local package, as pnpm records it."""
        assert self.path is not None
        return f"{'link' if self.link else 'file'}:{self.path.as_posix()}"

    @property
    def for_pnpm(self) -> str:
        """The argument that pnpm gets: paths absolute, with their prefix."""
        target = self.recorded if self.local else self.target
        return f"{self.alias}@{target}" if self.alias else target


def parse_spec(text: str, cwd: Path, variables: Mapping[str, str]) -> PluginSpec:
    """Take one spec apart; paths are relative to ``cwd``, ``~`` is the user's home.

    A bare word is a package name and ``a/b`` a GitHub repository, as pnpm and dsh have it, but
    where a folder of that name lies here the user is asked to say which. Raises SpecInvalidError
    (SPEC_INVALID).
    """
    if not text.strip() or "\0" in text or "\n" in text:
        raise SpecInvalidError("a plugin spec is empty or holds a line break", spec=text)
    if text.startswith("-"):
        raise SpecInvalidError(
            f"{text} looks like an option, not like a plugin",
            hint="pnpm's own options can't be passed on. For a folder of that name write ./" + text,
            spec=text,
        )
    alias, target = _split_alias(text)
    return _classify(text, alias, target, cwd, variables)


def _classify(
    text: str, alias: str | None, target: str, cwd: Path, variables: Mapping[str, str]
) -> PluginSpec:
    found = None if _DRIVE.match(target) else _PROTOCOL.match(target)
    protocol = found.group(1).lower() if found else ""
    rest = target[found.end() :] if found else target
    if protocol in ("file", "link"):
        return _local(text, alias, rest.removeprefix("//"), protocol, cwd, variables)
    if protocol in ("http", "https"):
        archive = _ARCHIVE.search(target.partition("#")[0].partition("?")[0])
        return PluginSpec(text, "url" if archive else "git", target, alias=alias)
    if protocol in _GIT or protocol in _GIT_HOSTS or _is_scp(target):
        return PluginSpec(text, "git", target, alias=alias)
    if protocol in _REGISTRY:
        return PluginSpec(text, "registry", target, alias=alias)
    if protocol:
        raise SpecInvalidError(f"{text}: {protocol}: is no kind of plugin spec", spec=text)
    if _LOCAL.match(target) or _ARCHIVE.search(target):
        return _local(text, alias, target, "", cwd, variables)
    return _remote(text, alias, target, cwd)


def _local(
    text: str,
    alias: str | None,
    written: str,
    protocol: str,
    cwd: Path,
    variables: Mapping[str, str],
) -> PluginSpec:
    if not written:
        raise SpecInvalidError(f"{text} names no path", spec=text)
    path = Path(written) if _DRIVE.match(written) else absolute(written, cwd, variables)
    archive = bool(_ARCHIVE.search(written)) and not path.is_dir()
    if archive and protocol == "link":
        raise SpecInvalidError(
            f"{text}: an archive can't be linked", hint=f"Write {written}.", spec=text
        )
    kind: Kind = "archive" if archive else "folder"
    return PluginSpec(text, kind, written, path, kind == "folder" and protocol != "file", alias)


def _remote(text: str, alias: str | None, target: str, cwd: Path) -> PluginSpec:
    # What follows name@ is a version, range or tag, so a folder of that name can't be meant.
    if alias is None and "/" in target and (cwd / target).is_dir():
        raise SpecInvalidError(
            f"{text} could be the folder here or a package elsewhere",
            hint=f"Write ./{target} for the folder"
            + ("." if target.startswith("@") else f", github:{target} for the repository."),
            spec=text,
        )
    if alias is not None:
        return PluginSpec(text, "registry", target, alias=alias)
    if valid_package_name(target):
        return PluginSpec(text, "registry", target)
    if _SHORTHAND.match(target):
        return PluginSpec(text, "git", target)
    raise SpecInvalidError(f"{text} is not a package name, path or address", spec=text)


def _split_alias(text: str) -> tuple[str | None, str]:
    """Split ``name@target``; a path, an address or a bare name has no alias."""
    if _LOCAL.match(text) or _DRIVE.match(text) or _is_scp(text):
        return None, text
    found = _ALIAS.match(text)
    if found is None or not valid_package_name(found.group(1)):
        return None, text
    return found.group(1), found.group(2)


def _is_scp(text: str) -> bool:
    return bool(re.match(r"^[\w.-]+@[\w.-]+\.[\w.-]+:", text))
