"""What the clients have in common: settings for httpx, bodies, and errors for what goes wrong."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import (
    DshloopError,
    PeerAnswerError,
    PeerConfigError,
    PeerDeniedError,
    PeerDownError,
    PeerFailedError,
    PeerTimeoutError,
)
from dshloop.http.peer import TRIED_AGAIN, Peer, Retry, check, proxy_for

if TYPE_CHECKING:
    import ssl

    import httpx

_LINE_END = re.compile(rb"\r\n|\n|\r")
_SAID = 300  # characters of a server's own words in an error
_READ_OF_REFUSAL = 64 * 1024


class Answer(NamedTuple):
    """A whole answer; header names are in small letters."""

    peer: Peer
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Give the JSON value of the body; PEER_ANSWER when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise PeerAnswerError(
                f"{self.peer.name} answered with something that is no JSON",
                peer=self.peer.name,
                url=self.peer.shown,
                status=self.status,
            ) from None


class Body:
    """An answer as it comes, no longer and for no longer than its peer may send."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._until = time.monotonic() + peer.timeouts.whole
        self._kept = bytearray()

    def add(self, piece: bytes) -> None:
        """Take a piece. Raises PEER_ANSWER and PEER_TIMEOUT."""
        self._kept += piece
        if len(self._kept) > self._peer.most_bytes:
            raise too_long(self._peer)
        if time.monotonic() > self._until:
            raise _too_slow(self._peer, self._peer.timeouts.whole)

    def __bytes__(self) -> bytes:
        return bytes(self._kept)


class LineBuffer:
    """Bytes in, whole lines out; only \\n, \\r\\n and \\r end a line, as in event streams.

    ``str.splitlines`` ends them at U+2028 too, which JSON may hold.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self._after_return = False

    def feed(self, chunk: bytes) -> list[str]:
        """Give the lines that are whole now."""
        if not chunk:
            return []
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        if b"\n" not in chunk and b"\r" not in chunk:
            self._kept += chunk
            return []
        *lines, rest = _LINE_END.split(bytes(self._kept) + chunk)
        self._kept = bytearray(rest)
        return [line.decode("utf-8", "replace") for line in lines]

    def rest(self) -> list[str]:
        """Give what came after the last line end, if anything."""
        return [self._kept.decode("utf-8", "replace")] if self._kept else []


def settings(peer: Peer, variables: Mapping[str, str]) -> dict[str, Any]:
    """Give the arguments for httpx.Client; PEER_CONFIG and INSECURE_HTTP.

    ``trust_env`` is off: what it would read is read from ``variables`` instead.
    """
    import httpx

    parts = check(peer)
    proxy = proxy_for(parts, variables)
    secured = parts.scheme == "https" or (proxy or "").startswith("https:")
    return {
        "base_url": peer.url.rstrip("/"),
        "headers": {"User-Agent": "dshloop", **peer.headers, **peer.secrets},
        "timeout": httpx.Timeout(
            peer.timeouts.read, connect=peer.timeouts.connect, write=peer.timeouts.write
        ),
        "proxy": proxy,
        "verify": _trusted(variables) if secured else _nobody_trusted(),
        "trust_env": False,
        "follow_redirects": False,
    }


def unusable(peer: Peer, why: Exception) -> PeerConfigError:
    """Give the error for settings that httpx takes offence at: in practice, a proxy's address."""
    return PeerConfigError(
        f"the proxy for {peer.name} can't be used ({type(why).__name__})",
        hint="Look at http_proxy, https_proxy and all_proxy; SOCKS needs the package socksio.",
        peer=peer.name,
    )


