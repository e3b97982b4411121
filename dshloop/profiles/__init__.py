"""DSH profiles on disk: their layers, their plugins, and the composition that dsh boots."""
