"""Readers of other programs' session logs: tolerant, and they never write."""
