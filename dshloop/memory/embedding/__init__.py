"""Vectors for texts: the model that comes with the extra ``semantic``, or one that a server runs.

Nothing here is touched before a question or a store asks for meaning (``--semantic``,
``memory.semantic: true``).
"""

from dshloop.memory.embedding.choice import Choice, choice_of, open_embedder
from dshloop.memory.embedding.embedder import Embedder

__all__ = ["Choice", "Embedder", "choice_of", "open_embedder"]
