"""The messages of a session, taken apart for a model's wire (dsh-sessions 5).

Tool results are messages of role user with one ``tool-result`` block (v0), or of role tool with
``toolCallId`` (v4). What a wire would refuse is left out here: empty answers, calls that were never
run (those of an answer that was cut) and results without a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dshloop.errors import DshloopError
from dshloop.llm.failures import WireError
from dshloop.llm.messages import Attachments

Block = Mapping[str, Any]

_SILENT = frozenset({"tool-addition", "tool-removal"})  # told to a model by its list of tools


class Said(NamedTuple):
    """Words of the user's or, with another role, of the harness's: system, developer.

    ``images`` are the blocks of the images that came with them.
    """

    role: str
    text: str
    images: Sequence[Block] = ()


class Result(NamedTuple):
    """What a tool gave back."""

    call_id: str
    text: str
    is_error: bool = False


class Answer(NamedTuple):
    """What a model said; ``replay`` are its provider's notes on the blocks, one each.

    ``current`` is true in the turn that is under way: after the last words of the user's.
    """

    provider: str | None
    model: str | None
    blocks: Sequence[Block]
    replay: Sequence[Mapping[str, Any]] = ()
    current: bool = False

    @property
    def calls(self) -> list[Block]:
        """The tool calls in it."""
        return [block for block in self.blocks if block["type"] == "tool-call"]

    def text(self, kind: str = "text") -> str:
        """Join the text, or the reasoning, in it."""
        return "".join(str(block["text"]) for block in self.blocks if block["type"] == kind)


Item = Said | Result | Answer


def read_history(messages: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Take messages apart. Raises WireError, UNSUPPORTED_CONTENT for what no wire sends."""
    items = [item for message in messages for item in _items(message)]
    answered = {item.call_id for item in items if isinstance(item, Result)}
    last = max((at for at, item in enumerate(items) if _is_user(item)), default=-1)
    return list(_sound(items, answered, last))


def _is_user(item: Item) -> bool:
    return isinstance(item, Said) and item.role == "user"


def _sound(items: Sequence[Item], answered: set[str], last: int) -> Iterator[Item]:
    called: set[str] = set()
    for at, item in enumerate(items):
        if isinstance(item, Answer):
            kept = _kept(item, answered, current=at > last)
            called |= {str(call["id"]) for call in kept.calls}
            if any(block["type"] != "reasoning" for block in kept.blocks):
                yield kept
        elif isinstance(item, Said) or item.call_id in called:
            yield item


def _kept(answer: Answer, answered: set[str], *, current: bool) -> Answer:
    """Give an answer without what a wire would refuse, each block with its note."""
    places = [at for at, block in enumerate(answer.blocks) if _is_kept(block, answered)]
    return Answer(
        answer.provider,
        answer.model,
        [answer.blocks[at] for at in places],
        [answer.replay[at] for at in places] if answer.replay else (),
        current,
    )


def _is_kept(block: Block, answered: set[str]) -> bool:
    if block["type"] == "tool-call":
        return block["id"] in answered
    return block["type"] == "reasoning" or bool(block["text"].strip())


def _items(message: Mapping[str, Any]) -> Iterator[Item]:
    role = message.get("role")
    content = message.get("content")
    blocks = [block for block in content or () if isinstance(block, dict)]
    if role == "assistant":
        yield _answer(message, blocks)
        return
    if role == "tool":
        yield _result({**message, "content": blocks})
        return
    yield from (_result(block) for block in blocks if block.get("type") == "tool-result")
    own = [block for block in blocks if block.get("type") != "tool-result"]
    images = [block for block in own if block.get("type") == "image"] if role == "user" else []
    text = "\n\n".join(_texts(block for block in own if block not in images))
    if text or images:
        yield Said(str(role), text, images)


def _answer(message: Mapping[str, Any], blocks: Sequence[Block]) -> Answer:
    source = message.get("source")
    source = source if isinstance(source, dict) else {}
    state = source.get("replayState")
    notes = state.get("blocks") if isinstance(state, dict) else None
    notes = notes if isinstance(notes, list) and len(notes) == len(blocks) else []
    kinds = ("text", "reasoning", "tool-call")
    for block in blocks:
        if block.get("type") not in kinds:
            raise unsupported(block)
    return Answer(
        source.get("provider"),
        source.get("model"),
        blocks,
        [note if isinstance(note, dict) else {} for note in notes],
    )


def _result(block: Block) -> Result:
    inner = block.get("content")
    texts = _texts(item for item in inner or () if isinstance(item, dict))
    return Result(str(block.get("toolCallId")), "\n".join(texts), bool(block.get("isError")))


def _texts(blocks: Iterator[Block]) -> list[str]:
    found = []
    for block in blocks:
        if block.get("type") in ("text", "reasoning"):
            found.append(str(block.get("text") or ""))
        elif block.get("type") not in _SILENT:
            raise unsupported(block)
    return found


def unsupported(block: Block) -> WireError:
    """Make the error of content that no model can be sent here."""
    kind = block.get("type")
    message = f"the conversation holds content of type {kind}, which can't be sent to this model"
    return WireError(message, "UNSUPPORTED_CONTENT")


def image_of(block: Block, attachments: Attachments | None) -> tuple[str, str]:
    """Give an image's media type and its bytes as Base64.

    Raises WireError, UNSUPPORTED_CONTENT when nobody has the bytes.
    """
    from base64 import b64encode

    found = block.get("attachment")
    given: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    name, media_type = given.get("attachmentId"), given.get("mediaType")
    if attachments is None or not isinstance(name, str) or not isinstance(media_type, str):
        raise unsupported(block)
    try:
        content = attachments.read(name)
    except DshloopError as fault:
        mend = f"attach {given.get('name') or 'it'} once more and it is found again"
        raise WireError(f"{fault.message}; {mend}", "UNSUPPORTED_CONTENT") from None
    return media_type, b64encode(content).decode("ascii")


@dataclass(slots=True)
class Merged:
    """Items that follow each other on one side, as a wire with strict turns wants them."""

    role: str
    results: list[Result] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    answer: Answer | None = None


def merged(items: Sequence[Item]) -> Iterator[Merged]:
    """Put all that stands between two answers together, results first."""
    pending = Merged("user")
    for item in items:
        if isinstance(item, Answer):
            if pending.results or pending.said:
                yield pending
            yield Merged("assistant", answer=item)
            pending = Merged("user")
        elif isinstance(item, Result):
            pending.results.append(item)
        else:
            pending.said.append(item)
    if pending.results or pending.said:
        yield pending
