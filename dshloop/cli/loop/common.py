"""The Typer app of `dshloop loop`."""

from __future__ import annotations

from dshloop.cli.params import new_app

app = new_app("loop", "List, explain, check, route, write and try agent loops.", profile=True)
