"""Random records, as wild as a store can hold them."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from dshloop.memory.entries import TYPES, Memory, Observation, Session

WILD = [
    "\ud800",
    "\udfff",
    "\0",
    "\u2028",
    "数据库连接池",
    "café",
    "😀",
    '{"type": 1}',
    "\n",
    "\\u",
]
texts = st.lists(
    st.one_of(st.sampled_from(WILD), st.text(string.printable, max_size=8), st.text(max_size=4)),
    max_size=5,
).map("".join)
said = texts.filter(lambda text: bool(text.strip()))
labels = st.lists(said.map(str.strip), max_size=3, unique=True).map(tuple)
hexes = st.text("0123456789abcdef", min_size=8, max_size=32)
times = st.floats(0, 4e9, allow_nan=False)
json_values: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts, st.floats(-1e9, 1e9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
sources = st.dictionaries(
    st.one_of(st.just("kind"), said), st.one_of(texts, json_values), max_size=3
).filter(lambda source: source.get("kind") != "agentmemory")

memories = st.builds(
    Memory,
    id=hexes.map("mem_{}".format),
    type=st.sampled_from(TYPES),
    title=said,
    content=said,
    concepts=labels,
    files=labels,
    project=texts.map(str.strip),
    agent=st.one_of(st.none(), said.map(str.strip)),
    session=st.one_of(st.none(), said.map(str.strip)),
    source=sources,
    created_at=times,
    updated_at=times,
    strength=st.floats(0, 10),
    expires_at=st.one_of(st.none(), st.floats(5e9, 6e9)),
    version=st.integers(1, 9),
    previous=st.one_of(st.none(), hexes.map("mem_{}".format)),
    latest=st.booleans(),
    repeats=st.integers(1, 99),
)
observations = st.builds(
    Observation,
    id=hexes.map("obs_{}".format),
    session=said.map(str.strip),
    hook=said,
    type=said,
    title=texts,
    subtitle=texts,
    content=texts,
    concepts=labels,
    files=labels,
    project=texts,
    agent=st.one_of(st.none(), said.map(str.strip)),
    source=sources,
    created_at=times,
    importance=st.floats(0, 10),
    repeats=st.integers(1, 99),
)
sessions = st.builds(
    Session,
    id=said,
    project=texts,
    cwd=texts,
    agent=st.one_of(st.none(), said.map(str.strip)),
    title=st.one_of(st.none(), said.map(str.strip)),
    first_prompt=st.one_of(st.none(), said.map(str.strip)),
    summary=st.one_of(st.none(), st.dictionaries(said, json_values, min_size=1, max_size=3)),
    started_at=times,
    updated_at=times,
    ended_at=st.one_of(st.none(), times),
    observations=st.just(0),
)
