"""The conversation on a terminal: the one place besides cli/output.py that holds it."""

from dshloop.cli.repl.talk import converse

__all__ = ["converse"]
