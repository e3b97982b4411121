"""What is known of the bundles inside one dsh: their patches, as `inbox_learn` told them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from dshloop.dsh_yaml.document import Document, TextMap
from dshloop.profiles.layers import Layer, PatchFile
from dshloop.profiles.patch import Row

Patches = list[Row]


@dataclass(slots=True)
class Learned:
    """What is known of one dsh's bundles.

    ``bundles``: the patches of each, or dsh's reason not to use it, or None where dsh has none.
    ``lists``: for a list of bundles (names as JSON) that was compared with dsh's own dump, None
    when the patches above give it, else the patches of each member in that list.
    """

    bundles: dict[str, Patches | str | None] = field(default_factory=dict)
    lists: dict[str, list[Patches] | None] = field(default_factory=dict)

    def usable(self, bundles: Sequence[str]) -> list[str]:
        """Give the members that are layers from dsh."""
        return [name for name in bundles if isinstance(self.bundles.get(name), list)]

    def knows(self, bundles: Sequence[str]) -> bool:
        """Tell whether nothing need be asked for this list."""
        if any(name not in self.bundles for name in bundles):
            return False
        return not (usable := self.usable(bundles)) or list_key(usable) in self.lists

    def patches(self, bundles: Sequence[str]) -> list[Patches]:
        """Give the patches of each member of a list of usable bundles, known as a whole."""
        exact = self.lists.get(list_key(bundles))
        return exact if exact is not None else [self._patches(name) for name in bundles]

    def _patches(self, name: str) -> Patches:
        found = self.bundles[name]
        return found if isinstance(found, list) else []


def list_key(bundles: Sequence[str]) -> str:
    """Give the key of `Learned.lists`."""
    return json.dumps(list(bundles))


def learned_layer(name: str, patches: Patches) -> Layer:
    """Make a layer of patches that are in no file."""
    return Layer(name, (PatchFile(Document(name, patches, TextMap(""), {})),), "bundle")
