"""Profiles with a bundle layer below and edits to make, for the tests of edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dshloop.profiles.compose import Composition, compose
from dshloop.profiles.edits.desk import Desk, open_desk
from dshloop.profiles.edits.layer_edit import LayerEdit
from dshloop.profiles.layers import Layer, parse_layer
from dshloop.profiles.layout import Profile
from dshloop.profiles.stack import user_layers

BUNDLE = """\
- insert:
    - id: jobs
      name: '@x/jobs'
      config:
        url: http://a   # where
        limits: {max: 3, tags: [a, b]}
        root: !!js dshHomePath('jobs')
    - id: a.b
      name: '@x/ab'
    - id: plugins
      name: cordis:group
      group: true
      config:
        - id: child
          name: '@x/child'
          config: {on: true}
- id: jobs
  disabled: true
"""


class Stage:
    """One profile on disk with `bundle` as its only bundle layer."""

    def __init__(self, root: Path, bundle: str = BUNDLE) -> None:
        self.profile = Profile("web", root / "profiles" / "web", root)
        self.profile.folder.mkdir(parents=True)
        self.profile.manifest.write_text("{}", encoding="utf-8")
        self.bundle = parse_layer(bundle, "@x/bundle", "bundle")

    def layers(self) -> list[Layer]:
        return [self.bundle, *user_layers(self.profile)]

    def desk(self, layer: str = "profile", text: str | None = None) -> Desk:
        if text is not None:
            path = self.profile.patch if layer == "profile" else self.profile.home_patch
            path.write_bytes(text.encode())
        return open_desk(self.profile, self.layers(), layer)

    def composition(self) -> Composition:
        return compose(self.layers())

    def row(self, row_id: Any) -> dict[str, Any]:
        return self.composition().find(row_id)[0].row


def written(edit: LayerEdit) -> str:
    """Make an edit's changes, and give the text of the edited file."""
    for change in edit.changes:
        assert isinstance(change.after, bytes)
        change.path.parent.mkdir(parents=True, exist_ok=True)
        change.path.write_bytes(change.after)
    return edit.desk.target.path.read_bytes().decode()


def codes(edit: LayerEdit) -> list[str]:
    return [note.code for note in edit.notes]
