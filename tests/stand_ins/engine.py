"""Plays dsh's SDK (`--profile sdk`) or an ACP agent as a plan says, without a model.

The file that $ENGINE_PLAN names has one word a prompt; each prompt takes the first one away, over
all lives of the program. What it is asked goes to $ENGINE_ASKED, a JSON line each.
"""

import json
import os
import sys
import time
from pathlib import Path

SECRET = "sk-0123456789abcdef0123456789abcdef"


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def next_word():
    plan = Path(os.environ["ENGINE_PLAN"])
    words = plan.read_text().split()
    plan.write_text(" ".join(words[1:]))
    return words[0] if words else "answer"


def misbehave(word):
    """Do what both kinds may do instead of an answer; tells whether it was something."""
    if word == "crash":
        print(f"boom with {SECRET}", file=sys.stderr, flush=True)
        os._exit(3)
    if word == "hang":
        time.sleep(60)
    if word == "broken":
        print('{"jsonrpc": "2.0", "method": ', flush=True)
        time.sleep(60)
    if word == "noise":
        print("Warning: a deprecated thing", flush=True)


class Sdk:
    def __init__(self):
        self.seq = 0
        self.turn = 0

    def event(self, session, kind, data, **more):
        event = {"type": kind, "seq": self.seq, "time": 1, "data": data, **more}
        self.seq += 1
        say(method="session.event", params={"sessionId": session, "event": event})

    def message(self, session, place, blocks, stream):
        source = {"kind": "model", "provider": "p", "model": "m"}
        message = {"role": "assistant", "content": blocks, "source": source, "id": "a"}
        data = {**place, "message": message, "stream": stream, "usage": USAGE}
        self.event(session, "assistant/message", data, surfaceOp="append")

    def answer(self, method, params):
        if method == "initialize" and params["provider"] == "unknown":
            raise RuntimeError('no adapter registered for provider "unknown"')
        if method == "initialize":
            return {"serverInfo": {"name": "stand-in", "version": "0"}}
        if method == "session/resume" and os.environ.get("ENGINE_FORGETS"):
            raise RuntimeError("session not found")
        return {}

    def prompt(self, number, params):
        session = params["sessionId"]
        text = params["contentBlocks"][0]["text"]
        self.turn += 1
        place = {"turn": self.turn, "step": 1}
        self.event(session, "turn/start", {"turn": self.turn})
        say(id=number, result={"messageId": "m"})
        self.event(session, "step/start", place)
        system = {"role": "system", "content": [{"type": "text", "text": "be good"}]}
        self.event(session, "system/message", {**place, "message": system})
        said = {"role": "user", "content": [{"type": "text", "text": text}], "id": "m"}
        said["source"] = {"kind": "user"}
        echo = self.seq
        self.event(session, "user/message", said, surfaceOp="append")
        header = {"config": {"provider": "p", "model": "m"}}
        self.event(session, "request/header", {"header": header, "reason": "initial"})
        word = next_word()  # what is told from here on is told of a word that is taken
        title = {"title": text, "messageSeqs": [echo], "source": {"kind": "fallback"}}
        self.event(session, "session/title", title)
        if word == "midcall":
            self.call(session, place)
            word = "crash"
        misbehave(word)
        if word == "tool":
            call = self.call(session, place)
            result = {"role": "tool", "toolCallId": "c1", "id": "r"}
            result |= {"source": {"kind": "tool", "callId": "c1"}}
            result |= {"content": [{"type": "text", "text": "found"}]}
            data = {**place, "message": result}
            self.event(session, "tool/result", data, sourceEventSeqs=[call], surfaceOp="append")
            self.event(session, "step/end", place)
            place = {"turn": self.turn, "step": 2}
            self.event(session, "step/start", place)
        if word == "nonsense":
            say(method="session.event", params={"sessionId": session, "event": {"type": 7}})
        words = "x" * 3_000_000 if word == "big" else f"heard {text}"
        stream = [
            {"type": "chunk", "time": 1, "chunk": START},
            {"type": "text-chunks", "time0": 1, "index": 0, "dt": [], "texts": [words]},
        ]
        self.message(session, place, [{"type": "text", "text": words}], stream)
        self.event(session, "session-log-deepseek/delivery-accepted", {"throughSeq": 1})
        self.event(session, "step/end", place)
        reason = {"kind": "max-tokens"} if word == "cut" else {"kind": "completed"}
        self.event(session, "turn/end", {"turn": self.turn, "reason": reason})
        say(method="session.status", params={"sessionId": session, "status": "idle"})

    def call(self, session, place):
        block = {"type": "tool-call", "id": "c1", "name": "look", "arguments": "{}"}
        self.message(session, place, [block], [])
        call = self.seq
        data = {**place, "callId": "c1", "name": "look", "arguments": "{}"}
        self.event(session, "tool/call", data)
        return call


