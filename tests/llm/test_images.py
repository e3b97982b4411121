"""Images of a history as the two wires send them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dshloop.errors import AttachmentNotFoundError
from dshloop.llm.anthropic import MessagesWire
from dshloop.llm.failures import WireError
from dshloop.llm.messages import ModelRequest, user_message
from dshloop.llm.openai import ChatWire
from dshloop.llm.wire import Endpoint

IMAGE = {"type": "image", "attachment": {"attachmentId": "a", "mediaType": "image/png"}}
BYTES = base64.b64encode(b"bytes of a").decode()


class Kept:
    """Has one attachment."""

    def read(self, attachment_id: str) -> bytes:
        if attachment_id != "a":
            raise AttachmentNotFoundError(f"the attachment {attachment_id} is not here")
        return b"bytes of a"


def body(wire: Any, *messages: dict[str, Any], dialect: Any = "plain") -> dict[str, Any]:
    request = ModelRequest("p", "m", messages=messages, attachments=Kept())
    found: dict[str, Any] = wire.body(request, Endpoint("p", "http://x", dialect))
    return found


def test_chat_has_text_then_images() -> None:
    (message,) = body(ChatWire(), user_message("look", images=[IMAGE]))["messages"]
    url = f"data:image/png;base64,{BYTES}"
    assert message["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


def test_messages_has_images_then_text() -> None:
    (message,) = body(MessagesWire(), user_message("look", images=[IMAGE]))["messages"]
    source = {"type": "base64", "media_type": "image/png", "data": BYTES}
    assert message["content"] == [
        {"type": "image", "source": source},
        {"type": "text", "text": "look"},
    ]


@pytest.mark.parametrize("wire", [ChatWire(), MessagesWire()])
def test_an_image_without_words_is_sent(wire: Any) -> None:
    alone = {**user_message("x"), "content": [IMAGE]}
    (message,) = body(wire, alone)["messages"]
    assert [part["type"] for part in message["content"]] in (["image_url"], ["image"])


@pytest.mark.parametrize("wire", [ChatWire(), MessagesWire()])
def test_an_image_that_is_gone_is_refused(wire: Any) -> None:
    facts = {"attachmentId": "b", "mediaType": "image/png", "name": "cat.png"}
    gone = {"type": "image", "attachment": facts}
    with pytest.raises(WireError) as caught:
        body(wire, user_message("look", images=[gone]))
    assert caught.value.failure["code"] == "UNSUPPORTED_CONTENT"
    assert "b is not here; attach cat.png once more" in caught.value.failure["message"]
