"""Memory in and out of files: one module a format, and what carries records over."""
