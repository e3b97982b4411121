"""A small npm registry on loopback: packages made for tests, served as the real one serves them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote


@dataclass
class Registry:
    """What is published; ``url`` ends with a slash, ``requests`` are the paths that were asked."""

    url: str
    archives: dict[str, dict[str, bytes]] = field(default_factory=dict)
    manifests: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def publish(self, name: str, version: str, *rows: str, **manifest: Any) -> None:
        """Publish a bundle that inserts these rows (its bare name, when none is given)."""
        values: dict[str, Any] = {"name": name, "version": version, "type": "module"}
        values["dsh"] = {"bundle": {"patch": "cordis.patch.yml"}}
        values = {key: value for key, value in {**values, **manifest}.items() if value is not None}
        ids = rows or (name.rpartition("/")[2],)
        items = "".join(f"    - id: '{row}'\n      name: ./index.js\n" for row in ids)
        files = {
            "package.json": json.dumps(values),
            "cordis.patch.yml": f"- insert:\n{items}",
            "index.js": "export function apply() {}\n",
        }
        self.archives.setdefault(name, {})[version] = _packed(files)
        self.manifests.setdefault(name, {})[version] = values

    def packument(self, name: str) -> dict[str, Any]:
        """Give what the registry says of a package."""
        versions = {}
        for version, values in self.manifests[name].items():
            data = self.archives[name][version]
            digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
            bare = name.rpartition("/")[2]
            versions[version] = {
                **values,
                "dist": {
                    "tarball": f"{self.url}{name}/-/{bare}-{version}.tgz",
                    "integrity": f"sha512-{digest}",
                    "shasum": hashlib.sha1(data).hexdigest(),
                },
            }
        return {"name": name, "dist-tags": {"latest": list(versions)[-1]}, "versions": versions}


@contextmanager
def registry() -> Iterator[Registry]:
    """Serve an empty registry while the block runs; the last version published is the latest."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    found = Registry(f"http://127.0.0.1:{server.server_address[1]}/")
    server.registry = found  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found: Registry = self.server.registry  # type: ignore[attr-defined]
        path = unquote(self.path).strip("/")
        found.requests.append(path)
        name, _, file = path.partition("/-/")
        if name not in found.archives:
            self._send(404, b'{"error": "not found"}', "application/json")
        elif file:
            version = file.removesuffix(".tgz")[len(name.rpartition("/")[2]) + 1 :]
            self._send(200, found.archives[name][version], "application/octet-stream")
        else:
            self._send(200, json.dumps(found.packument(name)).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def _packed(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def registry_variables(found: Registry, root: Path) -> dict[str, str]:
    """Give the variables with which pnpm asks this registry, and keeps what it had in ``root``."""
    return {
        "pnpm_config_registry": found.url,
        "pnpm_config_store_dir": str(root / "store"),
        "pnpm_config_cache_dir": str(root / "cache"),
        "XDG_CACHE_HOME": str(root / "xdg-cache"),
        "pnpm_config_minimum_release_age": "0",
    }
