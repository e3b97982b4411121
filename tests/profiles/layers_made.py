"""Layers and compositions made from text for tests."""

from __future__ import annotations

from pathlib import Path

from dshloop.profiles.compose import Composition, compose
from dshloop.profiles.layers import Layer, LayerKind, parse_layer

KINDS: dict[str, LayerKind] = {"bundle": "bundle", "profile": "profile", "home": "home"}


def layer(name: str, text: str, kind: LayerKind = "bundle") -> Layer:
    """Give a layer whose file is /NAME.yml."""
    return parse_layer(text, name, kind, path=Path(f"/{name}.yml"))


def composed(*texts: str) -> Composition:
    """Compose a bundle, a profile patch and a home patch from their texts."""
    return compose(
        [layer(name, text, KINDS[name]) for name, text in zip(KINDS, texts, strict=False)]
    )
