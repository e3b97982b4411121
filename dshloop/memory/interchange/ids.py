"""Ids for what other programs name otherwise: the same thing gets the same id at every import."""

from __future__ import annotations


def made_id(prefix: str, *parts: str) -> str:
    """Make an id of what names a thing."""
    from hashlib import sha256

    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"{prefix}{sha256(text).hexdigest()[:32]}"
