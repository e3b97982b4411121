"""Memory: what agents and people want to find again, behind one small protocol."""
