"""POST /search and /smart-search, and the diagnostic of searches that follow one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from dshloop.memory.answers import Filters
from dshloop.memory.entries import Entry, Observation
from dshloop.memory.server import lessons
from dshloop.memory.server.calls import (
    Answer,
    Call,
    CallRefusedError,
    encoded,
    plain,
    positive_integer,
    text_in,
    whole_number,
)
from dshloop.memory.server.rows import (
    MEMORY_SESSION,
    compact_row,
    exact,
    found_row,
    session_of,
)
from dshloop.memory.store import MemoryStore

FORMATS = ("full", "compact", "narrative")
DEFAULT, MOST = 20, 100
EXPANDED = 20
LESSONS, LESSON_TEXT = 10, 240
A_SESSION, RESERVED = 3, 4
"""One session may be three results, or all but a quarter, while others wait. (agentmemory allows
three of any number, which costs answers.)"""

_CAVEAT = (
    "Counts searches of this server since it started; a search within the window after another one "
    "of the same session suggests that the first did not answer."
)


class Found(NamedTuple):
    """An entry that answers, and how well: 0..1."""

    entry: Entry
    score: float


def search(call: Call, store: MemoryStore) -> Answer:
    """Answer a question: whole rows, compact ones or a narrative, within a budget."""
    query = text_in(call.body, "query")
    if query is None:
        raise CallRefusedError(400, "query is required and must be a non-empty string")
    limit = _optional_count(call, "limit")
    for key in ("project", "cwd"):
        if not isinstance(call.body.get(key, ""), str):
            raise CallRefusedError(400, f"{key} must be a string")
    form = _form(call)
    budget = _optional_count(call, "token_budget")
    where = Filters(project=text_in(call.body, "project"), agent=call.agent_filter())
    most = min(limit or DEFAULT, MOST)
    hits = found(store, query, where, most, cwd=text_in(call.body, "cwd"))
    return Answer(200, _within(budget, form, [_result(one, form) for one in hits]))


def smart_search(call: Call, store: MemoryStore) -> Answer:
    """Answer a question compactly, lessons beside it; or show the rows of ids."""
    expand = call.body.get("expandIds")
    if isinstance(expand, list) and expand:
        return Answer(200, _expanded(call, store, expand))
    if "query" not in call.body or call.body["query"] in (None, ""):
        raise CallRefusedError(400, "query or expandIds is required")
    query = text_in(call.body, "query")
    if query is None:
        return Answer(200, {"mode": "compact", "results": [], "error": "query is required"})
    limit = _clamped(call.body.get("limit"))
    project = text_in(call.body, "project")
    where = Filters(project=project, agent=call.agent_filter())
    hits = _spread(store, query, where, limit)
    results = [compact_row(found_row(one.entry), one.score) for one in hits]
    answer: dict[str, Any] = {"mode": "compact", "results": results}
    if call.body.get("includeLessons") is not False:
        told = lessons.matching(store, query, call.state.clock(), project=project, limit=LESSONS)
        answer["lessons"] = [_brief(one) for one in told]
    call.state.searched(text_in(call.body, "sessionId"))
    return Answer(200, answer)


def followup(call: Call, store: MemoryStore) -> Answer:
    """Tell how often a search followed another one."""
    asked, followed = call.state.followups()
    return Answer(
        200,
        {
            "success": True,
            "windowSeconds": call.settings.followup_seconds,
            "agentInitiatedSearches": asked,
            "followupWithinWindow": followed,
            "rate": round(followed / asked, 4) if asked else 0,
            "caveat": _CAVEAT,
        },
    )


def found(
    store: MemoryStore,
    query: str,
    where: Filters,
    limit: int,
    *,
    cwd: str | None = None,
    floor: float | None = 0.0,
) -> list[Found]:
    """Ask the store; near-equal entries that it folds are results of their own.

    What is searched for has no floor; None is the store's own, for what is put before an agent.

    Words of one character ask for nothing (agentmemory 8). ``cwd`` is compared with the session's
    and holds for observations only.
    """
    if all(len(word) == 1 and word.isascii() for word in query.split()):
        return []
    asked = limit if cwd is None else max(10 * limit, MOST)
    every = _every(store, query, where, asked, floor)
    passing = every if cwd is None else _within_folder(store, every, cwd)
    return list(islice(passing, limit))


def spread(hits: Sequence[Found], limit: int) -> list[Found]:
    """Choose results, best first: no session has more than its share while others wait.

    Memories are of no session, and have no share.
    """
    share, taken = share_of(limit), Counter[str]()
    chosen: list[int] = []
    for at, one in enumerate(hits):
        session = session_of(one.entry)
        if len(chosen) < limit and (taken[session] < share or session == MEMORY_SESSION):
            taken[session] += 1
            chosen.append(at)
    waiting = (at for at in range(len(hits)) if at not in set(chosen))
    chosen += islice(waiting, limit - len(chosen))
    return [hits[at] for at in sorted(chosen)]


def share_of(limit: int) -> int:
    """Give how many of the results one session may be, three at least (agentmemory 8)."""
    return max(A_SESSION, limit - limit // RESERVED)


def _spread(store: MemoryStore, query: str, where: Filters, limit: int) -> list[Found]:
    """Ask for results; for more when one session has most of them, so that others can come in."""
    hits = found(store, query, where, limit)
    counts = Counter(session_of(one.entry) for one in hits)
    del counts[MEMORY_SESSION]
    if max(counts.values(), default=0) > share_of(limit):
        hits = found(store, query, where, min(2 * limit, MOST))
    return spread(hits, limit)


def _every(
    store: MemoryStore, query: str, where: Filters, limit: int, floor: float | None
) -> Iterator[Found]:
    for hit in store.recall(query, where, limit=limit, min_score=floor):
        score = round(hit.score, 6)
        yield Found(hit.entry, score)
        for id_ in hit.folded:
            entry = exact(store, id_)
            if entry is not None:
                yield Found(entry, score)


def _within_folder(store: MemoryStore, hits: Iterator[Found], cwd: str) -> Iterator[Found]:
    folders: dict[str, str | None] = {}
    for one in hits:
        if not isinstance(one.entry, Observation):
            yield one
            continue
        id_ = one.entry.session
        if id_ not in folders:
            session = store.get_session(id_)
            folders[id_] = None if session is None else session.cwd
        if folders[id_] in (None, cwd):
            yield one


def _result(one: Found, form: str) -> dict[str, Any]:
    row = found_row(one.entry)
    if form == "full":
        return {"observation": row, "score": one.score, "sessionId": row["sessionId"]}
    result = compact_row(row, one.score)
    if form == "narrative":
        del result["type"]
        result["narrative"] = row["narrative"]
    return result


def _within(budget: int | None, form: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep the results before the first that doesn't fit; an item costs a third of its JSON."""
    spent, kept = 0, []
    for one in results:
        cost = max(1, -(-_units(encoded(one)) // 3))
        if budget is not None and spent + cost > budget:
            break
        spent += cost
        kept.append(one)
    answer = {
        "format": form,
        "results": kept,
        "tokens_used": spent,
        "truncated": len(kept) < len(results),
    }
    if budget is not None:
        answer["tokens_budget"] = budget
    if form == "narrative":
        answer["text"] = "\n\n".join(
            f"{number}. {one['title']}\n{one['narrative']}" for number, one in enumerate(kept, 1)
        )
    return answer


def _expanded(call: Call, store: MemoryStore, ids: Sequence[Any]) -> dict[str, Any]:
    agent = call.agent_filter()
    results = []
    for one in ids[:EXPANDED]:
        id_ = text_in(one, "obsId") if isinstance(one, Mapping) else one
        entry = exact(store, id_) if isinstance(id_, str) and id_ else None
        if entry is not None and agent in (None, entry.agent):
            row = found_row(entry)
            results.append({"obsId": entry.id, "sessionId": row["sessionId"], "observation": row})
    return {"mode": "expanded", "results": results, "truncated": len(ids) > EXPANDED}


def _brief(lesson: Mapping[str, Any]) -> dict[str, Any]:
    text = lesson["content"]
    brief = {
        "lessonId": lesson["id"],
        "content": text if len(text) <= LESSON_TEXT else f"{text[:LESSON_TEXT]}…",
        "confidence": lesson["confidence"],
        "score": lesson["score"],
        "createdAt": lesson["createdAt"],
        "tags": lesson["tags"],
    }
    return brief | ({"project": lesson["project"]} if "project" in lesson else {})


def _optional_count(call: Call, key: str) -> int | None:
    if key not in call.body:
        return None
    number = positive_integer(call.body[key])
    if number is None:
        raise CallRefusedError(400, f"{key} must be a positive integer")
    return number


def _clamped(value: Any) -> int:
    """Read a limit of smart-search: 1 to 100, the default where it is no number."""
    if isinstance(value, str):
        value = whole_number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return DEFAULT
    return int(min(max(plain(value) if abs(value) < MOST else value, 1), MOST))


def _form(call: Call) -> str:
    value = call.body.get("format", FORMATS[0])
    form = value.strip().lower() if isinstance(value, str) else ""
    if form not in FORMATS:
        raise CallRefusedError(400, f"format must be one of: {', '.join(FORMATS)}")
    return form


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
