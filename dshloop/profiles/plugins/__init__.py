"""Plugins of a profile: brought in, looked into, moved, switched and taken out."""
