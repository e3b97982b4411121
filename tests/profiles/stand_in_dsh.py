"""A small program that stands in for dsh: it has bundles of its own and prints their dumps."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dshloop.dsh import Program
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.inbox.ask import PROBE, Answer
from dshloop.profiles.layers import Layer, parse_layer
from dshloop.profiles.patch import Row
from dshloop.profiles.stack import bundle_layers, find_bundle

SCRIPT = """#!{python}
import sys
sys.path.insert(0, {root!r})
from tests.profiles.stand_in_dsh import main
main({folder!r}, {version!r}, {strict!r}, sys.argv[1:])
"""


def write_dsh(
    folder: Path, bundles: Mapping[str, str], *, version: str = "0.2.1", strict: bool = False
) -> Program:
    """Write a program `dsh` with these bundles (name -> patch file); strict as dsh 0.1.2."""
    write_bundles(folder / "own", bundles)
    program = folder / "dsh"
    root = str(Path(__file__).parents[2])
    text = SCRIPT.format(
        python=sys.executable, root=root, folder=str(folder), version=version, strict=strict
    )
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return Program("dsh", program, folder)


def write_bundles(root: Path, bundles: Mapping[str, str]) -> None:
    """Write packages into the node_modules of a folder."""
    for name, text in bundles.items():
        package = root / "node_modules" / name
        package.mkdir(parents=True, exist_ok=True)
        manifest = {"name": name, "version": "1.0.0", "dsh": {"bundle": {"patch": "p.yml"}}}
        (package / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
        (package / "p.yml").write_text(text, encoding="utf-8")


def runs(program: Program) -> list[str]:
    """Give the command lines with which the program was run, without --version."""
    log = program.entry / "runs"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line for line in lines if line != "--version"]


def main(folder: str, version: str, strict: bool, words: Sequence[str]) -> None:
    """Do what dsh does with `--version` and `--profile X --dump-default-config`."""
    import os

    with (Path(folder) / "runs").open("a", encoding="utf-8") as log:
        log.write(" ".join(words) + "\n")
    if words == ["--version"]:
        print(version)
        return
    home = Path(os.environ["DSH_HOME"])
    from dshloop.profiles.layout import Profile, read_manifest

    profile = Profile(words[1], home / "profiles" / words[1], home)
    (profile.folder / "cordis.yml").write_text("[]\n", encoding="utf-8")
    own = Path(folder) / "own"
    layers, skipped = bundle_layers(
        profile,
        read_manifest(profile).bundles,
        lambda name: find_bundle(own, name) or find_bundle(profile.folder, name),
    )
    if skipped and strict:
        print(f"file:///x.js:1\n{skipped[0].reason}\n    at x", file=sys.stderr)
        sys.exit(1)
    composition = compose(layers)
    for one in skipped:
        print(one.line, file=sys.stderr)
    for layer, message in composition.warnings:
        print(f"dsh: [{layer}] {message}", file=sys.stderr)
    sys.stdout.write(dump_text(composition))


class Told:
    """Answers as a dsh with these bundles would, in this process; `asked` are its questions."""

    def __init__(self, bundles: Mapping[str, str]) -> None:
        self.layers = {name: parse_layer(text, name, "bundle") for name, text in bundles.items()}
        self.asked: list[list[str]] = []

    def __call__(self, bundles: Sequence[str], probe: Sequence[Row] = ()) -> Answer:
        self.asked.append(list(bundles))
        layers = [self.layers[name] for name in bundles if name in self.layers]
        missing = {
            name: f'Error: dsh: cannot resolve profile bundle "{name}" from here'
            for name in bundles
            if name not in self.layers
        }
        if probe:
            layers.insert(0, parse_layer(json.dumps([{"insert": list(probe)}]), PROBE, "bundle"))
        return answer_of(layers, missing)


def answer_of(layers: Sequence[Layer], skipped: Mapping[str, str] | None = None) -> Answer:
    """Give what dsh would answer for these layers."""
    from dshloop.dsh_yaml import load

    composition = compose(layers)
    text = dump_text(composition)
    return Answer(text, load(text) or [], composition.warnings, dict(skipped or {}))
