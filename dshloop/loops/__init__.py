"""Which loop and driver a session runs on, and how that is recorded."""
