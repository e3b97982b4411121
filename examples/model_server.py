"""A model server on this machine for the time of a command: it says one sentence, always.

    python examples/model_server.py SENTENCE -- COMMAND …

The command finds it where it looks for the provider `deepseek`: the variables DEEPSEEK_BASE_URL
and DEEPSEEK_API_KEY are set for it, and DSH_LOOP_DOCK_LIVE_API, which allows real requests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def events(sentence: str, model: str) -> Iterator[dict[str, Any]]:
    """Yield an answer as the Messages wire streams it."""
    usage = {"input_tokens": 12, "output_tokens": len(sentence.split())}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
    yield {"type": "message_start", "message": {**message, "content": [], "usage": usage}}
    block = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    delta = {"type": "text_delta", "text": sentence}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    yield {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    """Answers POST …/messages."""

    sentence = ""

    def log_message(self, *args: object) -> None:
        """Say nothing of each request."""

    def do_POST(self) -> None:
        """Stream the sentence."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events(self.sentence, body["model"]):
            text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self.wfile.write(text.encode())


def main() -> int:
    """Serve while the command runs; give its exit code."""
    words = sys.argv[1:]
    if "--" not in words or words[-1] == "--":
        sys.exit(__doc__)
    at = words.index("--")
    Handler.sentence = " ".join(words[:at])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    given = {
        "DEEPSEEK_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "DEEPSEEK_API_KEY": "none-is-needed-here",
        "DSH_LOOP_DOCK_LIVE_API": "1",
    }
    return subprocess.run(words[at + 1 :], env={**os.environ, **given}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
