"""What completion offers behind a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from dshloop.errors import DshloopError

if TYPE_CHECKING:
    from dshloop.cli.repl.talk import Talk
    from dshloop.loops.discovery import Group

Offer = tuple[str, str]
Offers = Callable[["Talk", str], Iterable[Offer]]
"""Gives what may stand in the place of the last word, behind the words before it."""

FORMATS = ("markdown", "html", "json", "jsonl")


def nothing(_talk: Talk, _before: str) -> Iterable[Offer]:
    """Offer nothing."""
    return ()


def loops(talk: Talk, before: str) -> Iterable[Offer]:
    """Offer the loops that are docked, and those that installed packages have."""
    docked = talk.conversation.process.dock.loops.in_order()
    found = [*((loop.id, loop.label or loop.kind) for loop in docked)]
    return () if before else _each_once(found, _packaged(talk, "dshloop.loops"))


def drivers(talk: Talk, before: str) -> Iterable[Offer]:
    """Offer the drivers that are registered, those of packages, and the short names of ours."""
    from dshloop.drivers import names

    registered = [(name, "driver") for name in talk.conversation.process.dock.drivers.names]
    short = ((name, "driver") for name in names())
    return () if before else _each_once(registered, _packaged(talk, "dshloop.drivers"), short)


def presets(talk: Talk, before: str) -> Iterable[Offer]:
    """Offer the presets."""
    names = talk.conversation.process.presets.names
    return () if before else [(name, "preset") for name in names]


def models(talk: Talk, before: str) -> Iterable[Offer]:
    """Offer the models that are listed of all providers."""
    if before:
        return ()
    try:
        providers = talk.conversation.process.providers
    except DshloopError:  # a config.yml that can't be read
        return ()
    known = {} if providers is None else providers.known
    return [(f"{name}/{model}", one.origin) for name, one in known.items() for model in one.models]


def forks(talk: Talk, before: str) -> Iterable[Offer]:
    """Offer what a fork can change, and then to what."""
    named = {"loop": loops, "driver": drivers, "preset": presets}
    words = before.split()
    if not words:
        return [(name, f"on another {name}") for name in named]
    return named[words[0]](talk, "") if len(words) == 1 and words[0] in named else ()


def folds(talk: Talk, before: str) -> Iterable[Offer]:
    """Offer the newest folded lines."""
    found = list(enumerate(talk.screen.folds, 1))[-20:]
    return () if before else [(str(number), told.text) for number, told in reversed(found)]


def formats(_talk: Talk, before: str) -> Iterable[Offer]:
    """Offer the formats of an export."""
    return () if before else [(name, "format") for name in FORMATS]


def files(_talk: Talk, _before: str) -> Iterable[Offer]:
    """Stand for the names of files, which `Offering` looks up itself."""
    return ()


class Offering(Completer):
    """Completes commands and their last words; whatever else is typed is nobody's business."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._paths = PathCompleter(expanduser=True, get_paths=lambda: [str(talk.env.cwd)])

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Give what the word before the cursor may become."""
        from dshloop.cli.repl.commands import COMMANDS

        text = document.text_before_cursor
        if not text.startswith("/") or text.startswith("//") or "\n" in text:
            return
        name, space, rest = text.partition(" ")
        if not space:
            yield from _fitting(((one, it.meaning) for one, it in COMMANDS.items()), name)
            return
        command = COMMANDS.get(name)
        if command is None:
            return
        before, _, word = rest.rpartition(" ")
        if command.offers is files:
            yield from self._paths.get_completions(Document(rest), complete_event)
            return
        yield from _fitting(command.offers(self._talk, before.strip()), word)


def _packaged(talk: Talk, group: Group) -> Iterator[Offer]:
    """Give what installed packages offer, as it is remembered; none of it is imported."""
    from dshloop.loops.discovery import remembered

    for one in remembered(group, talk.places.packages_cache):
        yield one.id, one.distribution


def _each_once(*offered: Iterable[Offer]) -> list[Offer]:
    """Put offers behind one another; of a name that comes again the first counts."""
    found: dict[str, str] = {}
    for name, meaning in chain(*offered):
        found.setdefault(name, meaning)
    return list(found.items())


def _fitting(offered: Iterable[Offer], word: str) -> Iterator[Completion]:
    for name, meaning in offered:
        if name.startswith(word):
            yield Completion(name, -len(word), display_meta=meaning)
