"""Every kind of finding; docs/checks.md is made from this table."""

from __future__ import annotations

from collections.abc import Iterator

from dshloop.profiles.checks.findings import Kind

# --- patch files ------------------------------------------------------------------------------

PATCH_ROOT_APPENDED = Kind(
    "PATCH_ROOT_APPENDED",
    "error",
    "Entries were appended after a complete list, usually the `[]` of a new profile; no YAML "
    "reader takes that, and dsh does not start.",
    "dshloop profile repair --apply",
    mends="safe",
)
PATCH_UNPARSABLE = Kind(
    "PATCH_UNPARSABLE",
    "error",
    "A patch file of the user's is no YAML that dsh reads.",
    "Mend the line that is named: dshloop profile edit",
)
PATCH_EMPTY = Kind(
    "PATCH_EMPTY",
    "error",
    "A patch file has no list: it is empty, only comments, or null.",
    "Write [] into it: dshloop profile repair --apply",
    mends="safe",
)
PATCH_INVALID = Kind(
    "PATCH_INVALID",
    "error",
    "A patch file is no list of mappings, or an `insert` no list of rows.",
    "Write it as a list of mappings: dshloop profile edit",
)
PATCH_UNREADABLE = Kind(
    "PATCH_UNREADABLE",
    "error",
    "A patch file can't be read: it is a folder, or the system refuses.",
    "Make it a readable file.",
)
PATCH_ENCODING = Kind(
    "PATCH_ENCODING",
    "error",
    "A patch file is not UTF-8; dsh reads other bytes as replacement characters.",
    "Save the file as UTF-8.",
    mends="safe",
)
PATCH_BOM = Kind(
    "PATCH_BOM",
    "info",
    "A patch file starts with a byte order mark. dsh reads over it; tools that append to the "
    "file may not.",
    "dshloop profile repair --apply takes it out.",
    mends="repair",
)
PATCH_BOM_INSIDE = Kind(
    "PATCH_BOM_INSIDE",
    "error",
    "A byte order mark stands inside a patch file, left by a tool that joined two files.",
    "dshloop profile repair --apply",
    mends="safe",
)

# --- what patches do --------------------------------------------------------------------------

ROW_ID_DUPLICATE = Kind(
    "ROW_ID_DUPLICATE",
    "error",
    "Two rows have one id, in groups or not. dsh 0.1.2 ends with `duplicate loader entry id`; "
    "0.2.1 lets the later row take the place of the earlier one without a word.",
    "Take one of the two out, or change the first by a patch with its id.",
    mends="safe",
)
PATCH_TARGET_MISSING = Kind(
    "PATCH_TARGET_MISSING",
    "warning",
    "A patch changes a row that no layer inserts, often one of a plugin that was removed.",
    "Take the patch out, or add the plugin that has the row.",
    mends="repair",
)
PATCH_NAME_MISMATCH = Kind(
    "PATCH_NAME_MISMATCH",
    "warning",
    "A patch is skipped because its `name`, which is a guard, is not the row's.",
    "Write the row's name, or leave `name` out; a row can't be renamed.",
)
PATCH_NOT_A_GROUP = Kind(
    "PATCH_NOT_A_GROUP",
    "warning",
    "Rows are inserted into a row that is no group; nothing is inserted.",
    "Set `group: true` on the row first, or insert at the top level.",
)
PATCH_ID_MISSING = Kind(
    "PATCH_ID_MISSING",
    "warning",
    "A patch names no row and inserts nothing; dsh skips it.",
    "Give it the `id` of a row, or put what it holds under `insert`.",
)
PATCH_DETACHED = Kind(
    "PATCH_DETACHED",
    "warning",
    "A patch changes a row whose group was replaced by another patch; nobody sees the change.",
    "Change the row before its group is replaced, or inside the new config of the group.",
)
GROUP_REPLACED = Kind(
    "GROUP_REPLACED",
    "warning",
    "A patch replaces the config of a group: all its rows go, and those it brings can't be "
    "patched.",
    "Insert into the group (`id` with `insert`), and disable rows you don't want.",
)
CONFIG_KEYS_LOST = Kind(
    "CONFIG_KEYS_LOST",
    "warning",
    "A patch replaces a row's whole config and leaves keys out that it had before.",
    "Repeat the keys in the patch, or use dshloop profile set, which does.",
)
PIN_OUTDATED = Kind(
    "PIN_OUTDATED",
    "warning",
    "A patch that dshloop wrote repeats values of a lower layer which has other values now.",
    "Take the key out with dshloop profile unset, and set only what you want changed.",
)

# --- rows -------------------------------------------------------------------------------------

