"""Finding what answers a question: candidates from the index, ranked in Python."""
