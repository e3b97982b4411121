"""The embedded store: one SQLite file, the default and the reference for every other store."""
