"""Faults of profiles, their plugins, rows and edits."""

from __future__ import annotations

from dshloop.errors.base import (
    FailedError,
    NotFoundError,
    PeerUnreachableError,
    RefusedError,
    UsageError,
)


class ProfileNotNamedError(UsageError):
    """The command needs a profile, and none was named; details list those there are."""

    code = "PROFILE_NOT_NAMED"
    hint = "Name one with --profile NAME, or make one the default: dshloop profile use NAME."


class ProfileNameInvalidError(UsageError):
    """The name can't be that of a profile: empty, a dot, node_modules, or with a slash."""

    code = "PROFILE_NAME_INVALID"
    hint = "Use a name without / and \\ that is not '.', '..' or node_modules."


class ProfileNotFoundError(NotFoundError):
    """There is no profile of this name, and it is not that of a template either."""

    code = "PROFILE_NOT_FOUND"


class ProfileExistsError(RefusedError):
    """A profile of this name is there already."""

    code = "PROFILE_EXISTS"
    hint = "Choose another name."


class ManifestInvalidError(FailedError):
    """A package.json can't be read as a JSON object, or its bundle list is not a list."""

    code = "MANIFEST_INVALID"


class SpecInvalidError(UsageError):
    """A plugin spec that can't be meant: empty, an option, or of an unknown kind."""

    code = "SPEC_INVALID"
    hint = "Give a folder (./plugin), an archive (./plugin.tgz), or a package name."


class PackageNotFoundError(NotFoundError):
    """The folder, archive or registry package that a spec names is not there."""

    code = "PACKAGE_NOT_FOUND"


class PluginNotFoundError(NotFoundError):
    """The profile has no plugin of this name."""

    code = "PLUGIN_NOT_FOUND"


class ArchiveInvalidError(FailedError):
    """A package archive is damaged, too large, or would write outside its folder."""

    code = "ARCHIVE_INVALID"


class BundleInvalidError(RefusedError):
    """A package can't be installed: its manifest or a patch file of it is missing or broken."""

    code = "BUNDLE_INVALID"
    hint = "Nothing was changed. Mend the package, then add it again."


class RowIdTakenError(RefusedError):
    """A package inserts a row under an id that another layer uses; details name both."""

    code = "ROW_ID_TAKEN"
    hint = "Nothing was changed. Remove one of the two, or change the id; --force adds it anyway."


class ProgramFailedError(FailedError):
    """A program of the user's could not be started, or took too long."""

    code = "PROGRAM_FAILED"


class PnpmMissingError(PeerUnreachableError):
    """The work needs pnpm, which is not on PATH."""

    code = "PNPM_MISSING"
    hint = (
        "Install Node.js and pnpm (npm install --global pnpm); dshloop doctor shows what is found."
    )


class PnpmFailedError(FailedError):
    """pnpm ended with an error; details name its exit status and the log file."""

    code = "PNPM_FAILED"


class RegistryUnreachableError(PeerUnreachableError):
    """pnpm could not reach the registry or git host that the package comes from."""

    code = "REGISTRY_UNREACHABLE"
    hint = "Check the network and the proxy settings, then run the command again."


class RowNotFoundError(NotFoundError):
    """No layer of the profile has a row with this id, or the row has no such key."""

    code = "ROW_NOT_FOUND"
    hint = "`dshloop profile row list` lists the rows."


class FindingsRefusedError(RefusedError):
    """What was to be written has findings of severity error; details list them."""

    code = "FINDINGS_REFUSED"
    hint = "Mend what is listed, or write it all the same with --force."


class ExportInvalidError(FailedError):
    """A file that should be the export of a profile is none, or is damaged."""

    code = "EXPORT_INVALID"
    hint = "`dshloop profile export FILE` writes such files."


class EditorFailedError(FailedError):
    """The editor could not be started, or ended with an error; nothing was changed."""

    code = "EDITOR_FAILED"
    hint = "Set $VISUAL or $EDITOR to an editor that works."


class PluginInactiveError(RefusedError):
    """What should become a layer can't be one: the package declares no dsh.bundle."""

    code = "PLUGIN_INACTIVE"
    hint = "Nothing was changed. It stays a plain dependency, which other plugins' rows can load."


class DshMissingError(PeerUnreachableError):
    """The work needs the real dsh, which is not on PATH."""

    code = "DSH_MISSING"
    hint = "Install DeepSeek Harness and put dsh on PATH; dshloop doctor shows what is found."


class PluginRefusedError(RefusedError):
    """The preflight found errors in a package or in what the profile would become."""

    code = "PLUGIN_REFUSED"
    hint = "Nothing was changed. Mend what the details list, or go on with --force."


class RowPathInvalidError(UsageError):
    """A path like ROW.key can't be read: it is empty or has an empty key."""

    code = "ROW_PATH_INVALID"
    hint = r"Write ROW.key.key2; a dot inside a name is \., an item of a list [0]."


class RowInvalidError(UsageError):
    """What is to be inserted is no row: not a mapping, or without a name."""

    code = "ROW_INVALID"
    hint = "Give a mapping with a name, for example {id: x, name: '@scope/package'}."


class RowKeyNotFoundError(NotFoundError):
    """A row's config has no such key or item."""

    code = "ROW_KEY_NOT_FOUND"


class PresetNotFoundError(NotFoundError):
    """There is no agent preset of this name among the user's own, the only ones to be edited."""

    code = "PRESET_NOT_FOUND"
    hint = "Shipped presets are read-only; copy one in dsh first, then edit the copy."


class EditRefusedError(RefusedError):
    """An edit can't be made in this layer, or it would change more than was asked for."""

    code = "EDIT_REFUSED"
    hint = "Nothing was changed. Edit another layer (--layer), or the file by hand."
