"""Stored sessions: listed, shown, checked, exported, played again."""
