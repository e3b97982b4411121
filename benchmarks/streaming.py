"""What streaming costs beyond the wire: a streamed event, and from a key press to its request.

    python -m benchmarks.streaming [--events N]

An event's cost is all that happens to it between the socket and the next one: server-sent events,
wire, chunk, log on disk, listeners; less the bare parse of the same bytes (cut at empty lines, one
json.loads each). A request's way ends where httpx takes over. It judges nothing: the exit code is 0
whatever the numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dshloop.host.agent import AgentOptions
from dshloop.host.engine import CreateOptions, Engine, Host
from dshloop.llm.adapter import ProviderAdapter
from dshloop.llm.messages import assistant_message, text_block, user_message
from dshloop.llm.providers import Provider
from dshloop.paths import Places
from dshloop.runs.stored import StoredSessions

ROUNDS = 7
EVENT_GOAL, REQUEST_GOAL = 25.0, 2.0  # microseconds, milliseconds
PIECES = {"one event a piece": 1, "16 events a piece": 16}


def chat(events: int) -> list[bytes]:
    """Give an answer of chat completions as its frames."""
    frames = [
        {
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"content": f" word{n}"}, "finish_reason": None}],
        }
        for n in range(events)
    ]  # fmt: skip
    frames.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in frames), DONE]


def messages(events: int) -> list[bytes]:
    """Give an answer of Messages as its frames."""
    delta = {"type": "content_block_delta", "index": 0}
    frames: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 0}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({**delta, "delta": {"type": "text_delta", "text": f" word{n}"}} for n in range(events)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ]
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in frames]


DONE = b"data: [DONE]\n\n"
WIRES: dict[Any, Callable[[int], list[bytes]]] = {"openai": chat, "anthropic": messages}


class Wireless:
    """Stands where the HTTP client stands: gives pieces at once, notes when it was asked."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.asked_at = 0.0

    @asynccontextmanager
    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.asked_at = time.perf_counter()
        yield SimpleNamespace(status=200, headers={}, chunks=self._chunks)

    async def _chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece

    async def close(self) -> None:
        pass


def bare(frames: list[bytes]) -> float:
    """Time the least that must be done with the bytes of an answer."""
    whole = b"".join(frames)
    begun = time.perf_counter()
    for frame in whole.split(b"\n\n"):
        at = frame.find(b"data: ")
        if at >= 0 and not frame.startswith(DONE.strip()):
            json.loads(frame[at + 6 :])
    return time.perf_counter() - begun


class Talk:
    """An agent with a log on disk whose provider is `Wireless`."""

    def __init__(self, folder: Path, kind: Any, pieces: list[bytes]) -> None:
        places = Places(folder / "dsh", folder / "data", folder / "config")
        self.wireless = Wireless(pieces)
        adapter = ProviderAdapter(Provider("p", kind, "http://127.0.0.1:1"), lambda: None, {})
        adapter._client = self.wireless  # type: ignore[assignment]
        sessions = StoredSessions(places, folder, time.time, "benchmark")
        self.host = Host(sessions, adapters={"p": adapter})

    async def begin(self) -> Any:
        options = CreateOptions("bench", cwd="/", agent_options=AgentOptions("p", "m"))
        agent = (await Engine().create_agent(self.host, options)).agent
        agent.listen(lambda _event: None)
        return agent


async def turn(kind: Any, pieces: list[bytes]) -> float:
    """Time one turn."""
    with tempfile.TemporaryDirectory() as folder:
        agent = await Talk(Path(folder), kind, pieces).begin()
        begun = time.perf_counter()
        agent.followup(user_message("go"))
        await agent.when_idle()
        taken = time.perf_counter() - begun
        await agent.end()
    return taken


async def per_event(kind: Any, count: int, together: int) -> float:
    """Give the microseconds that an event costs beyond the bare parse."""
    frames = WIRES[kind](count)
    pieces = [b"".join(frames[at : at + together]) for at in range(0, len(frames), together)]
    short = WIRES[kind](1)
    found = []
    for _ in range(ROUNDS):
        whole, empty = await turn(kind, pieces), await turn(kind, short)
        found.append((whole - empty - bare(frames)) / count * 1e6)
    return statistics.median(found)


async def to_request(kind: Any, exchanges: int) -> tuple[float, float]:
    """Give the milliseconds from a prompt to its request: the first one, and the median after."""
    frames = WIRES[kind](5)
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), kind, frames)
        agent = await talk.begin()
        for n in range(exchanges):
            agent.append("user/message", user_message(f"question {n} " * 20))
            answer = assistant_message([text_block(f"answer {n} " * 100)], "p", "m")
            agent.append("assistant/message", {"turn": 1, "step": 1, "message": answer})
        found = []
        for _ in range(20):
            begun = time.perf_counter()
            agent.followup(user_message("go"))
            await agent.when_idle()
            found.append((talk.wireless.asked_at - begun) * 1000)
        await agent.end()
    return found[0], statistics.median(found[1:])


async def measure(events: int) -> None:
    """Print everything."""
    print(f"a streamed event, {events} of them, beyond the bare parse (goal {EVENT_GOAL:g} µs)")
    for kind, frames in WIRES.items():
        parse = statistics.median(bare(frames(events)) for _ in range(ROUNDS)) / events * 1e6
        for name, together in PIECES.items():
            cost = await per_event(kind, events, together)
            print(f"  {kind:10} {name:18} {cost:6.1f} µs   {cost / parse:5.1f} bare parses")
    print(f"from the prompt to the request, beyond httpx (goal {REQUEST_GOAL:g} ms)")
    for kind in WIRES:
        for exchanges in (0, 100):
            first, later = await to_request(kind, exchanges)
            name = f"{2 * exchanges} messages before"
            print(f"  {kind:10} {name:18} first {first:6.2f} ms, then {later:6.2f} ms")


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=5000)
    asyncio.run(measure(options.parse_args().events))


if __name__ == "__main__":
    main()
