"""Edits of rows and keys, planned on a composition and written by splice."""
