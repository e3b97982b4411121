"""Our engine once more, as a driver to be registered under another name.

A matrix that compares drivers can do so with nothing else installed: examples/matrix-2x2.yml.
"""

from __future__ import annotations

from dshloop.host.engine import Engine
from dshloop.loops.hosted import HostedDriver


def driver() -> HostedDriver:
    """Give a driver of its own, with all that the one called `default` carries."""
    return HostedDriver(Engine())
