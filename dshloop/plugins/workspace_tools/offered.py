"""The five tools as models see them: only texts, so that offering them costs nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

MOST_LINES = 2000
"""Lines of a page of `read`."""
SECONDS, MOST_SECONDS = 120, 600
"""How long a command of `shell` may take where nobody says, and at most."""


class Offered(NamedTuple):
    """A tool's name, what it does, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


READ = Offered(
    "read",
    (
        "Read a text file of the workspace. Lines are numbered; a long file comes in pages: "
        "go on with the offset that is named at the end."
    ),
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, from the workspace's root."},
            "offset": {
                "type": "integer",
                "minimum": 1,
                "description": "The first line to give (1).",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_LINES,
                "description": f"How many lines to give ({MOST_LINES}).",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)

LIST = Offered(
    "list",
    (
        "List a folder of the workspace, without what git ignores: a line each, folders with a "
        "slash, files with their size in bytes."
    ),
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The folder, from the root; the root itself.",
            },
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 8,
                "description": "How many folders deep (1).",
            },
        },
        "additionalProperties": False,
    },
)

SEARCH = Offered(
    "search",
    (
        "Search the files of the workspace for a plain text, or a Python regular expression, line "
        "by line. What git ignores, binary files and those above 8 MB are left out."
    ),
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What a line has to hold."},
            "regex": {"type": "boolean", "description": "The query is a regular expression."},
            "ignore_case": {"type": "boolean"},
            "path": {"type": "string", "description": "A folder or file, from the root."},
            "glob": {"type": "string", "description": "Names of files, such as *.py."},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)

EDIT = Offered(
    "edit",
    (
        "Change a file of the workspace: put `new` in the place of `old`, which must stand in it "
        "exactly once, blanks and line ends included. Without `old` a new file is made."
    ),
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, from the workspace's root."},
            "old": {
                "type": "string",
                "minLength": 1,
                "description": "What goes; once in the file.",
            },
            "new": {"type": "string", "description": "What comes in its place, or the new file."},
        },
        "required": ["path", "new"],
        "additionalProperties": False,
    },
)

SHELL = Offered(
    "shell",
    (
        "Run a command with /bin/sh in the workspace and give its output and exit code. It is not "
        "confined: it can do all that the user can, outside of the workspace too. It has no input; "
        "what it leaves running is ended with it. Variables that hold keys are taken out."
    ),
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1},
            "seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_SECONDS,
                "description": f"How long it may take ({SECONDS}).",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
)
