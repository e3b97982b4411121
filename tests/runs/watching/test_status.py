"""How a conversation stands, in a line."""

from __future__ import annotations

import pytest

from dshloop.runs.watching.status import Spent, Status, short


def usage(**counts: int) -> dict[str, object]:
    return {"type": "assistant/message", "data": {"usage": counts}}


def test_tokens_are_counted_from_what_answers_cost() -> None:
    spent = Spent()
    first = usage(inputTokens=100, cacheReadTokens=900, outputTokens=50, reasoningTokens=30)
    spent.see([{"type": "turn/start", "data": {"turn": 1}}, first])
    spent.see([usage(inputTokens=2000, outputTokens=10), {"type": "assistant/message", "data": {}}])
    assert (spent.context, spent.input, spent.output) == (2010, 3000, 90)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (12_340, "12.3k"),
        (999_949, "999.9k"),
        (1_000_000, "1M"),
    ],
)
def test_counts_are_short(count: int, text: str) -> None:
    assert short(count) == text


def test_the_line_names_route_pin_and_window() -> None:
    spent = Spent(context=12_000, input=30_000, output=400)
    status = Status("careful", "default", "standard", "p/m", "careful", spent, 128_000)
    assert status.line() == (
        "careful on default · p/m (pinned by careful) · "
        "context 12k of 128k, in 30k, out 400 · preset standard"
    )
    assert Status("own", None, None, None, None).line() == "own · no tokens yet"
