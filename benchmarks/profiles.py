"""How long composing takes, as a ratio to `yaml.load(CSafeLoader)` of the same bytes.

Run it from the checkout: ``python -m benchmarks.profiles``. Ratios are of runs in one process; the
best of several, since the machine has other work too. Where $DSHLOOP_TEST_DSH names a real dsh,
``profile dump web`` is timed against it, whole processes in turn.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from dshloop.dsh_yaml import load_document
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.layers import parse_layer
from dshloop.splice import YamlText

LAYERS = 5


def layer_texts(rows: int) -> list[str]:
    """Give layers that insert a fifth of the rows each and patch what the layer below inserted."""
    each = rows // LAYERS
    return ["".join(_items(number, each)) for number in range(LAYERS)]


def _items(number: int, rows: int) -> list[str]:
    items = ["- insert:\n"]
    for row in range(rows):
        items.append(
            f"    - id: row-{number}-{row}\n"
            f'      name: "@scope/plugin-{row}"\n'
            "      config:\n"
            f"        url: https://example.com/{row}\n"
            f"        timeout: {row}\n"
            "        options: {deep: true, tags: [a, b]}\n"
        )
    if number:
        for row in range(rows):
            items.append(f"- id: row-{number - 1}-{row}\n  config: {{url: x, timeout: {row}}}\n")
    return items


def edit_line(rows: int) -> str:
    """Tell what one edit of one file costs, read, edited and read back, against `yaml.compose`."""
    text = _items(0, rows)
    whole = "".join(text)
    path = (0, "insert", rows // 2, "config", "timeout")
    base = best(lambda: yaml.compose(whole, Loader=yaml.CSafeLoader))
    edit = best(lambda: YamlText(whole).set(path, 7))
    added = best(lambda: YamlText(whole).append((), {"id": "x", "disabled": True}))
    return (
        f"one file of {rows} rows: C compose {base * 1000:.0f} ms; "
        f"value set {edit / base:.2f}, item added {added / base:.2f}"
    )


def best(run: Callable[[], object], repeat: int = 5) -> float:
    """Give the shortest of several runs, in seconds."""
    times = []
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def dump_against(dsh: str, repeat: int = 9) -> str:
    """Compare dumps of the web profile by dshloop and by the real dsh, which must be equal."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "bin").mkdir()
        (root / "bin" / "dsh").symlink_to(Path(dsh).absolute())
        variables = {
            **os.environ,
            "PATH": os.pathsep.join([str(root / "bin"), os.environ["PATH"]]),
            "DSH_HOME": str(root / "home"),
            "DSHLOOP_DATA": str(root / "data"),
            "DSH_TELEMETRY_DISABLED": "1",
        }
        theirs = ["dsh", "--profile", "web", "--dump-config"]
        ours = [str(Path(sys.executable).with_name("dshloop")), "profile", "dump", "web"]
        start = time.perf_counter()
        first = _output(ours, variables)
        learned = time.perf_counter() - start
        if first != _output(theirs, variables):
            raise SystemExit("the two dumps differ")
        times = [
            [best(lambda words=words: _output(words, variables), 1) for words in (theirs, ours)]
            for _ in range(repeat)
        ]
    dsh_time, own_time = (min(column) for column in zip(*times, strict=True))
    return (
        f"profile dump web: dsh {dsh_time * 1000:.0f} ms; ours {own_time / dsh_time:.2f}, "
        f"the first, which asks dsh for its bundles, {learned / dsh_time:.1f}"
    )


def memory_line(sizes: Sequence[int] = (1000, 2500, 5000)) -> str:
    """Tell how many bytes a row takes, read and composed with provenance, at several sizes."""
    import tracemalloc

    found = []
    for rows in sizes:
        texts = layer_texts(rows)
        gc.collect()
        tracemalloc.start()
        compose([parse_layer(text, str(number)) for number, text in enumerate(texts)])
        found.append(f"{rows} rows {tracemalloc.get_traced_memory()[1] / rows / 1024:.1f}")
        tracemalloc.stop()
    return f"peak KiB a row, composed with provenance: {', '.join(found)}"


def _output(words: Sequence[str], variables: dict[str, str]) -> bytes:
    ran = subprocess.run(words, env=variables, stdin=subprocess.DEVNULL, capture_output=True)
    return ran.stdout if ran.returncode == 0 else ran.stderr


def main() -> None:
    """Print one line per size."""
    if os.environ.get("DSHLOOP_TEST_DSH"):
        print(dump_against(os.environ["DSHLOOP_TEST_DSH"]))
    for rows in (200, 5000):
        texts = layer_texts(rows)

        def stock(texts: list[str] = texts) -> None:
            for text in texts:
                yaml.load(text, Loader=yaml.CSafeLoader)

        def read(texts: list[str] = texts) -> None:
            for text in texts:
                load_document(text, source="layer")

        def composed(texts: list[str] = texts) -> None:
            compose([parse_layer(text, "layer") for text in texts])

        layers = [parse_layer(text, str(number)) for number, text in enumerate(texts)]
        composition = compose(layers)
        base = best(stock)
        print(
            f"{rows} rows in {LAYERS} layers: CSafeLoader {base * 1000:.0f} ms; "
            f"read {best(read) / base:.2f}, compose with provenance {best(composed) / base:.2f}, "
            f"dump of the composed rows {best(lambda c=composition: dump_text(c)) / base:.2f}"
        )
        print(edit_line(rows))
    print(memory_line())


if __name__ == "__main__":
    main()
