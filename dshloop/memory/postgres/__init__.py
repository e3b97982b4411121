"""Memory for a team: the same store in PostgreSQL."""
