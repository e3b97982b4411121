"""The store `agentmemory`: what its daemon holds, as entries, for every `memory` command."""
