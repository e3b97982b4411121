"""`dshloop session`: run, look at, mend, copy and keep sessions.

`VERBS` says in which module a verb is; one is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping

from dshloop.cli.verbs import verbs_app

# in the order in which the help lists them
VERBS: Mapping[str, str] = {
    "run": "run",
    "matrix": "matrix",
    "list": "look",
    "show": "look",
    "tail": "tail",
    "search": "find",
    "stats": "find",
    "export": "export",
    "fork": "keep",
    "rename": "keep",
    "delete": "keep",
    "restore": "keep",
    "fsck": "mend",
    "repair": "mend",
    "replay": "replay",
    "bind": "bind",
}

app = verbs_app(__name__, "session", "Run, look at, mend, copy and keep sessions.", VERBS)
