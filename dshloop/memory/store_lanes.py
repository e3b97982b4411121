"""Stores asked at the same time, each in a thread of its own and with a limit for its answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from dshloop.errors import (
    DshloopError,
    StoreSilentError,
    StoresUnreachableError,
    StoreUnknownError,
    UsageError,
)
from dshloop.memory.store import MemoryReader

_LETTING_GO = 1.0  # seconds for stores to close; one that hangs is left behind
_ASKERS = (UsageError, StoreUnknownError)  # faults of the question: no store could mend them
T = TypeVar("T")
Question = Callable[[MemoryReader], T]


class Source(NamedTuple):
    """A store by its name, and what opens it."""

    name: str
    open: Callable[[], MemoryReader]


class Failure(NamedTuple):
    """A store that gave no answer, and why."""

    store: str
    error: Exception

    @property
    def message(self) -> str:
        """Say why in a sentence that doesn't name the store again."""
        error = self.error
        text = error.message if isinstance(error, DshloopError) else str(error)
        return text.removeprefix(f"{self.store} ") or type(error).__name__


class StoreLanes:
    """Several stores. One that fails or takes longer than ``patience`` seconds is told to ``warn``,
    once; one that was silent is not asked again."""

    def __init__(
        self, sources: Sequence[Source], patience: float, warn: Callable[[Failure], object]
    ) -> None:
        self._lanes = [_Lane(source) for source in sources]
        self._patience, self._warn = patience, warn
        self._told: set[str] = set()

    @property
    def names(self) -> list[str]:
        """The names of the stores, in their order."""
        return [lane.name for lane in self._lanes]

    def ask(self, question: Question[T]) -> dict[str, T]:
        """Ask every store at once; give the answers by store, in the order of the stores.

        Raises STORES_UNREACHABLE when none answers, and what the question itself is to blame for.
        """
        asked = [(lane, lane.ask(question)) for lane in self._lanes if not lane.silent]
        deadline = time.monotonic() + self._patience
        answers: dict[str, T] = {}
        failures: list[Failure] = []
        for lane, future in asked:
            try:
                answers[lane.name] = self._answer(lane, future, deadline)
            except _ASKERS:
                raise
            except Exception as error:
                failures.append(Failure(lane.name, error))
        if not answers:
            raise _unreachable([*failures, *self._left_out(asked)])
        for failure in failures:
            if failure.store not in self._told:
                self._told.add(failure.store)
                self._warn(failure)
        return answers

    def _answer(self, lane: _Lane, future: Future[T], deadline: float) -> T:
        try:
            return future.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            if future.done():  # just in time, or the store's own time-out
                return future.result()
            lane.silent = True
            raise _silence(lane.name, self._patience) from None

    def _left_out(self, asked: Sequence[tuple[_Lane, Any]]) -> Iterator[Failure]:
        """Give the stores that were not asked again."""
        there = [lane for lane, _ in asked]
        for lane in self._lanes:
            if lane not in there:
                yield Failure(lane.name, _silence(lane.name, self._patience))

    def ask_one(self, name: str, question: Question[T]) -> T:
        """Ask one store; what it raises is the answer."""
        lane = next(lane for lane in self._lanes if lane.name == name)
        return self._answer(lane, lane.ask(question), time.monotonic() + self._patience)

    def close(self) -> None:
        """Let go of the stores; one that hangs is left behind. May be called twice."""
        deadline = time.monotonic() + _LETTING_GO
        for lane in self._lanes:
            lane.end()
        for lane in self._lanes:
            lane.join(max(0.0, deadline - time.monotonic()))


class _Lane:
    """A store and the thread that owns it; the thread begins with the first question."""

    def __init__(self, source: Source) -> None:
        self.name, self._open = source
        self.silent = False
        self._questions: SimpleQueue[tuple[Question[Any], Future[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def ask(self, question: Question[T]) -> Future[T]:
        answer: Future[T] = Future()
        self._questions.put((question, answer))
        if self._thread is None:
            # A daemon: a store that hangs doesn't keep the process from ending.
            self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
            self._thread.start()
        return answer

    def _run(self) -> None:
        store: MemoryReader | None = None
        while (asked := self._questions.get()) is not None:
            question, answer = asked
            try:
                if store is None:
                    store = self._open()
                answer.set_result(question(store))
            except BaseException as error:
                answer.set_exception(error)
        if store is not None:
            store.close()

    def end(self) -> None:
        self._questions.put(None)

    def join(self, seconds: float) -> None:
        if self._thread is not None and not self.silent:
            self._thread.join(seconds)


def _silence(store: str, patience: float) -> StoreSilentError:
    return StoreSilentError(f"{store} did not answer within {patience:g} s", store=store)


def _unreachable(failures: Sequence[Failure]) -> StoresUnreachableError:
    told = "; ".join(f"{failure.store}: {failure.message}" for failure in failures)
    return StoresUnreachableError(
        f"no store answered ({told})", stores={one.store: one.message for one in failures}
    )
