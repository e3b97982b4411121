"""Why a session runs on this loop and driver: every candidate in order (loop-dock 18.9).

Built only when somebody asks. Who wins is never decided here: the selection is made as always,
and the candidates are what it looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import DshloopError
from dshloop.loops.binding import Recorded
from dshloop.loops.candidates import (
    Candidate,
    Offer,
    create_offers,
    driver_candidates,
    loop_candidates,
    resume_offers,
)
from dshloop.loops.resolution import NAMED_BY, Resolved, choose_driver
from dshloop.loops.selection import Origin, Selection

if TYPE_CHECKING:
    from dshloop.loops.dock import Dock


@dataclass(frozen=True, slots=True)
class Explanation:
    """What would run and why; ``conflict`` is the error that keeps it from running.

    ``recorded`` is None when creating; False marks a session whose loop is only inferred.
    """

    loop: str | None
    driver: str | None
    source: str | None
    driver_source: str | None
    candidates: tuple[Candidate, ...]
    conflict: DshloopError | None = None
    notices: tuple[str, ...] = ()
    recorded: bool | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the explanation as `loop explain --json` prints it."""
        found: dict[str, Any] = {
            "loop": self.loop,
            "driver": self.driver,
            "source": self.source,
            "driver_source": self.driver_source,
            "candidates": [candidate.as_json() for candidate in self.candidates],
            "notices": list(self.notices),
        }
        if self.recorded is not None:
            found["recorded"] = self.recorded
        if self.conflict is not None:
            found["conflict"] = self.conflict.as_json()
        return found


def explain_create(
    dock: Dock, options: Mapping[str, Any], places: Mapping[str, str] | None = None
) -> Explanation:
    """Explain what a create with these options would select.

    ``places`` gives a file and line for config paths like `sessionLoops.s1`.
    """
    outcome = _outcome(dock, lambda: dock.select_create(options))
    return _explained(dock, list(create_offers(dock, options)), places, outcome)


async def explain_resume(
    dock: Dock,
    options: Mapping[str, Any],
    places: Mapping[str, str] | None = None,
    *,
    force_rebind: bool = False,
    config_changed_at: float | None = None,
) -> Explanation:
    """Explain what a resume with these options would select; see `explain_recorded`.

    Raises what reading the session's log raises: SESSION_UNREADABLE, SESSION_NOT_FOUND.
    """
    session = options["resumeSessionId"]
    recorded = await dock.recorded(session, force_rebind=force_rebind)
    return explain_recorded(dock, options, recorded, places, config_changed_at=config_changed_at)


def explain_recorded(
    dock: Dock,
    options: Mapping[str, Any],
    recorded: Recorded,
    places: Mapping[str, str] | None = None,
    *,
    config_changed_at: float | None = None,
) -> Explanation:
    """Explain a resume of a session whose log says `recorded`.

    ``config_changed_at``, in seconds since the epoch, is when the routes were last written: a
    session without a record may have run on other ones (loop-dock 18.3).
    """
    outcome = _outcome(dock, lambda: dock.select_resume(options, recorded))
    found = _explained(dock, list(resume_offers(dock, options, recorded)), places, outcome)
    inferred = _inferred(outcome.selection, recorded, config_changed_at)
    return replace(
        found,
        recorded=recorded.binding is not None,
        notices=(*found.notices, *inferred),
    )


class _Outcome(NamedTuple):
    """How far a selection came, and the error that stopped it."""

    selection: Selection | None
    resolved: Resolved | None = None
    conflict: DshloopError | None = None


def _outcome(dock: Dock, select: Callable[[], Selection]) -> _Outcome:
    selection: Selection | None = None
    try:
        selection = select()
        return _Outcome(selection, dock.resolve(selection))
    except DshloopError as error:
        return _Outcome(selection, None, error)


def _explained(
    dock: Dock, offers: list[Offer], places: Mapping[str, str] | None, outcome: _Outcome
) -> Explanation:
    selection = outcome.selection
    chosen = _chosen(dock, outcome)
    candidates = [
        *loop_candidates(dock, offers, selection),
        *driver_candidates(dock, offers, selection, chosen),
    ]
    known = places or {}
    driver, driver_from = chosen
    return Explanation(
        loop=None if selection is None else selection.loop,
        driver=driver,
        source=None if selection is None else selection.source,
        driver_source=_driver_source(selection, driver_from),
        candidates=tuple(c._replace(where=_place(c.where, known)) for c in candidates),
        conflict=outcome.conflict,
        notices=tuple(_ignored(outcome)),
    )


def _place(where: str, known: Mapping[str, str]) -> str:
    """Say where a candidate is written; for a route there is none of, where it would be."""
    return known.get(where) or known.get(where.partition(".")[0], where)


def _driver_source(selection: Selection | None, origin: Origin | None) -> str | None:
    """Say where the driver is from, in the original's words as far as it has some."""
    if selection is not None and selection.driver_from == origin:
        return selection.driver_source
    return origin


def _chosen(dock: Dock, outcome: _Outcome) -> tuple[str | None, Origin | None]:
    """Name the driver and what named it, also where it turned out to be missing."""
    selection, resolved, _ = outcome
    if resolved is not None:
        return resolved.driver, resolved.driver_from
    loop = None if selection is None else dock.loops.get(selection.loop)
    if selection is None or loop is None or loop.kind == "driver":
        return None, None
    return choose_driver(selection, loop, dock.default_driver)


def _ignored(outcome: _Outcome) -> Iterator[str]:
    """Tell of a driver that has no part in the driver loop that won (loop-dock 18.1)."""
    selection, resolved, _ = outcome
    if resolved is None or resolved.ignored is None or selection is None:
        return
    reason = NAMED_BY[selection.driver_from or "preset route"]
    yield (
        f'driver "{resolved.ignored}" is ignored, because "{resolved.loop.id}" is a driver '
        f"loop chosen elsewhere ({reason})"
    )


def _inferred(
    selection: Selection | None, recorded: Recorded, config_changed_at: float | None
) -> Iterator[str]:
    """Tell that a loop is only inferred, and if the routes are newer than the session (18.3)."""
    if recorded.binding is not None or selection is None:
        return
    if selection.loop_from not in ("preset route", "config"):
        return
    source = "preset" if selection.loop_from == "preset route" else "default"
    yield f"the loop is inferred from the {source}, not recorded in the session's log"
    last, changed = recorded.last_event, config_changed_at
    if last is not None and changed is not None and changed * 1000 > last:
        yield "the routes were changed after the session's last event: it may have run elsewhere"