ROW_KEY_UNKNOWN = Kind(
    "ROW_KEY_UNKNOWN",
    "warning",
    "A row or patch has a key that dsh does not know (`remove`, `before`, a slip of the pen). It "
    "is stored and does nothing.",
    "To switch a row off write `disabled: true`; rows can't be removed, moved or renamed.",
)
PATCH_KEY_IGNORED = Kind(
    "PATCH_KEY_IGNORED",
    "warning",
    "A patch with `insert` has other keys too; dsh ignores them.",
    "Make two patches of it.",
)
ROW_VALUE_SUSPICIOUS = Kind(
    "ROW_VALUE_SUSPICIOUS",
    "warning",
    "A value has a type that hardly does what was meant: `disabled: 'no'` disables.",
    "Write true or false, without quotes.",
)
ROW_NAME_MISSING = Kind(
    "ROW_NAME_MISSING",
    "error",
    "An inserted row has no name, so dsh can't load it.",
    "Give it the name of the plugin that it loads.",
)
ROW_ID_MISSING = Kind(
    "ROW_ID_MISSING",
    "info",
    "An inserted row has no id: it gets a random one at each start and can't be patched.",
    "Give it an id.",
)
GROUP_UNMARKED = Kind(
    "GROUP_UNMARKED",
    "warning",
    "A row is a `cordis:group` without `group: true`: its rows run but can't be patched.",
    "Add `group: true` to it.",
    mends="repair",
)
GROUP_CONFIG_INVALID = Kind(
    "GROUP_CONFIG_INVALID",
    "error",
    "A group's config is no list of rows (`config is not iterable`).",
    "Write its config as a list of rows, [] for none.",
)
ENV_REFERENCE_LITERAL = Kind(
    "ENV_REFERENCE_LITERAL",
    "warning",
    "A value looks like a reference to a variable, which dsh does not resolve: the text itself "
    "is used. (`secret` of dsh-agentmemory does resolve ${NAME}.)",
    "Write `!!js process.env.NAME`.",
)
SECRET_PLAIN = Kind(
    "SECRET_PLAIN",
    "warning",
    "A secret stands in a patch file as plain text.",
    "Put it into a variable: `!!js process.env.NAME`, or ${NAME} where the plugin resolves it.",
)
PATH_CWD_RELATIVE = Kind(
    "PATH_CWD_RELATIVE",
    "warning",
    "A path in a config starts with ./ or ../: it depends on the folder dsh is started in.",
    "Write an absolute path, or `!!js dshHomePath('...')`.",
)
ROW_NAME_UNRESOLVED = Kind(
    "ROW_NAME_UNRESOLVED",
    "warning",
    "The module that a row names can't be found. dsh 0.2.1 warns and goes on without the row, "
    "0.1.2 ends.",
    "Install the package, or disable the row.",
    severity_012="error",
)
ROW_ORPHANED = Kind(
    "ROW_ORPHANED",
    "warning",
    "A row in the profile's or the home's patch file loads a package that is not installed, "
    "often one that was removed.",
    "Take the row out (dshloop profile repair --apply), or add the package.",
    mends="repair",
    severity_012="error",
)

# --- what a harness has one of ----------------------------------------------------------------

AGENT_FACTORY_TWICE = Kind(
    "AGENT_FACTORY_TWICE",
    "error",
    "Two rows take the one agent-factory slot: dsh's own engine runs beside the dock.",
    "Disable the row agent-loop: dshloop profile row disable agent-loop",
    mends="repair",
)
AGENT_FACTORY_NONE = Kind(
    "AGENT_FACTORY_NONE",
    "warning",
    "dsh's own engine is disabled and no dock takes the agent-factory slot: no agent can start.",
    "Enable the row agent-loop, or add the dock.",
)
MEMORY_RECORDED_TWICE = Kind(
    "MEMORY_RECORDED_TWICE",
    "warning",
    "dsh-agentmemory runs beside agentmemory's own connector: everything is written twice, under "
    "two names.",
    "Keep one: disable agentmemory-hooks (and agentmemory), or the row of dsh-agentmemory.",
)
RECALL_TWICE = Kind(
    "RECALL_TWICE",
    "warning",
    "Two rows inject recalled memory into the same sessions.",
    "Keep one, or switch the injection of the other off.",
)
PRESET_FILE_INVALID = Kind(
    "PRESET_FILE_INVALID",
    "error",
    "The file of an agent preset of the user's own is no list of rows that dsh reads: sessions "
    "with that preset don't start.",
    "Mend the line that is named; a preset is a list of rows, not of patches.",
)
PRESET_UNKNOWN = Kind(
    "PRESET_UNKNOWN",
    "warning",
    "The dock maps an agent preset by a name that this dsh does not have, so the mapping never "
    "acts.",
    "Use the name that dsh has; `code` is called `ptc` since 0.2.",
    mends="repair",
)

# --- config keys ------------------------------------------------------------------------------

CONFIG_KEY_UNKNOWN = Kind(
    "CONFIG_KEY_UNKNOWN",
    "warning",
    "A config has a key that the schema of its plugin does not know.",
    "Correct the key, or take it out.",
)
CONFIG_VALUE_INVALID = Kind(
    "CONFIG_VALUE_INVALID",
    "warning",
    "A config value is not what the schema of its plugin takes.",
    "Write a value the schema takes.",
)

# --- manifest and bundles ---------------------------------------------------------------------

