"""The row `dshloop/memory`: the store in use, for models to ask, and to record what happens."""
