"""A boot of the real dsh in a home that is thrown away, and what it complains of."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from dshloop.dsh import Program
from dshloop.errors import ProgramFailedError
from dshloop.profiles.layout import SCOPE, Manifest, Profile, read_manifest
from dshloop.terminal import one_line

SECONDS = 8.0  # a boot mounts its rows in one or two
_ENDING = 5.0
_NAME = "trial"
_WEB = SCOPE + "dsh-web-app"
# apps that want a task or a peer on stdin, and end without one
_APPS = (SCOPE + "dsh-headless", SCOPE + "dsh-sdk-app", SCOPE + "dsh-acp-app")
_COMPLAINT = re.compile(r"^(?:dsh: .*|\S.* \(.*\): .*|.*?((?:[A-Z]\w*)?Error: .*))$")

Outcome = Literal["running", "ended", "failed"]


@dataclass(frozen=True, slots=True)
class Boot:
    """How a boot went: still running when we looked, ended well, or failed.

    ``complaints`` are the lines that say what is wrong, without stack traces; a 0.2.1 that goes
    on without a row complains and runs.
    """

    outcome: Outcome
    status: int | None
    complaints: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether it came up without a complaint."""
        return self.outcome != "failed" and not self.complaints

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "ok": self.ok,
            "outcome": self.outcome,
            "status": self.status,
            "complaints": list(self.complaints),
        }


def home_for_trial(
    profile: Profile, home: Path, manifest: Manifest, packages: Mapping[str, Path]
) -> Profile:
    """Make what a boot reads of a profile in another home: manifest, patches and packages.

    ``packages`` are the folders of the packages by their names. Apps that end at once when
    nobody talks to them are left out of the bundle list.
    """
    trial = Profile(_NAME, home / "profiles" / _NAME, home)
    trial.folder.mkdir(parents=True)
    bundles = [bundle for bundle in manifest.bundles if bundle not in _APPS]
    trial.manifest.write_bytes(manifest.with_bundles(bundles).as_bytes())
    own = (profile.patch, trial.patch), (profile.home_patch, trial.home_patch)
    exempt = "compatibility.json"
    for source, target in (*own, (profile.folder / exempt, trial.folder / exempt)):
        if source.is_file():
            shutil.copyfile(source, target)
    for name, folder in packages.items():
        link = trial.modules / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder.resolve())
    return trial


def packages_in(modules: Path) -> dict[str, Path]:
    """Give the folders in a node_modules by the names of their packages."""
    found = [*modules.glob("[!.@]*"), *modules.glob("@*/*")]
    return {path.relative_to(modules).as_posix(): path for path in found if path.is_dir()}


def boot(
    dsh: Program, trial: Profile, variables: Mapping[str, str], *, seconds: float = SECONDS
) -> Boot:
    """Boot a profile of a throw-away home, and end it when it runs after ``seconds``.

    No model and no telemetry is reached. Raises ProgramFailedError when dsh can't be started.
    """
    words = ["--profile", trial.name]
    if _WEB in read_manifest(trial).bundles:
        words += ["--no-open", "--port", "0"]
    own = {
        **variables,
        "DSH_HOME": str(trial.dsh_home),
        "DSH_TELEMETRY_DISABLED": "1",
        "DEEPSEEK_API_KEY": "none",
        "DEEPSEEK_BASE_URL": "http://127.0.0.1:9",
    }
    with TemporaryDirectory(prefix="dshloop-boot-") as cwd:
        status, said = _run(dsh, words, own, Path(cwd), seconds)
    outcome: Outcome = "running" if status is None else "ended" if status == 0 else "failed"
    return Boot(outcome, status, tuple(dict.fromkeys(_complaints(said))))


def _run(
    dsh: Program, words: Sequence[str], variables: Mapping[str, str], cwd: Path, seconds: float
) -> tuple[int | None, str]:
    """Run dsh; status None when it had to be ended. Gives its stderr too."""
    import subprocess

    with (cwd / "stderr").open("w+b") as errors:
        try:
            process = subprocess.Popen(
                [str(dsh.path), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=cwd,
                env=dict(variables),
                start_new_session=True,
            )
        except OSError as fault:
            raise ProgramFailedError(
                f"dsh could not be run: {fault}", path=str(dsh.path)
            ) from fault
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
        errors.seek(0)
        return status, errors.read().decode("utf-8", "replace")


def _end(process: Any) -> None:
    """End dsh and what it started: it is the leader of a group of its own."""
    import os
    import signal
    import subprocess

    for kind in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, kind) if hasattr(os, "killpg") else process.kill()
            process.wait(_ENDING)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _complaints(said: str) -> Iterator[str]:
    for line in said.splitlines():
        found = None if line.startswith(("    at ", "file:")) else _COMPLAINT.match(line)
        if found is not None:
            yield one_line((found.group(1) or line).strip(), 400)
