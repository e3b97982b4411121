"""Where the embedded store finds what may answer a question: its index and its neighbours."""
