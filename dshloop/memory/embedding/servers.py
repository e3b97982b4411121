"""Models behind HTTP: OpenAI's ``/v1/embeddings``, which many servers speak, and Ollama."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dshloop.errors import PeerAnswerError
from dshloop.http import Peer, Retry, Timeouts, bearer, connect
from dshloop.memory.embedding.embedder import readable, unit_rows

if TYPE_CHECKING:
    from dshloop.http.client import Client
    from dshloop.memory.embedding.choice import Choice
    from dshloop.memory.embedding.embedder import Vector, Vectors

OLLAMA_URL = "http://localhost:11434"

_BATCH_TEXTS = 64
_BATCH_CHARACTERS = 60_000
# Somebody waits for a question, or for one text to be remembered.
_WAITED_FOR = Retry(attempts=2, first=0.2, longest=1.0)
_FOR_MANY = Retry(attempts=5, first=0.5, longest=30.0)


class ServerEmbedder:
    """A model that a server runs. Subclasses know the path and the shape of an answer."""

    kind: str
    path: str

    def __init__(self, choice: Choice, url: str, key: str | None, variables: Mapping[str, str]):
        self.name = f"{self.kind}/{choice.model}"
        self._choice = choice
        self._variables = variables
        self._peer = Peer(
            "the embeddings endpoint",
            url,
            secrets=bearer(key),
            timeouts=Timeouts(connect=5, read=120, write=30),
            allow_insecure_http=choice.allow_insecure_http,
        )
        self._opened: Client | None = None

    def embed_query(self, text: str) -> Vector:
        asked = self._choice.query_prefix + readable(text)
        row: Vector = unit_rows(self._asked([asked], _WAITED_FOR), 1, self.name)[0]
        return row

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self._choice.text_prefix + readable(text) for text in texts]
        retry = _WAITED_FOR if len(texts) == 1 else _FOR_MANY
        rows = [row for batch in batches(prefixed) for row in self._asked(batch, retry)]
        return unit_rows(rows, len(texts), self.name)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def _asked(self, texts: Sequence[str], retry: Retry) -> list[Any]:
        if self._opened is None:
            self._opened = connect(self._peer, self._variables)
        body = {"model": self._choice.model, "input": list(texts), **self._more()}
        answer = self._opened.request("POST", self.path, json=body, retry=retry).json()
        try:
            rows = self._rows(answer)
        except (TypeError, KeyError, ValueError):
            raise PeerAnswerError(
                f"{self._peer.name} answered with something that holds no embeddings",
                peer=self._peer.name,
                url=self._peer.shown,
            ) from None
        if len(rows) != len(texts):
            raise PeerAnswerError(
                f"{self._peer.name} gave {len(rows)} vectors for {len(texts)} texts",
                peer=self._peer.name,
                url=self._peer.shown,
            )
        return rows

    def _more(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def _rows(self, answer: Any) -> list[Any]:
        raise NotImplementedError


class OpenAIEmbedder(ServerEmbedder):
    """``POST /embeddings`` below an address that ends in ``/v1``, as OpenAI's clients take it."""

    kind = "openai"
    path = "/embeddings"

    def _more(self) -> Mapping[str, Any]:
        return {"encoding_format": "float"}

    def _rows(self, answer: Any) -> list[Any]:
        found = sorted(answer["data"], key=lambda item: int(item["index"]))
        return [item["embedding"] for item in found]


class OllamaEmbedder(ServerEmbedder):
    """Ollama's ``POST /api/embed``; texts longer than the model reads are cut by it."""

    kind = "ollama"
    path = "/api/embed"

    def _more(self) -> Mapping[str, Any]:
        return {"truncate": True}

    def _rows(self, answer: Any) -> list[Any]:
        return list(answer["embeddings"])


def openai_base(url: str) -> str:
    """Give the address below which ``/embeddings`` is: the full path may be given, or none."""
    from urllib.parse import urlsplit

    base = url.rstrip("/").removesuffix("/embeddings")
    return f"{base}/v1" if not urlsplit(base).path else base


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Cut texts into requests of bounded size."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or size + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
