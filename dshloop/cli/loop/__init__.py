"""`dshloop loop`: the loops of a profile, what is routed to them, and why.

One module for each kind of verb; importing this package registers them all on `app`.
"""

# in the order in which the help lists their verbs
from dshloop.cli.loop import look, route, register, demo, author  # noqa: I001
from dshloop.cli.loop.common import app

__all__ = ["app", "author", "demo", "look", "register", "route"]
