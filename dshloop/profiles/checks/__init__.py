"""The checks of a profile, one module a subject; `dshloop.profiles.check` runs them all."""
