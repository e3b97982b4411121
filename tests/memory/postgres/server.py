"""A PostgreSQL server for tests: the one that ``$DSHLOOP_TEST_POSTGRES`` names (a connection string
of somebody who may create schemas and roles), else one that is started here."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

VARIABLE = "DSHLOOP_TEST_POSTGRES"
_PLACES = ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql@*/bin")


class NoServerError(Exception):
    """No server can be had here."""


def programs() -> Path:
    """Give the folder with ``initdb`` and ``postgres``."""
    for pattern in _PLACES:
        for folder in sorted(Path("/").glob(pattern[1:]), reverse=True):
            if (folder / "initdb").exists():
                return folder
    found = shutil.which("initdb")
    if found is None:
        raise NoServerError("PostgreSQL is not installed (initdb), and $DSHLOOP_TEST_POSTGRES "
                            "names no server")  # fmt: skip
    return Path(found).resolve().parent


class Server:
    """One server on loopback and a socket, in a folder of its own; never as root."""

    def __init__(self, *settings: str) -> None:
        self._programs = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="dshloop-postgres-"))
        self._user = _other_user()
        if self._user:
            shutil.chown(self.folder, self._user)
        self.folder.chmod(0o700)
        self.port = _free_port()
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "postgres", "-A", "trust",
                  "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")  # fmt: skip

    @property
    def dsn(self) -> str:
        """Say how to connect as the superuser."""
        return f"host={self.folder} port={self.port} user=postgres dbname=postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["-p", str(self.port), "-h", "127.0.0.1", "-k", str(self.folder)]
        for setting in self._settings:
            options += ["-c", setting]
        command = [str(self._programs / "postgres"), "-D", str(self.folder / "data"), *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, user=self._user, cwd=self.folder
            )
        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.dsn, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill every process of it at once, as losing the machine would."""
        assert self._process is not None
        first = self._process.pid
        os.kill(first, signal.SIGSTOP)  # it must not see its children go, and tidy up
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for pid in (*map(int, children), first):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()
        self._process = None
        for pid in children:  # the memory that they share must be free before the next start
            while _runs(pid):
                time.sleep(0.01)

    def stop(self) -> None:
        """End it, and take its folder away."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._programs / program), *arguments],
            check=True,
            capture_output=True,
            user=self._user,
            cwd=self.folder,
        )


def _runs(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _other_user() -> str | None:
    """Name who runs it: PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise NoServerError("PostgreSQL does not run as root, and there is no user postgres")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
