from __future__ import annotations

import pytest

np = pytest.importorskip("numpy", reason="the extra semantic (numpy) is not installed")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from dshloop.memory.sqlite.meaning import vector_math as math  # noqa: E402
from dshloop.memory.sqlite.meaning.vectors import blobs_of, packed, unpacked  # noqa: E402

sizes = st.sampled_from([1, 7, 8, 63, 64, 65, 384])
seeds = st.integers(0, 1000)


@given(sizes, st.integers(1, 20), seeds)
def test_a_blob_keeps_a_vector_nearly_whole(size: int, count: int, seed: int) -> None:
    rows = math.unit(np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32))
    blobs = packed(rows)
    assert {len(blob) for blob in blobs} == {size + 4}
    assert np.abs(unpacked(blobs, size) - rows).max() <= np.abs(rows).max() / 127
    assert blobs_of(b"".join(blobs), size) == blobs


@given(sizes, st.integers(1, 20), seeds)
def test_agreeing_signs_are_counted_whatever_the_size(size: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, size)).astype(np.float32)
    question = rng.normal(size=size).astype(np.float32)
    same = ((rows > 0) == (question > 0)).sum(axis=1)
    expected = (same - size / 2) / (np.sqrt(size) / 2)
    assert math.guessed(math.signs_of(rows), question) == pytest.approx(expected, abs=1e-4)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.randoms())
def test_neighbours_are_the_nearest_of_the_same_session(
    sessions: list[int], random: object
) -> None:
    seqs = list(range(10, 10 + 3 * len(sessions), 3))
    random.shuffle(seqs)  # type: ignore[attr-defined]
    moments = 10_000 * np.array(seqs)
    before, after = math.links(np.array(seqs), np.array(sessions), moments)
    for row, (seq, session) in enumerate(zip(seqs, sessions, strict=True)):
        same = [s for s, other in zip(seqs, sessions, strict=True) if other == session]
        earlier, later = [s for s in same if s < seq], [s for s in same if s > seq]
        assert seqs[before[row]] == (max(earlier) if earlier else seq)
        assert seqs[after[row]] == (min(later) if later else seq)


def test_without_a_session_neighbours_are_stored_soon_after_one_another() -> None:
    groups = np.array([-1, -1, -2, -1, -1])
    before, after = math.links(np.arange(5), groups, np.array([0, 600, 601, 1201, 1202]))
    assert before.tolist() == [0, 0, 2, 3, 3]
    assert after.tolist() == [1, 1, 2, 4, 4]


def test_neighbours_count_in_part_where_they_help() -> None:
    own = np.array([2, 4, 8, 1], np.float32)
    before, after = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 3])
    found = math.with_neighbours(own, np.arange(4), before, after)
    expected = [
        (2 + 0.5 * 4) / np.sqrt(1.25),
        (4 + 0.5 * 2 + 0.5 * 8) / np.sqrt(1.5),
        (8 + 0.5 * 4 + 0.25 * 2) / np.sqrt(1.3125),
        1,
    ]
    assert found.tolist() == pytest.approx(expected)
    alone = math.with_neighbours(own * [1, -1, 1, 1], np.arange(4), before, after)
    assert alone[[0, 2]].tolist() == [2, 8]


def test_what_is_unknown_stays_so_and_spoils_no_neighbour() -> None:
    own = np.array([np.nan, 4], np.float32)
    found = math.with_neighbours(own, np.arange(2), np.array([0, 0]), np.array([1, 1]))
    assert np.isnan(found[0])
    assert found[1] == 4


@given(st.lists(st.integers(0, 9), max_size=50), st.integers(1, 60))
def test_largest_come_first_and_equal_ones_in_order(values: list[int], most: int) -> None:
    places = math.largest(np.array(values, np.float32), most).tolist()
    best = sorted(range(len(values)), key=lambda at: -values[at])[:most]
    assert [values[at] for at in places] == [values[at] for at in best]
    assert len(set(places)) == len(places)
