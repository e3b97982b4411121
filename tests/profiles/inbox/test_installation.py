from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from dshloop.dsh import Program
from dshloop.profiles.inbox.installation import find_installation

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts with #! need POSIX")


def file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def program(path: Path) -> Program:
    return Program("dsh", path, path.parent)


def package(folder: Path, **manifest: object) -> Path:
    """Write dsh as a node package; give its program."""
    value = {"name": "@deepseek-ai/dsh", "bin": {"dsh": "./lib/bin.js"}, **manifest}
    file(folder / "package.json", json.dumps(value))
    return file(folder / "lib" / "bin.js", "#!/usr/bin/env node\n")


def test_a_program_stands_for_itself(tmp_path: Path) -> None:
    path = file(tmp_path / "dsh", "\x7fELF")
    found = find_installation(program(path))
    assert (found.files, found.package) == ((path,), None)


@pytest.mark.parametrize(
    "line",
    ['exec "{target}" "$@"', "exec {target} $*", '  "{target}" "$@"',
     'A=1 exec -a dsh "{target}" --flag "$@"  # start', 'exec /usr/bin/env "{target}" "$@"'],
)  # fmt: skip
def test_a_wrapper_is_followed_to_what_it_starts(tmp_path: Path, line: str) -> None:
    target = file(tmp_path / "run time" if '"' in line else tmp_path / "runtime", "\x7fELF")
    text = f"#!/bin/sh\nPATH=/x:$PATH\nexport PATH\n{line.format(target=target)}\n"
    wrapper = file(tmp_path / "dsh", text)
    assert find_installation(program(wrapper)).files == (wrapper, target)


@pytest.mark.parametrize(
    "text",
    ['#!/bin/sh\nexec "$(dirname "$0")/runtime" "$@"\n', '#!/bin/sh\nexec "$RUNTIME" "$@"\n',
     "#!/bin/sh\nexec 'open\n", "#!/usr/bin/env python3\nimport x\n", "#!/bin/sh\n",
     '#!/bin/sh\nexec runtime "$@"\n', '#!/bin/sh\nexec /not/there "$@"\n'],
)  # fmt: skip
def test_what_a_script_hides_is_not_guessed(tmp_path: Path, text: str) -> None:
    file(tmp_path / "runtime", "")
    wrapper = file(tmp_path / "dsh", text)
    assert find_installation(program(wrapper)).files == (wrapper,)


def test_a_wrapper_that_starts_itself_ends(tmp_path: Path) -> None:
    one, two = tmp_path / "dsh", tmp_path / "other"
    file(one, f'#!/bin/sh\nexec "{two}" "$@"\n')
    file(two, f'#!/bin/sh\nexec "{one}" "$@"\n')
    assert find_installation(program(one)).files == (one, two)


def test_the_key_changes_with_what_is_started(tmp_path: Path) -> None:
    target = file(tmp_path / "runtime", "1")
    wrapper = file(tmp_path / "dsh", f'#!/bin/sh\nexec "{target}" "$@"\n')
    before = find_installation(program(wrapper)).key
    assert find_installation(program(wrapper)).key == before
    os.utime(target, (1, 1))
    assert find_installation(program(wrapper)).key != before


def test_the_link_of_npm_leads_to_the_package(tmp_path: Path) -> None:
    entry = package(tmp_path / "lib" / "node_modules" / "@deepseek-ai" / "dsh")
    link = tmp_path / "bin" / "dsh"
    link.parent.mkdir()
    link.symlink_to(os.path.relpath(entry, link.parent))
    assert find_installation(program(link)).package == entry.parents[1]


def test_the_shim_of_pnpm_leads_to_the_real_package(tmp_path: Path) -> None:
    store = tmp_path / "global" / ".pnpm" / "dsh@1" / "node_modules" / "@deepseek-ai" / "dsh"
    package(store)
    link = tmp_path / "global" / "node_modules" / "@deepseek-ai" / "dsh"
    link.parent.mkdir(parents=True)
    link.symlink_to(store)
    shim = file(
        tmp_path / "bin" / "dsh",
        '#!/bin/sh\nbasedir=$(dirname "$(echo "$0" | sed -e \'s,\\\\,/,g\')")\n'
        'if [ -x "$basedir/node" ]; then\n'
        '  exec "$basedir/node"  "$basedir/../global/node_modules/@deepseek-ai/dsh/lib/bin.js" '
        '"$@"\nelse\n'
        '  exec node  "$basedir/../global/node_modules/@deepseek-ai/dsh/lib/bin.js" "$@"\nfi\n',
    )
    assert find_installation(program(shim)).package == store


@pytest.mark.parametrize(
    ("manifest", "is_dsh"),
    [({"bin": "lib/bin.js"}, True), ({"bin": {"other": "lib/bin.js"}}, False),
     ({"name": "other", "bin": "lib/bin.js"}, False), ({"name": None}, False)],
)  # fmt: skip
def test_only_a_package_that_is_dsh_counts(
    tmp_path: Path, manifest: dict[str, object], is_dsh: bool
) -> None:
    entry = package(tmp_path / "x", **manifest)
    found = find_installation(program(entry)).package
    assert found == (tmp_path / "x" if is_dsh else None)
