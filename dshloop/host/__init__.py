"""A small harness: agents with an inbox, and the life of a turn."""
