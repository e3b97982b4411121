"""Our durable sessions: where they are, the append-only log, and the listing."""