START = {"type": "block-start", "index": 0, "blockType": "text"}
USAGE = {"inputTokens": 3, "outputTokens": 2}


class Acp:
    def update(self, session, what, **more):
        update = {"sessionUpdate": what, **more}
        say(method="session/update", params={"sessionId": session, "update": update})

    def words(self, session, text, kind="agent_message_chunk", **more):
        self.update(session, kind, content={"type": "text", "text": text}, **more)

    def answer(self, method, params):
        if method == "initialize":
            can = {"resume": {}} if not os.environ.get("ENGINE_FORGETS") else {}
            version = int(os.environ.get("ENGINE_VERSION", "1"))
            about = {"name": "stand-in", "version": "0"}
            told = {"protocolVersion": version, "agentInfo": about}
            return {**told, "agentCapabilities": {"sessionCapabilities": can}}
        return {"sessionId": "theirs"} if method == "session/new" else {}

    def prompt(self, number, params):
        session = params["sessionId"]
        text = params["prompt"][0]["text"]
        word = next_word()
        if word not in ("crash", "hang", "broken", "big", "refused"):
            self.words(session, "heard ")
        misbehave(word)
        stop, more = "end_turn", {}
        if word == "tool":
            self.call(session)
            self.done(session, "completed")
            self.update(session, "available_commands_update", availableCommands=[])
            self.update(session, "some_later_kind", more=1)
        if word == "ask":
            self.call(session)
            options = [
                {"optionId": "always", "name": "Always", "kind": "allow_always"},
                {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"},
            ]
            call = {"toolCallId": "c1", "title": "look"}
            asked = {"sessionId": session, "toolCall": call, "options": options}
            say(id="q", method="session/request_permission", params=asked)
            chosen = read()["result"]["outcome"]
            self.done(session, "completed" if chosen.get("optionId") == "yes" else "failed")
        if word == "plan":
            entries = [{"content": "first", "priority": "high", "status": "pending"}]
            self.update(session, "plan", entries=entries)
            more = {"usage": {"totalTokens": 5, "inputTokens": 3, "outputTokens": 2}}
        if word == "nonsense":
            self.update(session, "agent_message_chunk", content=7)
        if word == "midcall":
            self.call(session)
            os._exit(3)
        if word in ("cancel", "deaf"):
            while word == "deaf" or read().get("method") != "session/cancel":
                time.sleep(0.01)
            stop = "cancelled"
        elif word == "refused":
            say(id=number, error={"code": -32000, "message": f"log in with {SECRET}"})
            return
        elif word == "cut":
            stop = "max_tokens"
        else:
            self.words(session, "x" * 3_000_000 if word == "big" else text)
        say(id=number, result={"stopReason": stop, **more})

    def call(self, session):
        told = {"title": "look", "kind": "read", "status": "in_progress", "rawInput": {"at": 1}}
        self.update(session, "tool_call", toolCallId="c1", **told)

    def done(self, session, status):
        content = [{"type": "content", "content": {"type": "text", "text": "found"}}]
        self.update(session, "tool_call_update", toolCallId="c1", status=status, content=content)


def read():
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    message = json.loads(line)
    with Path(os.environ["ENGINE_ASKED"]).open("a") as file:
        file.write(line)
    return message


def main():
    if "--version" in sys.argv:
        print(os.environ.get("ENGINE_VERSION", "0.2.1"))
        return
    engine = Sdk() if "sdk" in sys.argv else Acp()
    while True:
        message = read()
        method, number, params = (message.get(key) for key in ("method", "id", "params"))
        if method == "session/prompt":
            engine.prompt(number, params)
        elif number is not None and method is not None:
            try:
                say(id=number, result=engine.answer(method, params))
            except RuntimeError as fault:
                say(id=number, error={"code": -32603, "message": str(fault)})


main()
