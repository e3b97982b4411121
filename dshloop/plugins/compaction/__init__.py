"""The row `dshloop/compaction`: a long history gives way to a summary of it."""
