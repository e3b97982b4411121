"""The agentmemory REST contract over any store (agentmemory 1 to 9).

`app.py` has the table of routes; an endpoint is a function that takes a Call and a store and gives
an Answer. It runs on a thread that owns the store (`lanes.py`): the event loop only moves bytes.
"""
