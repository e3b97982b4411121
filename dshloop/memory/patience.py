"""Waiting for a store no longer than the one who asks can."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from dshloop.errors import StoreSilentError

T = TypeVar("T")


def within(seconds: float, store: str, question: Callable[[], T]) -> T:
    """Give the answer of a question to a store, or raise what it raises.

    Raises STORE_SILENT when it takes longer; the question is left behind then, in a thread that
    keeps no process from ending.
    """
    answers: list[T] = []
    faults: list[BaseException] = []

    def ask() -> None:
        try:
            answers.append(question())
        except BaseException as fault:
            faults.append(fault)

    asking = threading.Thread(target=ask, name=store, daemon=True)
    asking.start()
    asking.join(seconds)
    if faults:
        raise faults[0]
    if not answers:
        raise StoreSilentError(f"{store} did not answer within {seconds:g} s", store=store)
    return answers[0]
