#!/usr/bin/env python3
"""Scripted fake model server for tests (standard library only, loopback only).

Speaks two streaming wires from one script:
  POST [/v1]/messages          Messages wire (dsh 0.2.x)
  POST [/v1]/chat/completions  chat-completions wire (dsh 0.1.x)
  GET  [/v1]/models            one model

    python3 fake_llm.py --ready FILE [--port N] [--script FILE] [--log FILE]
                        [--tool NAME --tool-input JSON] [--max-seconds N]

When it listens it prints one JSON line {"port": N, "base_url": "http://127.0.0.1:N"}
and writes the same line to the --ready file.

A script is a JSON list of answers; the n-th request that carries tools gets the
n-th answer, later requests repeat the last one. An answer is a list of items:
  {"text": "…"}  {"reasoning": "…"}
  {"tool": "read", "input": {…}}          optional "id"; "raw": "…" sends that
                                          string as the argument JSON, unchecked
  {"stop": "max_tokens"}                  overrides the stop reason
  {"usage": [in, out]}                    token counts of this answer
  {"sleep": 1.5}                          pause at this point of the stream
  {"drop": true}                          close the stream here, no terminator
  {"error": 429, "type": "rate_limit_error", "message": "…", "headers": {…}}
                                          HTTP error instead of a stream
Requests without tools (title or summary calls) get --side-text and do not count.
"""

import argparse
import http.server
import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

DEFAULT = [[{"text": "Hello from the fake model."}]]


def pieces(text):
    """Split like a tokenizer would: a word with its leading blank per delta."""
    return re.findall(r"\s*\S+|\s+$", text) or [""]


class State:
    def __init__(self, script, side_text, log):
        self.script, self.side_text, self.log = script, side_text, log
        self.lock = threading.Lock()
        self.turns = self.seen = 0

    def answer(self, path, headers, body):
        with self.lock:
            self.seen += 1
            n, side = self.seen, not body.get("tools")
            if side:
                items = [{"text": self.side_text}]
            else:
                items = self.script[min(self.turns, len(self.script) - 1)]
                self.turns += 1
            if self.log:
                kept = {
                    k.lower(): v
                    for k, v in headers.items()
                    if k.lower() not in ("authorization", "x-api-key")
                }
                with Path(self.log).open("a", encoding="utf-8") as f:
                    f.write(
                        json.dumps(
                            {"n": n, "side": side, "path": path, "headers": kept, "body": body}
                        )
                        + "\n"
                    )
        return n, items


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state = None

    def log_message(self, *args):
        pass

    def reply(self, status, obj, headers=None):
        data = json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for k, v in (headers or {}).items():
            self.send_header(k, str(v))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path.split("?")[0].rstrip("/").endswith("/models"):
            self.reply(200, {"object": "list", "data": [{"id": "fake-model", "object": "model"}]})
        else:
            self.reply(404, {"error": {"type": "not_found_error", "message": self.path}})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        path = self.path.split("?")[0]
        if path.endswith("/messages"):
            wire = Messages
        elif path.endswith("/chat/completions"):
            wire = Chat
        else:
            return self.reply(404, {"error": {"type": "not_found_error", "message": path}})
        if not isinstance(body, dict):
            return self.reply(
                400, {"error": {"type": "invalid_request_error", "message": "not a JSON object"}}
            )
        n, items = self.state.answer(path, self.headers, body)
        for it in items:
            if "error" in it:
                return self.reply(
                    it["error"],
                    {
                        "type": "error",
                        "error": {
                            "type": it.get("type", "api_error"),
                            "message": it.get("message", "scripted error"),
                        },
                    },
                    it.get("headers"),
                )
        if not body.get("stream"):
            return self.reply(200, wire.whole(n, body.get("model", "fake-model"), items))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for frame in wire.stream(n, body.get("model", "fake-model"), items):
                if isinstance(frame, float):
                    time.sleep(frame)
                else:
                    self.wfile.write(frame.encode())
                    self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass


def call_of(it, n, i):
    return it.get("id", f"call_{n}_{i}"), it["tool"], it.get("raw", json.dumps(it.get("input", {})))


def outcome(items):
    stop, usage, tools = None, [5, 3], False
    for it in items:
        stop = it.get("stop", stop)
        usage = it.get("usage", usage)
        tools = tools or "tool" in it
    return stop, usage, tools


