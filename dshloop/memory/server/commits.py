"""Commits and the sessions they came from (agentmemory 3.2): documents of the store."""

from __future__ import annotations

from typing import Any

from dshloop.memory.interchange.agentmemory_shape import session_row
from dshloop.memory.server.calls import (
    Answer,
    Call,
    CallRefusedError,
    documents_of,
    text_in,
    texts_in,
    whole_number,
)
from dshloop.memory.store import DocumentStore, MemoryStore

KIND = "commit"
_SHA = "sha is required and must be a non-empty string"
_TEXTS = ("branch", "repo", "message", "author", "authoredAt")
_MOST, _USUAL = 500, 100


def link(call: Call, store: MemoryStore) -> Answer:
    """Keep that a commit came from a session; later calls add to it."""
    documents = documents_of(store)
    (sha,) = call.needed(_SHA, "sha")
    commit: dict[str, Any] = documents.document(KIND, sha) or {
        "sha": sha,
        "shortSha": sha[:7],
        "files": [],
        "sessionIds": [],
    }
    for key in _TEXTS:
        value = text_in(call.body, key)
        if value is not None:
            commit[key] = value
    session = text_in(call.body, "sessionId")
    commit["files"] = list(dict.fromkeys([*commit["files"], *texts_in(call.body, "files")]))
    named = [] if session is None else [session]
    commit["sessionIds"] = list(dict.fromkeys([*commit["sessionIds"], *named]))
    commit["linkedAt"] = call.state.now()
    documents.keep_document(KIND, sha, commit)
    return Answer(200, {"commit": commit})


def by_commit(call: Call, store: MemoryStore) -> Answer:
    """Give a commit and its sessions."""
    sha = call.query.get("sha", "").strip()
    if not sha:
        raise CallRefusedError(400, _SHA)
    commit = documents_of(store).document(KIND, sha)
    if commit is None:
        raise CallRefusedError(404, "no sessions linked to this commit")
    known = [store.get_session(id_) for id_ in commit["sessionIds"]]
    rows = [session_row(one) for one in known if one is not None]
    return Answer(200, {"commit": commit, "sessions": rows})


def commits(call: Call, store: MemoryStore) -> Answer:
    """List commits, the newest link first."""
    limit = whole_number(call.query.get("limit")) or _USUAL
    branch, repo = call.query.get("branch"), call.query.get("repo")
    chosen = [
        one
        for one in documents_of(store).documents(KIND).values()
        if branch in (None, one.get("branch")) and repo in (None, one.get("repo"))
    ]
    newest = sorted(chosen, key=lambda one: str(one["linkedAt"]), reverse=True)
    return Answer(200, {"commits": newest[: min(max(limit, 1), _MOST)]})


def by_session(store: DocumentStore) -> dict[str, list[str]]:
    """Give the commits of each session that has some."""
    linked: dict[str, list[str]] = {}
    for sha, commit in store.documents(KIND).items():
        for id_ in commit["sessionIds"]:
            linked.setdefault(id_, []).append(sha)
    return linked
