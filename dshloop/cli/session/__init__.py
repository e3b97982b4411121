"""`dshloop session`: run, look at, mend, copy and keep sessions.

One module for each kind of verb; importing this package registers them all on `app`.
"""

# in the order in which the help lists their verbs
from dshloop.cli.session import run, look, tail, find, export, keep, mend, bind  # noqa: I001
from dshloop.cli.session.common import app

__all__ = ["app", "bind", "export", "find", "keep", "look", "mend", "run", "tail"]
