"""What models said in a recorded session, as the streams that say it again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Chunk = dict[str, Any]
Cause = Mapping[str, Any]

USER: Cause = {"kind": "user"}
"""What aborted a request whose log tells no more."""


class Answer(NamedTuple):
    """What a model streamed for one request; ``aborted`` is what cut it off."""

    chunks: Sequence[Chunk]
    aborted: Cause | None = None


class Summaries:
    """Collects what came of each request for a summary, in their order."""

    def __init__(self) -> None:
        self.found: list[Answer] = []
        self._asked = False

    def begin(self) -> None:
        """Take a ``compaction/start``."""
        self._asked = True

    def came(self, data: Mapping[str, Any]) -> None:
        """Take a ``compaction/summary``."""
        raw = data.get("rawOutput")
        content = raw if isinstance(raw, list) else data.get("summary")
        if isinstance(content, list):
            made = made_chunks({"message": {"content": content}, "usage": data.get("usage")})
            self._add(Answer(list(made)))

    def end(self, data: Mapping[str, Any]) -> None:
        """Take a ``compaction/end``: its error, if no summary came."""
        failed = data.get("error")
        if failed is None:
            return
        stopped = isinstance(failed, Mapping) and failed.get("code") == "ABORTED"
        self._failed(failed, within=stopped and data.get("turn") is not None)

    def killed(self, *, within: bool) -> None:
        """Take note that no more comes of what was begun: within a turn it is aborted again."""
        if self._asked:
            self._failed(None, within=within)

    def _failed(self, failed: Any, *, within: bool) -> None:
        self._add(Answer((), USER) if within else Answer(with_failure((), failed)))

    def _add(self, answer: Answer) -> None:
        self.found.append(answer)
        self._asked = False


def made_chunks(data: Mapping[str, Any]) -> Iterator[Chunk]:
    """Make the stream of a message whose chunks were not recorded."""
    message = data.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    blocks = [block for block in content or () if isinstance(block, dict)]
    for index, block in enumerate(blocks):
        yield {"type": "block-start", "index": index, "blockType": block.get("type")}
        yield {"type": "block-end", "index": index, "block": block}
    if isinstance(data.get("usage"), Mapping):
        yield {"type": "usage", "usage": data["usage"]}
    calls = any(block.get("type") == "tool-call" for block in blocks)
    yield {"type": "finish", "reason": {"kind": "tool-calls" if calls else "stop"}}


def with_failure(chunks: Sequence[Chunk], failure: Any) -> list[Chunk]:
    """End a stream with the failure it had, unless it says so itself."""
    if any(chunk.get("type") == "finish" for chunk in chunks):
        return list(chunks)
    known = failure if isinstance(failure, Mapping) else {"message": "it failed", "code": "UNKNOWN"}
    return [*chunks, {"type": "finish", "reason": {"kind": "error", "failure": dict(known)}}]