def encoded(body: Any) -> bytes:
    """Give JSON as UTF-8; text that UTF-8 can't hold goes as escapes."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body, allow_nan=False).encode()


class Attempts:
    """The tries of one request: how long to wait after each, and when the last one has failed."""

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self._made = 0

    def after(self, failure: DshloopError, response: httpx.Response | None = None) -> float:
        """Give the seconds until the next try; raise the failure when there is none."""
        import random

        self._made += 1
        if response is not None and response.status_code not in TRIED_AGAIN:
            raise failure from None
        asked = None if response is None else asked_pause(response.headers, time.time())
        pause = self._retry.pause(self._made, asked, random.random())
        if pause is None:
            raise failure from None
        return pause


def json_parts(json: Any, content: bytes | None = None) -> dict[str, Any]:
    """Give the body of a request and its headers; ``content`` is one that is encoded already."""
    if json is None:
        return {"content": content}
    return {"content": encoded(json), "headers": {"Content-Type": "application/json"}}


def fault(peer: Peer, error: httpx.HTTPError | httpx.StreamError) -> DshloopError:
    """Give our error for one of httpx: it names the peer and holds no secret of it."""
    import httpx

    about = {"peer": peer.name, "url": peer.shown}
    if isinstance(error, httpx.TimeoutException):
        connecting = isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
        limit = peer.timeouts.connect if connecting else peer.timeouts.read
        return _too_slow(peer, limit)
    if isinstance(error, httpx.DecodingError | httpx.RemoteProtocolError):
        return PeerAnswerError(
            f"the answer of {peer.name} at {peer.shown} broke off or is no HTTP", **about
        )
    said = clean(peer, str(error)) or type(error).__name__
    return PeerDownError(f"{peer.name} can't be reached at {peer.shown}: {said}", **about)


def refusal(peer: Peer, status: int, body: bytes) -> DshloopError:
    """Give the error for an answer whose status is no success."""
    said = clean(peer, _words_of(body[:_READ_OF_REFUSAL]))
    about: dict[str, Any] = {"peer": peer.name, "url": peer.shown, "status": status, "said": said}
    words = f": {said}" if said else ""
    if status in (401, 403):
        return PeerDeniedError(f"{peer.name} refused us with status {status}{words}", **about)
    return PeerFailedError(f"{peer.name} answered with status {status}{words}", **about)


def too_long(peer: Peer) -> PeerAnswerError:
    """Give the error for an answer beyond ``most_bytes``."""
    return PeerAnswerError(
        f"the answer of {peer.name} is longer than {peer.most_bytes} bytes",
        peer=peer.name,
        url=peer.shown,
    )


def _too_slow(peer: Peer, seconds: float) -> PeerTimeoutError:
    return PeerTimeoutError(
        f"{peer.name} at {peer.shown} did not answer within {seconds:g} s",
        peer=peer.name,
        url=peer.shown,
    )


def asked_pause(headers: Mapping[str, str], now: float) -> float | None:
    """Give the seconds that ``Retry-After`` asks for, in seconds or as a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isdecimal() and value.isascii():
        return float(value[:12])
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def clean(peer: Peer, text: str) -> str:
    """Give a peer's words as one short line without secrets, ours before all."""
    from dshloop.redact import MARK, redact_text
    from dshloop.terminal import one_line

    for value in peer.secrets.values():
        for secret in {value, value.rpartition(" ")[2]}:
            text = text.replace(secret, MARK) if secret else text
    return one_line(redact_text(text), _SAID)


def _words_of(body: bytes) -> str:
    """Find the message in an error's body: OpenAI's, Anthropic's, Ollama's shape, or the text."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.lstrip().startswith("<") else text  # a proxy's HTML page says nothing
    while isinstance(value, dict):
        value = next((value[key] for key in ("error", "message", "detail") if value.get(key)), "")
    return value if isinstance(value, str) else ""


def _trusted(variables: Mapping[str, str]) -> ssl.SSLContext | bool:
    file, folder = variables.get("SSL_CERT_FILE"), variables.get("SSL_CERT_DIR")
    if not file and not folder:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        raise PeerConfigError(
            f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names can't be read: {error}"
        ) from None


def _nobody_trusted() -> ssl.SSLContext:
    """Give what a plain connection needs: reading the authorities would take 20 ms for nothing."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