class Messages:
    """event: NAME / data: {"type": NAME, …} — both names must agree."""

    @staticmethod
    def ev(kind, **rest):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **rest})}\n\n"

    @classmethod
    def stream(cls, n, model, items):
        stop, (tin, tout), tools = outcome(items)
        yield cls.ev(
            "message_start",
            message={
                "id": f"msg_{n}",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": tin, "output_tokens": 0},
            },
        )
        i = -1
        for it in items:
            if "sleep" in it:
                yield float(it["sleep"])
            elif it.get("drop"):
                return
            elif "text" in it or "reasoning" in it:
                i += 1
                kind = "text" if "text" in it else "thinking"
                yield cls.ev("content_block_start", index=i, content_block={"type": kind, kind: ""})
                for p in pieces(it["text"] if kind == "text" else it["reasoning"]):
                    yield cls.ev(
                        "content_block_delta", index=i, delta={"type": kind + "_delta", kind: p}
                    )
                yield cls.ev("content_block_stop", index=i)
            elif "tool" in it:
                i += 1
                cid, name, args = call_of(it, n, i)
                yield cls.ev(
                    "content_block_start",
                    index=i,
                    content_block={"type": "tool_use", "id": cid, "name": name, "input": {}},
                )
                half = (len(args) + 1) // 2
                for p in (args[:half], args[half:]):
                    yield cls.ev(
                        "content_block_delta",
                        index=i,
                        delta={"type": "input_json_delta", "partial_json": p},
                    )
                yield cls.ev("content_block_stop", index=i)
        yield cls.ev(
            "message_delta",
            delta={
                "stop_reason": stop or ("tool_use" if tools else "end_turn"),
                "stop_sequence": None,
            },
            usage={"output_tokens": tout},
        )
        yield cls.ev("message_stop")

    @classmethod
    def whole(cls, n, model, items):
        stop, (tin, tout), tools = outcome(items)
        content = []
        for i, it in enumerate(items):
            if "text" in it:
                content.append({"type": "text", "text": it["text"]})
            elif "tool" in it:
                cid, name, args = call_of(it, n, i)
                content.append(
                    {"type": "tool_use", "id": cid, "name": name, "input": json.loads(args)}
                )
        return {
            "id": f"msg_{n}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": stop or ("tool_use" if tools else "end_turn"),
            "usage": {"input_tokens": tin, "output_tokens": tout},
        }


class Chat:
    """data: {chunk} frames, then data: [DONE]."""

    STOPS: ClassVar = {"max_tokens": "length", "end_turn": "stop", "tool_use": "tool_calls"}

    @classmethod
    def end(cls, items):
        stop, (tin, tout), tools = outcome(items)
        return (
            cls.STOPS.get(stop, stop) or ("tool_calls" if tools else "stop"),
            {"prompt_tokens": tin, "completion_tokens": tout, "total_tokens": tin + tout},
        )

    @classmethod
    def stream(cls, n, model, items):
        def ev(delta, finish=None, **rest):
            return (
                "data: "
                + json.dumps(
                    {
                        "id": f"chat_{n}",
                        "object": "chat.completion.chunk",
                        "created": 1,
                        "model": model,
                        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
                        **rest,
                    }
                )
                + "\n\n"
            )

        finish, usage = cls.end(items)
        yield ev({"role": "assistant", "content": ""})
        calls = 0
        for i, it in enumerate(items):
            if "sleep" in it:
                yield float(it["sleep"])
            elif it.get("drop"):
                return
            elif "text" in it:
                for p in pieces(it["text"]):
                    yield ev({"content": p})
            elif "reasoning" in it:
                for p in pieces(it["reasoning"]):
                    yield ev({"reasoning_content": p})
            elif "tool" in it:
                cid, name, args = call_of(it, n, i)
                half = (len(args) + 1) // 2
                yield ev(
                    {
                        "tool_calls": [
                            {
                                "index": calls,
                                "id": cid,
                                "type": "function",
                                "function": {"name": name, "arguments": args[:half]},
                            }
                        ]
                    }
                )
                yield ev({"tool_calls": [{"index": calls, "function": {"arguments": args[half:]}}]})
                calls += 1
        yield ev({}, finish, usage=usage)
        yield "data: [DONE]\n\n"

    @classmethod
    def whole(cls, n, model, items):
        finish, usage = cls.end(items)
        msg = {"role": "assistant", "content": "".join(it.get("text", "") for it in items)}
        calls = [call_of(it, n, i) for i, it in enumerate(items) if "tool" in it]
        if calls:
            msg["tool_calls"] = [
                {"id": c, "type": "function", "function": {"name": t, "arguments": a}}
                for c, t, a in calls
            ]
        return {
            "id": f"chat_{n}",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "usage": usage,
            "choices": [{"index": 0, "message": msg, "finish_reason": finish}],
        }


def main():
    ap = argparse.ArgumentParser(description="scripted fake model server on loopback")
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--ready", help="file that gets the ready line")
    ap.add_argument("--script", help="JSON file with the list of answers")
    ap.add_argument("--tool", help="shortcut: first answer calls this tool, second one is text")
    ap.add_argument("--tool-input", default="{}")
    ap.add_argument("--side-text", default="Fake title")
    ap.add_argument("--log", help="append every request as one JSON line")
    ap.add_argument("--max-seconds", type=float, default=600, help="stop by itself after this time")
    a = ap.parse_args()
    script = DEFAULT
    if a.script:
        with Path(a.script).open(encoding="utf-8") as f:
            script = json.load(f)
    elif a.tool:
        script = [[{"tool": a.tool, "input": json.loads(a.tool_input)}], DEFAULT[0]]
    Handler.state = State(script, a.side_text, a.log)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", a.port), Handler)
    server.daemon_threads = True
    port = server.server_address[1]
    line = json.dumps({"port": port, "base_url": f"http://127.0.0.1:{port}"})
    print(line, flush=True)
    if a.ready:
        with Path(a.ready).open("w", encoding="utf-8") as f:
            f.write(line + "\n")
    timer = threading.Timer(a.max_seconds, server.shutdown)
    timer.daemon = True
    timer.start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