MANIFEST_INVALID = Kind(
    "MANIFEST_INVALID",
    "error",
    "The profile's package.json is no JSON object that dsh reads.",
    "Mend the line that is named.",
)
MANIFEST_BOM = Kind(
    "MANIFEST_BOM",
    "error",
    "The profile's package.json starts with a byte order mark, which dsh dies of.",
    "dshloop profile repair --apply",
    mends="safe",
)
BUNDLE_LISTED_TWICE = Kind(
    "BUNDLE_LISTED_TWICE",
    "error",
    "A bundle is in dsh.profile.bundles twice: every row of it comes twice.",
    "dshloop profile repair --apply",
    mends="safe",
)
BUNDLE_UNRESOLVED = Kind(
    "BUNDLE_UNRESOLVED",
    "error",
    "A listed bundle is installed nowhere. dsh 0.2.1 goes on without its rows, 0.1.2 ends.",
    "Install it again, or remove it: dshloop plugin remove NAME",
)
BUNDLE_UNCHECKED = Kind(
    "BUNDLE_UNCHECKED",
    "info",
    "A bundle that dsh brings itself could not be looked into, since no dsh was found.",
    "Put dsh on PATH for a full check.",
)
BUNDLE_UNDECLARED = Kind(
    "BUNDLE_UNDECLARED",
    "error",
    "A package on the bundle list declares no dsh.bundle. dsh 0.2.1 skips it, 0.1.2 ends.",
    "Take it off the list: dshloop profile repair --apply",
    mends="safe",
)
BUNDLE_BROKEN = Kind(
    "BUNDLE_BROKEN",
    "error",
    "A bundle's patch file is missing or can't be read: none of its rows come.",
    "Update the plugin, or disable it: dshloop plugin disable NAME",
)
BUNDLE_NOT_A_DEPENDENCY = Kind(
    "BUNDLE_NOT_A_DEPENDENCY",
    "warning",
    "A bundle is listed and found, but no dependency of the profile: pnpm may take it away.",
    "Add it: dshloop plugin add NAME",
)
BUNDLE_OFF = Kind(
    "BUNDLE_OFF",
    "info",
    "A dependency is a bundle but not on the list. The next plugin command of dsh 0.1.2 puts it "
    "back; 0.2.1 leaves it off.",
    "dshloop plugin enable NAME, or dshloop plugin remove NAME",
    severity_012="warning",
)
HOST_PACKAGE_BUNDLED = Kind(
    "HOST_PACKAGE_BUNDLED",
    "warning",
    "A plugin brings packages of dsh itself as dependencies: two copies don't know each other's "
    "symbols, and tool calls fail.",
    "The plugin's author should make them peer dependencies.",
)
ENGINE_UNMET = Kind(
    "ENGINE_UNMET",
    "warning",
    "A plugin asks for another version of dsh or node than the one that is here.",
    "Update dsh or node, or take another version of the plugin.",
)

BUILD_NOT_ALLOWED = Kind(
    "BUILD_NOT_ALLOWED",
    "warning",
    "A plugin, or a package it needs, has scripts to run when it is installed; they run only with "
    "leave, so what they build is missing.",
    "Add it with --allow-build, or write the entry that is shown into pnpm-workspace.yaml.",
)

# --- what is installed ------------------------------------------------------------------------

DEPENDENCY_MISSING = Kind(
    "DEPENDENCY_MISSING",
    "error",
    "A dependency of the profile is not in node_modules.",
    "Install it again: dsh plugin --profile NAME install",
)
LINK_STALE = Kind(
    "LINK_STALE",
    "error",
    "A linked plugin leads to a folder that is gone.",
    "Bring the folder back, or remove the plugin: dshloop plugin remove NAME",
    mends="repair",
)
LINK_ELSEWHERE = Kind(
    "LINK_ELSEWHERE",
    "warning",
    "The link in node_modules leads to another folder than package.json says.",
    "dshloop profile repair --apply makes the link anew.",
    mends="repair",
)
MODULE_LEFT = Kind(
    "MODULE_LEFT",
    "warning",
    "A link to a plugin that is no dependency any more is still in node_modules.",
    "dshloop profile repair --apply takes it out.",
    mends="repair",
)
VERSION_DRIFT = Kind(
    "VERSION_DRIFT",
    "warning",
    "Another version is installed than package.json or the lock says; pnpm's next run brings the "
    "recorded one back.",
    "Record what you want: dshloop plugin update NAME",
)
LOCK_DRIFT = Kind(
    "LOCK_DRIFT",
    "warning",
    "pnpm-lock.yaml and package.json name different dependencies.",
    "Let pnpm bring them together: dsh plugin --profile NAME install",
)
LOCK_INVALID = Kind(
    "LOCK_INVALID",
    "warning",
    "pnpm-lock.yaml can't be read.",
    "Remove it and install again: dsh plugin --profile NAME install",
)
CORDIS_YML_DIRTY = Kind(
    "CORDIS_YML_DIRTY",
    "warning",
    "cordis.yml holds entries. dsh rewrites it at every start, so they are lost, and a dsh that "
    "starts meanwhile fails on it.",
    "Move your entries into cordis.patch.yml; dsh empties the file at its next start.",
)


def every_kind() -> Iterator[Kind]:
    """Yield all kinds in the order of this module."""
    yield from (value for value in globals().values() if isinstance(value, Kind))
