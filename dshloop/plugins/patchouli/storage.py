"""The row `dsh-patchouli/storage`: the storage daemon as a service (patchouli 11).

The row runs without a daemon too: who needs it is told then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.host.mount import Mount
from dshloop.memory.patchouli_socket import DEFAULT_ENDPOINT, Answer, Client
from dshloop.plugins.patchouli.artifact_homes import DaemonHome
from dshloop.plugins.patchouli.config import Keys

SERVICE = "patchouliStorage"
_POLL = 0.05
_daemons: list[Any] = []  # those that were started here; they go on when we end
_LOOK_AGAIN = 30.0  # seconds after which a daemon that was not there is looked for again


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """Where the daemon is, and how it is started when nobody answers."""

    endpoint: Path
    command: str
    providers: Path
    backend: Path
    artifacts: Path
    auto_start: bool
    startup_timeout_ms: float


def read_storage_config(raw: Any) -> StorageConfig:
    """Check the config of the row. Raises ValueError."""
    keys = Keys(raw, "")

    def path(name: str, default: str) -> Path:
        return Path(keys.text(name, default)).expanduser()

    config = StorageConfig(
        endpoint=path("endpoint", DEFAULT_ENDPOINT),
        command=keys.text("command", "patchouli-db"),
        providers=path("providerConfigPath", "~/.patchouli/providers.json"),
        backend=path("backendConfigPath", "~/.patchouli/config.json"),
        artifacts=path("artifactRootPath", "~/.patchouli/data/artifacts"),
        auto_start=keys.flag("autoStart", True),
        startup_timeout_ms=keys.number("startupTimeoutMs", 5000, least=1),
    )
    keys.finish()
    return config


class PatchouliStorage:
    """Offers the daemon."""

    name = "dsh-patchouli/storage"
    Config = staticmethod(read_storage_config)

    async def apply(self, host: Mount, config: StorageConfig) -> None:
        """Offer the service; the daemon is looked for when it is needed."""
        storage = Storage(config, host.host.warn)
        host.undo(storage.close)
        host.provide(SERVICE, storage)


class Storage:
    """The service `patchouliStorage`."""

    def __init__(self, config: StorageConfig, warn: Callable[[str], object]) -> None:
        self.config = config
        self.client = Client(config.endpoint)
        self._warn = warn
        self._absent_until = 0.0
        self._starting = asyncio.Lock()

    async def call(self, method: str, meta: Mapping[str, Any], data: Mapping[str, Any]) -> Answer:
        """Call the daemon, started when it doesn't run; raises what `Client.call` raises."""
        async with self._starting:
            await asyncio.to_thread(self._reach)
        return await asyncio.to_thread(self.client.call, method, meta, data)

    async def home(self) -> DaemonHome | None:
        """Give the daemon as a home of artifacts, None when it can't be reached."""
        from dshloop.errors import PeerUnreachableError

        if time.monotonic() < self._absent_until:
            return None
        try:
            async with self._starting:
                await asyncio.to_thread(self._reach)
        except PeerUnreachableError as error:
            self._absent_until = time.monotonic() + _LOOK_AGAIN
            self._warn(f"{error.message}; artifacts are kept in dshloop's own store")
            return None
        return DaemonHome(self.client)

    async def close(self) -> None:
        """Close the connection; the daemon goes on."""
        await asyncio.to_thread(self.client.close)

    def _reach(self) -> None:
        """Connect, after starting the daemon where it can be. Raises PEER_DOWN."""
        from dshloop.errors import PeerDownError

        try:
            self.client.handshake()
            return
        except PeerDownError:
            if not self.config.auto_start or not self._start():
                raise
        deadline = time.monotonic() + self.config.startup_timeout_ms / 1000
        while True:
            time.sleep(_POLL)
            try:
                self.client.handshake()
                return
            except PeerDownError:
                if time.monotonic() >= deadline:
                    raise

    def _start(self) -> bool:
        """Start the daemon, detached; False where it isn't installed or not set up."""
        import shutil
        import subprocess

        config = self.config
        program = shutil.which(config.command)
        if program is None or not config.providers.exists():
            return False
        daemon = subprocess.Popen(
            [
                program, "serve", "--endpoint", str(config.endpoint), "--artifacts",
                str(config.artifacts), "--providers", str(config.providers), "--config",
                str(config.backend),
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        _daemons.append(daemon)
        return True
