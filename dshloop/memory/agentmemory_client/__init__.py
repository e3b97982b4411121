"""A client of the agentmemory daemon (agentmemory 3).

    async with AgentmemoryAsync(peer_of("http://localhost:3111", secret), variables) as daemon:
        started = await daemon.ask(calls.session_start(session, project, cwd, agent="dsh"))

`calls` has a function for each endpoint: it makes the request, and knows how to read the answer.
`client` and `async_client` send them. What goes wrong is one of the errors of `outcome`.
"""
