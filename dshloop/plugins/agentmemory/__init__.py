"""The row `dsh-agentmemory`: what sessions do becomes memory of an agentmemory daemon, and back."""
