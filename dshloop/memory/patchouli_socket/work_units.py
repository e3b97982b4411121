"""Several changes that become visible together (patchouli 9.4)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from dshloop.memory.patchouli_socket.client import Answer, Client, Meta

MUTATIONS = ("entity.create", "entity.update", "entity.delete")


class Mutation(NamedTuple):
    """One change: a method of `MUTATIONS`, its data, and meta of its own (``base_versions``)."""

    method: str
    data: Mapping[str, Any]
    meta: Meta = MappingProxyType({})


def run_work_unit(
    client: Client,
    meta: Meta,
    mutations: Sequence[Mutation],
    closing: Meta | None = None,
    *,
    id_: str | None = None,
) -> list[Answer]:
    """Make all changes in one unit; the last one closes it, and all appear together.

    ``closing`` is what the last call has besides (``transaction_state: commit``). When a call
    fails the unit stays open, invisible, and the daemon discards it in time.
    Raises ValueError for a unit that can't be, and what `Client.call` raises.
    """
    last = {"transaction_state": "commit"} if closing is None else closing
    base = {**meta, "transaction_id": id_ or str(uuid.uuid4())}
    if not mutations:
        raise ValueError("a work unit needs at least one mutation")
    if not last:
        raise ValueError("a work unit needs a closing meta")
    taken = sorted(set(last) & set(base))
    if taken:
        raise ValueError(f"the closing meta must not change {', '.join(taken)}")
    for mutation in mutations:
        if mutation.method not in MUTATIONS:
            raise ValueError(f"{mutation.method} is no mutation")
    answers = []
    for number, mutation in enumerate(mutations, 1):
        ends = last if number == len(mutations) else {}
        answers.append(
            client.call(mutation.method, {**base, **mutation.meta, **ends}, mutation.data)
        )
    return answers
