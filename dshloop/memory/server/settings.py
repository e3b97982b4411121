"""What a server is told: where it listens, who may ask, and what the daemon reads of variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from dshloop.errors import ServerOpenError, ServerSettingError

HOST = "127.0.0.1"
PORT = 3111
SECRET = "AGENTMEMORY_SECRET"
AGENT = "AGENT_ID"
SCOPE = "AGENTMEMORY_AGENT_SCOPE"
BUDGET = "TOKEN_BUDGET"
SESSION_LIMIT = "MAX_OBS_PER_SESSION"
FOLLOWUP = "AGENTMEMORY_FOLLOWUP_WINDOW_SECONDS"

TOKENS, OBSERVATIONS, FOLLOWUP_SECONDS = 2000, 500, 30

LONGEST_AGENT = 128
"""Characters of an agent's name (agentmemory 4)."""

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """One server's settings; ``isolated`` holds only together with ``agent`` (agentmemory 8).

    ``hosts`` are further names by which a client may call the server. Bodies are in bytes.
    """

    host: str = HOST
    port: int = PORT
    secret: str | None = None
    agent: str | None = None
    isolated: bool = False
    token_budget: int = TOKENS
    session_limit: int = OBSERVATIONS
    followup_seconds: int = FOLLOWUP_SECONDS
    hosts: tuple[str, ...] = ()
    body_limit: int = 16 * MEBIBYTE
    import_limit: int = 64 * MEBIBYTE

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def read_settings(
    variables: Mapping[str, str],
    *,
    host: str = HOST,
    port: int = PORT,
    hosts: tuple[str, ...] = (),
) -> Settings:
    """Read the variables as the daemon does (agentmemory 9): blank is unset, a number that is none
    is the default's.

    Raises SERVER_OPEN for a host that others can reach without a secret, and SERVER_SETTING.
    """
    agent = _text(variables, AGENT)
    settings = Settings(
        host=host,
        port=port,
        secret=_text(variables, SECRET),
        agent=None if agent is None else agent[:LONGEST_AGENT],
        isolated=agent is not None and (_text(variables, SCOPE) or "").lower() == "isolated",
        token_budget=_count(variables, BUDGET, TOKENS),
        session_limit=_count(variables, SESSION_LIMIT, OBSERVATIONS),
        followup_seconds=_count(variables, FOLLOWUP, FOLLOWUP_SECONDS),
        hosts=tuple(name.strip().lower() for name in hosts if name.strip()),
    )
    if not host.strip():
        raise ServerSettingError("a server needs a host to listen on, for example 127.0.0.1")
    if not settings.loopback and settings.secret is None:
        raise ServerOpenError(
            f"{host} can be reached from other machines, and ${SECRET} is not set", host=host
        )
    return settings


def is_loopback(host: str) -> bool:
    """Tell a name or address that means this machine only."""
    name = host.strip("[]").lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _text(variables: Mapping[str, str], name: str) -> str | None:
    return variables.get(name, "").strip() or None


def _count(variables: Mapping[str, str], name: str, default: int) -> int:
    text = variables.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return default
    return int(text) or default
