"""Patchouli's storage as a memory store that is only read: over its socket, or from its file."""
