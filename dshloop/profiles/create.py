"""A new profile: its three files, byte for byte as dsh 0.2.1 creates them (dsh-profiles 1, 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dshloop.errors import ProfileExistsError, UsageError
from dshloop.files import read_bytes, shown
from dshloop.journal import Change, Journal
from dshloop.paths import Places
from dshloop.profiles.layout import CHOICES, Profile, new_manifest, profile_at, template_for

PATCH_TEXT = """\
# Your patch layer for this dsh profile, applied after every bundle layer:
# a top-level YAML array of loader patch entries (id-targeted config
# overrides, disables, and insert lists; `!!js` expressions allowed).
[]
"""
# dsh has no template for this one; the words are those of its profile patch.
HOME_PATCH_TEXT = """\
# Your patch layer for all profiles of this dsh home, applied after each profile's own:
# a top-level YAML array of loader patch entries (id-targeted config
# overrides, disables, and insert lists; `!!js` expressions allowed).
[]
"""
WORKSPACE_TEXT = """\
packages:
  - .

nodeLinker: hoisted
autoInstallPeers: false
"""


def create_profile(
    places: Places,
    journal: Journal,
    name: str,
    *,
    template: str | None,
    command: str,
    cwd: Path | None = None,
    dry_run: bool = False,
) -> tuple[Profile, tuple[str, ...], list[Change]]:
    """Create a profile, or only plan it; give it, its bundles and its files. One journal entry.

    Without ``template`` the name decides, as in dsh. Raises ProfileExistsError
    (PROFILE_EXISTS), UsageError for an unknown template.
    """
    profile = profile_at(places, name)
    bundles = bundles_of(template) if template is not None else template_for(name)
    if profile.exists:
        raise ProfileExistsError(
            f'profile "{name}" is there already: {shown(profile.folder)}',
            name=name,
            folder=shown(profile.folder),
        )
    changes = new_profile(profile, bundles)
    if not dry_run:
        journal.record(command, changes, cwd=cwd)
    return profile, bundles, changes


def bundles_of(template: str) -> tuple[str, ...]:
    """Give the bundles of a template by its name."""
    if template in CHOICES:
        return CHOICES[template]
    raise UsageError(
        f'there is no template "{template}"',
        hint=f"Templates: {', '.join(CHOICES)}.",
        templates=list(CHOICES),
    )


def new_profile(profile: Profile, bundles: Sequence[str]) -> list[Change]:
    """Plan the files of a new profile; those that are there already stay."""
    manifest = new_manifest(profile.name, bundles)
    return [Change(profile.manifest, None, manifest.as_bytes()), *other_files(profile)]


def other_files(profile: Profile) -> list[Change]:
    """Plan the files beside the manifest, as far as they are missing."""
    texts = {"cordis.patch.yml": PATCH_TEXT, "pnpm-workspace.yaml": WORKSPACE_TEXT}
    paths = {profile.folder / name: text for name, text in texts.items()}
    return [
        Change(path, None, text.encode())
        for path, text in paths.items()
        if read_bytes(path) is None
    ]
