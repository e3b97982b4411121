"""The dock of a profile: looked at, explained, checked, started."""
