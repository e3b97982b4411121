"""What a whole run is: a session from opening to its end, listings, and sessions shown."""
