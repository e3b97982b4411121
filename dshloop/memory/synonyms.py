"""Words that are asked for in one way and written in another: db and database (agentmemory 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path

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


Synonyms = Mapping[str, tuple[str, ...]]
"""The other forms of each form that has any, as the index spells them."""


def synonyms(file: Path | None = None) -> Synonyms:
    """Give our synonyms and those of a user's file, which need not be there.

    Each line of the file is a group of words; ``#`` begins a comment. Raises UNREADABLE_FILE.
    """
    if file is None or not file.exists():
        return _ours()
    from dshloop.files import read_text

    read = read_text(file)
    lines = [] if read is None else read.value.splitlines()
    return _joined(_GROUPS.split(";"), (line.partition("#")[0] for line in lines))


@lru_cache(maxsize=1)
def _ours() -> Synonyms:
    return _joined(_GROUPS.split(";"))


def _joined(*groups: Iterable[str]) -> Synonyms:
    """Join groups; a word of several has the others of all."""
    found: dict[str, dict[str, None]] = {}
    for group in chain(*groups):
        forms = [next(words(word), word) for word in group.split()]
        for form in forms:
            found.setdefault(form, {}).update(dict.fromkeys(forms))
    others = {form: tuple(one for one in known if one != form) for form, known in found.items()}
    return {form: forms for form, forms in others.items() if forms}
