"""`dshloop profile`: DSH profiles, what they compose to, what is wrong with them, edits of them.

One module for each kind of verb; importing this package registers them all on `app`.
"""

# in the order in which the help lists their verbs
from dshloop.cli.profile import look, make, reason, heal, change, rows, hand, transfer  # noqa: I001
from dshloop.cli.profile.common import app

__all__ = ["app", "change", "hand", "heal", "look", "make", "reason", "rows", "transfer"]
