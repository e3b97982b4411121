"""Isolation for every test: no home, configuration or data of the person running them."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

_OURS = (
    "DSHLOOP_", "DSH_", "AGENTMEMORY_", "DEEPSEEK_", "OPENAI_", "ANTHROPIC_", "XDG_",
)  # fmt: skip

# A shell's background job ignores Ctrl-C, and so would every process that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# nohup ignores this one, and what ignores it goes on when its terminal is closed.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point HOME, XDG, DSH and dshloop folders at an empty place; give that place.

    Folders that hold a dsh leave PATH: its bundles would be in every profile.
    """
    root = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(_OURS):
            if name == "DSHLOOP_CONFORMANCE" or name.startswith("DSHLOOP_TEST_"):
                continue
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("USERPROFILE", str(root))
    monkeypatch.setenv("DSH_HOME", str(root / "dsh"))
    monkeypatch.setenv("DSHLOOP_DATA", str(root / "data"))
    monkeypatch.setenv("DSHLOOP_CONFIG", str(root / "config"))
    entries = os.environ.get("PATH", "").split(os.pathsep)
    kept = [entry for entry in entries if shutil.which("dsh", path=entry or os.curdir) is None]
    monkeypatch.setenv("PATH", os.pathsep.join(kept))
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM", "EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    return root
