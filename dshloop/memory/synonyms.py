"""Words that are asked for in one way and written in another: db and database (agentmemory 8)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from dshloop.text import words

_GROUPS = """
    auth authentication authn authenticating; authz authorization; db database datastore;
    perf performance latency throughput slow bottleneck; optim optimization; k8s kubernetes kube;
    config configuration setup; deps dependencies dependency; env environment; fn function;
    impl implementation; msg message; repo repository; req request; res response; ts typescript;
    js javascript; pg postgres postgresql; err error; api endpoint; test testing; doc documentation;
    infra infrastructure; deploy deployment; cache caching; log logging; monitor monitoring;
    observe observability; sec security secure; validate validation; migrate migration;
    debug debugging; container docker; crash crashloop; webhook callback; middleware mw;
    paginate pagination; serialize serialization; encrypt encryption; hash hashing
"""
# "ci" and "cd" are groups of one in the original, and so say nothing.


@lru_cache(maxsize=1)
def synonyms() -> Mapping[str, tuple[str, ...]]:
    """Give the other forms of each form that has any, as the index spells them."""
    found: dict[str, tuple[str, ...]] = {}
    for group in _GROUPS.split(";"):
        forms = tuple(dict.fromkeys(form for word in group.split() for form in [_form(word)]))
        for form in forms:
            found[form] = tuple(other for other in forms if other != form)
    return {form: others for form, others in found.items() if others}


def _form(word: str) -> str:
    return next(words(word))
