"""The user's patch files as files: encoding, YAML, and the list they must be."""

from __future__ import annotations

from collections.abc import Iterator

from dshloop.errors import DshloopError, DshYamlInvalidError, UnreadableFileError
from dshloop.files import BOM, shown
from dshloop.profiles.checks import kinds, surgery
from dshloop.profiles.checks.edits import text_edit
from dshloop.profiles.checks.findings import Finding, Kind, Mend
from dshloop.profiles.checks.subject import Case, UserFile, text_of
from dshloop.profiles.layers import Place


def check_patch_files(case: Case) -> Iterator[Finding]:
    """Find what keeps dsh from reading the patch files of the profile and the home."""
    for file in case.user_files:
        if file.data is None:
            yield _finding(kinds.PATCH_UNREADABLE, file, _reason(file), at=(None, None))
            continue
        yield from _encoding(file, file.data)
        if file.fault is not None:
            yield _damage(file, file.data, file.fault)


def _encoding(file: UserFile, data: bytes) -> Iterator[Finding]:
    if surgery.utf8_of(data) is not None:
        mend = Mend(
            file.path,
            "save it as UTF-8",
            lambda content: surgery.utf8_of(content) if isinstance(content, bytes) else content,
        )
        yield _finding(kinds.PATCH_ENCODING, file, "the file is UTF-16 or UTF-32", mend=mend)
        return
    try:
        text_of(data, file.path)
    except UnreadableFileError as fault:
        at = fault.details.get("line"), fault.details.get("column")
        yield _finding(kinds.PATCH_ENCODING, file, fault.message, at=at)
        return
    if data.startswith(BOM):
        mend = Mend(
            file.path,
            "take the byte order mark out",
            text_edit(file.path, lambda text: text.removeprefix(surgery.BOM)),
        )
        why = "the file starts with a byte order mark"
        yield _finding(kinds.PATCH_BOM, file, why, mend=mend)


def _damage(file: UserFile, data: bytes, fault: DshloopError) -> Finding:
    """Name what keeps a file from being a list of patches, with a mend where one is certain."""
    at = fault.details.get("line"), fault.details.get("column")
    try:
        text = text_of(data, file.path)
    except UnreadableFileError:
        return _finding(kinds.PATCH_UNPARSABLE, file, _reason(file), at=at)
    if not isinstance(fault, DshYamlInvalidError):
        mend = Mend(file.path, "write [] into it", text_edit(file.path, surgery.with_root))
        if surgery.with_root(text) is not None:
            return _finding(kinds.PATCH_EMPTY, file, "it holds no list", mend=mend, at=(1, 1))
        return _finding(kinds.PATCH_INVALID, file, _reason(file), at=at)
    clean = surgery.without_inner_marks(text)
    if clean != text and surgery.entries_of(clean) is not None:
        mend = Mend(
            file.path,
            "take the byte order marks out that stand inside",
            text_edit(file.path, surgery.without_inner_marks),
        )
        return _finding(kinds.PATCH_BOM_INSIDE, file, _reason(file), mend=mend, at=at)
    if surgery.joined_lists(clean) is not None:
        mend = Mend(
            file.path,
            "make one list of it",
            text_edit(
                file.path, lambda now: surgery.joined_lists(surgery.without_inner_marks(now))
            ),
        )
        why = f"entries stand behind a list that is complete already ({_reason(file)})"
        return _finding(kinds.PATCH_ROOT_APPENDED, file, why, mend=mend, at=at)
    return _finding(kinds.PATCH_UNPARSABLE, file, _reason(file), at=at)


def _reason(file: UserFile) -> str:
    """Give the fault without the path, which the finding names by itself."""
    assert file.fault is not None
    message = file.fault.message.split("YAMLException: ")[-1]
    reason = file.fault.details.get("reason")
    return str(reason) if isinstance(reason, str) else message


def _finding(
    kind: Kind,
    file: UserFile,
    why: str,
    *,
    mend: Mend | None = None,
    at: tuple[int | None, int | None] = (1, 1),
) -> Finding:
    place = Place(str(file.path), shown(file.path), *at)
    return Finding(kind, why, place, mend=mend)
