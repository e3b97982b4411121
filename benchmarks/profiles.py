"""How long composing takes, as a ratio to `yaml.load(CSafeLoader)` of the same bytes.

Run it from the checkout: ``python -m benchmarks.profiles``. Ratios are of runs in one process; the
best of several, since the machine has other work too.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import yaml

from dshloop.dsh_yaml import load_document
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.layers import parse_layer

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


def best(run: Callable[[], object], repeat: int = 5) -> float:
    """Give the shortest of several runs, in seconds."""
    times = []
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print one line per size."""
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


if __name__ == "__main__":
    main()
