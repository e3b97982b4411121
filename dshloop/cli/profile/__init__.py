"""`dshloop profile`: DSH profiles, their layers, what they compose to, and edits of them.

One module for each kind of verb; importing this package registers them all on `app`.
"""

from dshloop.cli.profile import change, hand, heal, look, make, reason, rows, transfer
from dshloop.cli.profile.common import app

__all__ = ["app", "change", "hand", "heal", "look", "make", "reason", "rows", "transfer"]
