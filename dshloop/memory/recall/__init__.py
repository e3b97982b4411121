"""Answering questions: pure ranking, over what any database gives (source.py)."""
