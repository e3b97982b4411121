"""Trying loops: every check in a thread and a folder of its own, with an end to its patience."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from dshloop.errors import LoopKitError, UsageError
from dshloop.runs.authoring.checks import CHECKS, Check
from dshloop.runs.authoring.demands import require_heard, told_of
from dshloop.runs.authoring.report import Checked, LoopReport, Report
from dshloop.runs.authoring.subjects import Subject, subjects
from dshloop.runs.authoring.unheard import unheard

T = TypeVar("T")
PATIENCE = 10.0
"""Seconds that a check may take."""
GRACE = 1.0
"""Seconds more for what is cancelled then to end."""


def try_loops(
    target: str, cwd: Path, *, patience: float = PATIENCE, only: Sequence[str] = ()
) -> Report:
    """Try the loops of a module, an installed package or a folder.

    Raises LOOP_TARGET_NOT_FOUND, LOOP_IMPORT_FAILED for a module to be looked through, and USAGE
    for a check that there is none of.
    """
    only = _known(only)
    with subjects(target, cwd) as found:
        return Report([check_loop(one, patience=patience, only=only) for one in found])


def check_loop(
    subject: Subject, *, patience: float = PATIENCE, only: str | Sequence[str] = ()
) -> LoopReport:
    """Try one loop; what it does wrong is in the report, never raised.

    A loop that can't be loaded, and what stands behind a check that never ends, is not tried.
    ``only`` is one check or several, all without any; raises USAGE for one that there is none of.
    """
    only = _known(only)
    load = _Run(lambda: subject.make().kind)
    fault = load.outcome(patience)
    if load.stuck or fault is not None:
        first = _endless(CHECKS[0], patience) if fault is None else _failed(CHECKS[0], fault)
        rest = [
            _skipped(check, "it can't be loaded")
            for check in CHECKS[1:]
            if not only or check.name in only
        ]
        return LoopReport(subject.id, None, subject.target, (first, *rest))
    done: list[Checked] = []
    stuck = False
    for check in CHECKS:
        if only and check.name not in only:
            continue
        if stuck:
            done.append(_skipped(check, "a check before it never ended"))
            continue
        found = _tried(subject, check, patience)
        stuck = found is None
        done.append(found or _endless(check, patience))
    return LoopReport(subject.id, load.results[0], subject.target, tuple(done))


def _known(only: str | Sequence[str]) -> Sequence[str]:
    """Give the names of checks; one that there is none of would pass without a look."""
    names = [only] if isinstance(only, str) else only
    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise UsageError(f'there is no check "{name}"', hint=f"Checks: {', '.join(known)}.")
    return names


def _tried(subject: Subject, check: Check, patience: float) -> Checked | None:
    """Run one check; None when it doesn't end."""
    with _folder() as folder:
        run: _Run[None] = _Run(lambda: asyncio.run(_within(check, subject, folder, patience, run)))
        fault = run.outcome(patience + GRACE)
        if run.stuck:
            return None
    if fault is None:
        return Checked(check.name, check.about, "passed")
    if isinstance(fault, TimeoutError):
        return _late(check, patience)
    return _failed(check, fault)


async def _within(
    check: Check, subject: Subject, folder: Path, patience: float, run: _Run[None]
) -> None:
    whole = asyncio.current_task()
    assert whole is not None, "it runs in a task"
    run.cancel = partial(asyncio.get_running_loop().call_soon_threadsafe, whole.cancel)
    with unheard() as failures:
        task = asyncio.ensure_future(check.work(subject, folder))
        done, _ = await asyncio.wait({task}, timeout=patience)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE / 2)
            raise TimeoutError
        task.result()
        del task
    require_heard(failures)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="loop-test-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def in_time(work: Callable[[], T], patience: float, what: str) -> T:
    """Do something in a thread that is left alone when it doesn't end. Raises what it raises.

    LOOP_CHECKS_FAILED says that it took too long.
    """
    run = _Run(work)
    fault = run.outcome(patience)
    if run.stuck:
        raise LoopKitError(
            f"{what} has not ended within {patience:g} s",
            hint="Look for an await that never ends; kit.patience gives a slow one more time.",
        )
    if fault is not None:
        raise fault
    return run.results[0]


@dataclass(slots=True)
class _Run(Generic[T]):
    """Work in a thread that may never end; it is left alone then, and doesn't keep the process.

    A Ctrl-C meanwhile calls ``cancel``, so that nothing is written any more where it was at work.
    """

    work: Callable[[], T]
    cancel: Callable[[], object] = lambda: None
    stuck: bool = False
    results: list[T] = field(default_factory=list)
    raised: list[BaseException] = field(default_factory=list)

    def outcome(self, patience: float) -> BaseException | None:
        """Give what the work raised."""
        thread = threading.Thread(target=self._run, daemon=True, name="loop-test")
        thread.start()
        try:
            thread.join(patience)
        except BaseException:
            with suppress(RuntimeError):  # its event loop has ended
                self.cancel()
            thread.join(GRACE)
            raise
        self.stuck = thread.is_alive()
        return self.raised[0] if self.raised else None

    def _run(self) -> None:
        try:
            self.results.append(self.work())
        except BaseException as raised:
            self.raised.append(raised)


def _failed(check: Check, fault: BaseException) -> Checked:
    return Checked(check.name, check.about, "failed", *told_of(fault))


def _skipped(check: Check, why: str) -> Checked:
    return Checked(check.name, check.about, "skipped", f"not tried: {why}")


def _late(check: Check, patience: float) -> Checked:
    return Checked(
        check.name,
        check.about,
        "failed",
        f"it waits for something that doesn't come: {patience:g} s were not enough",
        "Look for an await that never ends, in a setup, a listener or a dispose; --timeout gives "
        "a loop that is only slow more time.",
    )


def _endless(check: Check, patience: float) -> Checked:
    return Checked(
        check.name,
        check.about,
        "failed",
        f"it holds the whole program up: nothing else runs, after {patience:g} s and a cancel",
        "Call nothing that waits without await (time.sleep, a request, a lock) in a setup, a "
        "listener or an engine, and let asyncio.CancelledError through.",
    )
