"""Delivering what an agentmemory outbox holds without a run of its profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dshloop.errors import OutboxTargetError
from dshloop.memory.outbox import Entry
from dshloop.plugins.agentmemory.config import BridgeConfig, read_bridge_config
from dshloop.plugins.agentmemory.delivery import request_of
from dshloop.plugins.agentmemory.homes import Home, LocalHome, daemon_home
from dshloop.plugins.agentmemory.secret import ROW, resolve

if TYPE_CHECKING:
    from dshloop.memory.outbox_flush import Deliver
    from dshloop.plugins.deliveries import Surroundings

SECONDS = 30.0
"""What one request may take: nobody's turn waits for it."""


@contextmanager
def delivery(outbox: str, around: Surroundings) -> Iterator[Deliver]:
    """Lend what delivers entries to the daemon, or the store, that their target names.

    It raises the errors of the client, and OUTBOX_TARGET where the secret is not to be had.
    """
    import asyncio

    homes: dict[str, Home] = {}
    with asyncio.Runner() as runner:

        def deliver(entry: Entry) -> None:
            key = repr(sorted(entry.target.items()))
            if key not in homes:
                homes[key] = _home(outbox, entry.target, around)
            runner.run(homes[key].ask(request_of(entry)))

        try:
            yield deliver
        finally:
            for home in homes.values():
                runner.run(home.close())


def _home(outbox: str, target: Mapping[str, Any], around: Surroundings) -> Home:
    from dshloop.memory.agentmemory_client.address import peer_of

    url, place = target.get("url"), around.place
    if not isinstance(url, str):
        if place.open_store is None:
            raise OutboxTargetError(f"there is no store here for what {outbox} holds")
        return LocalHome(place.open_store)
    peer = peer_of(
        url,
        _secret(outbox, target.get("secret"), around),
        seconds=SECONDS,
        allow_insecure_http=target.get("allowInsecureHttp") is True,
    )
    return daemon_home(peer, place.variables, SECONDS)


def _secret(outbox: str, source: Any, around: Surroundings) -> str:
    """Give the secret that a target names. Raises OUTBOX_TARGET where it is not to be had."""
    if not isinstance(source, Mapping):
        return ""
    variables = around.place.variables
    variable = source.get("variable")
    if isinstance(variable, str):
        if variables.get(variable):
            return variables[variable]
        raise OutboxTargetError(
            f"the secret for what {outbox} holds is to be in ${variable}, which is unset",
            hint="Set the variable.",
            variable=variable,
        )
    for config in _configs(around):
        return resolve(config.secret, variables).value
    raise OutboxTargetError(f"the secret for what {outbox} holds is in a row of a profile")


def _configs(around: Surroundings) -> Iterator[BridgeConfig]:
    for row in around.rows():
        if row.name == ROW and row.off is None:
            yield read_bridge_config(row.config)
