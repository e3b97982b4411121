"""Looking through a store for what makes recall worse: one module a kind of finding."""
