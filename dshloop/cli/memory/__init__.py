"""`dshloop memory`: remember, recall and manage memories and observations.

`VERBS` says in which module a verb is; one is imported, and made into a command, when it is
called. Making all of them would cost `memory recall` half as much as its answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from dshloop.cli.verbs import verbs_app

# in the order in which the help lists them
VERBS: Mapping[str, str] = {
    "remember": "keep",
    "recall": "find",
    "search": "find",
    "list": "find",
    "show": "look",
    "history": "look",
    "edit": "edit",
    "forget": "drop",
    "undo": "drop",
    "restore": "drop",
    "context": "window",
    "sessions": "past",
    "observations": "past",
    "observe": "observe",
    "hook": "hook",
    "timeline": "past",
    "tail": "peer",
    "artifact": "peer",
    "outbox": "outbox",
    "preview": "preview",
    "stats": "look",
    "export": "export",
    "import": "exchange",
    "ingest": "exchange",
    "migrate": "exchange",
    "serve": "serve",
    "audit": "audit",
    "bench": "bench",
    "check": "care",
    "reindex": "care",
    "backup": "care",
    "stores": "place",
    "use": "place",
    "status": "status",
}

app = verbs_app(__name__, "memory", "Remember, recall and manage memories.", VERBS)
