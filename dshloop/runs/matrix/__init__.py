"""A matrix: agents or loops x drivers x models x prompts, each combination one session.

`file` reads what is to be run, `plan` makes cells of it, `record` keeps a run on disk, `pool` has
worker processes (`worker`, which runs a `cell` at a time), `running` puts them together; `table`
and `compare` are what people look at.
"""
