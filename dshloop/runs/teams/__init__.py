"""Several agents in one process: the declared ones of a file, and those that an agent starts."""
