"""A client of Patchouli's storage daemon: JSON lines over a Unix socket (patchouli 9)."""

from dshloop.memory.patchouli_socket.client import DEFAULT_ENDPOINT, Answer, Client
from dshloop.memory.patchouli_socket.subscription import Subscription

__all__ = ["DEFAULT_ENDPOINT", "Answer", "Client", "Subscription"]
