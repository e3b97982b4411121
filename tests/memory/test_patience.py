"""Waiting for a store no longer than the one who asks can."""

from __future__ import annotations

import threading

import pytest

from dshloop.errors import StoreSilentError
from dshloop.memory.patience import within


def test_an_answer_and_a_fault_are_given_as_they_are() -> None:
    assert within(10, "s", lambda: 7) == 7
    assert within(10, "s", lambda: None) is None
    with pytest.raises(ZeroDivisionError):
        within(10, "s", lambda: 1 / 0)


def test_what_takes_too_long_is_left_behind() -> None:
    over, asking = threading.Event(), []

    def question() -> None:
        asking.append(threading.current_thread())
        over.wait(60)

    with pytest.raises(StoreSilentError, match=r"s did not answer within 0\.05 s"):
        within(0.05, "s", question)
    over.set()
    asking[0].join()
    assert asking[0].daemon
