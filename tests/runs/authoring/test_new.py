"""Names and files of a new package."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dshloop.errors import InvalidLoopIdError, LoopNameError, OutputExistsError, UsageError
from dshloop.runs.authoring.new import Kind, Names, names_of, plan_package


@pytest.mark.parametrize(
    ("loop_id", "module", "class_name", "package"),
    [
        ("careful", "careful_loop", "Careful", "careful-loop"),
        ("my-own.loop", "my_own_loop", "MyOwnLoop", "my-own-loop"),
        ("loop2.strategy3", "loop2_strategy3_loop", "Loop2Strategy3", "loop2-strategy3-loop"),
        ("a_b", "a_b_loop", "AB", "a-b-loop"),
        ("class", "class_loop", "Class", "class-loop"),
        ("none", "none_loop", "NoneLoop", "none-loop"),
        ("value-error", "value_error_loop", "ValueErrorLoop", "value-error-loop"),
        ("tool", "tool_loop", "ToolLoop", "tool-loop"),
        ("engine", "engine_loop", "EngineLoop", "engine-loop"),
    ],
)
def test_names_are_made_of_the_id(loop_id: str, module: str, class_name: str, package: str) -> None:
    assert names_of(loop_id) == Names(loop_id, module, class_name, package)


@pytest.mark.parametrize(
    ("loop_id", "error"),
    [
        ("Careful", InvalidLoopIdError),
        ("", InvalidLoopIdError),
        ("../up", InvalidLoopIdError),
        ("9lives", LoopNameError),
    ],
)
def test_an_id_that_names_no_module_is_refused(loop_id: str, error: type[UsageError]) -> None:
    with pytest.raises(error):
        names_of(loop_id)


@given(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,12}", fullmatch=True), st.sampled_from(get_args(Kind)))
@example("true", "strategy")
@example("tool", "strategy")
@example("echo", "driver")
@example("hosted-driver", "driver")
def test_every_accepted_id_gives_python_and_toml(loop_id: str, kind: Kind) -> None:
    try:
        package = plan_package(loop_id, kind, Path("/nowhere/at-all"))
    except LoopNameError:
        return
    texts = {change.path.name: change.after.decode() for change in package.changes}  # type: ignore[union-attr]
    assert not any("@" in text.replace("@pytest", "") for text in texts.values())
    for name, text in texts.items():
        if name.endswith(".py"):
            ast.parse(text)
    about = tomllib.loads(texts["pyproject.toml"])
    points = about["project"]["entry-points"]["dshloop.loops"]
    assert points == {loop_id: f"{package.names.module}:{package.names.class_name}"}
    module = ast.parse(texts[f"{package.names.module}.py"])
    named = [bound for node in module.body for bound in names_bound_by(node)]
    assert named.count(package.names.class_name) == 1  # and not by what it needs itself


def names_bound_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [one.asname or one.name for one in node.names]
    return [node.name] if isinstance(node, ast.ClassDef) else []


def test_a_folder_that_is_there_is_refused(tmp_path: Path) -> None:
    for name in ("folder", "file"):
        path = tmp_path / name
        path.mkdir() if name == "folder" else path.write_text("")
        with pytest.raises(OutputExistsError):
            plan_package("careful", "strategy", path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputExistsError):
        plan_package("careful", "strategy", tmp_path / "dangling")
