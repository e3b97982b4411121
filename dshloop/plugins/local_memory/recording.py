"""What happens in a session as observations: prompts, results of tools, ends of turns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.llm.messages import plain_text
from dshloop.memory.observing import FAILURE, PROMPT, observed
from dshloop.memory.project import project_here
from dshloop.plugins.local_memory.lane import StoreLane
from dshloop.plugins.local_memory.tools import RECALL, REMEMBER

if TYPE_CHECKING:
    from dshloop.sessions.session import Session
    from dshloop.transcripts.vocabulary import Event

_STOP = "stop"
_OWN = frozenset({RECALL, REMEMBER})
"""Tools whose results are memory's own words: what is recalled is not observed again."""


class Recording:
    """Listens to the events of all sessions and posts what is to be kept."""

    def __init__(self, lane: StoreLane, variables: Mapping[str, str]) -> None:
        self._lane, self._variables = lane, variables
        self._calls: dict[tuple[str, str], tuple[str, Any]] = {}
        self._said: dict[str, str] = {}  # the last answer of a session's turn

    def see(self, session: Session, event: Event) -> None:
        """Take one event in."""
        kind, data, about = event["type"], event["data"], session.header.id
        if kind == "user/message":
            source = data.get("source") or {}
            text = plain_text(data.get("content"))
            if source.get("kind") == "user" and text.strip():
                self._keep(session, event, PROMPT, {"prompt": text})
        elif kind == "tool/call":
            self._calls[about, data["callId"]] = (data["name"], data["arguments"])
        elif kind == "tool/result":
            self._result(session, event)
        elif kind == "assistant/message":
            self._said[about] = plain_text(data["message"].get("content"))
        elif kind == "turn/end":
            said = self._said.pop(about, "")
            if said.strip():
                self._keep(session, event, _STOP, {"message": said})

    def _result(self, session: Session, event: Event) -> None:
        message = event["data"]["message"]
        block = message["content"][0]
        call = (session.header.id, block["toolCallId"])
        name, arguments = self._calls.pop(call, ("", None))
        if name in _OWN:
            return
        failed = bool(block.get("isError"))
        told = {"tool_name": name, "tool_input": arguments}
        told["error" if failed else "tool_output"] = plain_text(block.get("content"))
        self._keep(session, event, FAILURE if failed else "post_tool_use", told)

    def _keep(self, session: Session, event: Event, hook: str, data: Mapping[str, Any]) -> None:
        cwd = session.header.cwd or ""
        new = observed(
            hook,
            data,
            session=session.header.id,
            project=project_here(self._variables, Path(cwd)) if cwd else "",
            cwd=cwd,
            at=event["time"] / 1000,
        )
        self._lane.post(lambda store: store.observe(new))
