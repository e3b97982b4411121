"""The rows of the Patchouli bundle, run here: what an agent does goes to memory plugins, and what
they know comes back (docs/patchouli.md)."""
