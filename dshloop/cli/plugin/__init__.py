"""`dshloop plugin`: the packages that a profile's layers and rows come from.

One module for each kind of verb; importing this package registers them all on `app`.
"""

from dshloop.cli.plugin import changes, looks, trial
from dshloop.cli.plugin.common import app

__all__ = ["app", "changes", "looks", "trial"]
