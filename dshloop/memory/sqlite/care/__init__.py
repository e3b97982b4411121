"""Looking after the database file: compare, rebuild, copy, rescue."""
