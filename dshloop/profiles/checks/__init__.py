"""The checks of a profile, one module a subject; `dshloop.profiles.checks.check` runs them all."""
