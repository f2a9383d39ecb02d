"""The table of units counts as a dictionary does, row by row, and a broken one is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.streams.counting import seen as module
from discreet.streams.counting.seen import Seen
from tests.depth import examples

# Few places are tried first by these units, and few steps are made from there.
near = st.tuples(st.integers(0, 3), st.integers(0, 9))
words = st.integers(0, (1 << 64) - 1)
batches = st.lists(st.lists(near | st.tuples(words, words), max_size=40), max_size=8)


def by_dictionary(seen: dict[bytes, int], units: Any, most: int) -> list[bool]:
    """The rows that count, the plain way."""
    out = []
    for unit in units.astype("<u8"):
        rows = seen.get(unit.tobytes(), 0)
        out.append(rows < most)
        seen[unit.tobytes()] = min(rows + 1, max(most, rows))
    return out


def compare(given_units: list[list[tuple[int, int]]], most: int) -> None:
    """See that columns, rows and a dictionary count alike, and that what is kept counts on alike."""
    columns, rows, plain = Seen(), Seen(), dict[bytes, int]()
    for batch in given_units:
        units = np.array(batch, np.uint64).reshape(-1, 2)
        wanted = by_dictionary(plain, units, most)
        assert columns.first(units, most).tolist() == wanted
        assert [rows.admit(unit.astype("<u8").tobytes(), most) for unit in units] == wanted
        assert columns == rows == plain
        assert len(columns) == len(plain)
        columns = Seen(*columns.kept())


@settings(max_examples=examples(20, 100), deadline=None)
@given(given_units=batches, most=st.integers(1, 3), piece=st.sampled_from([1, 7, 1 << 16]))
def test_units_count_as_in_a_dictionary(
    given_units: list[list[tuple[int, int]]], most: int, piece: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", piece)
        compare(given_units, most)


def test_a_table_grows_with_its_units() -> None:
    rng = np.random.default_rng(3)
    seen, plain = Seen(), dict[bytes, int]()
    for size in (1, 500, 3000, 9000):
        units = np.stack([rng.integers(0, 4000, size), np.full(size, 5)], axis=1).astype(np.uint64)
        assert seen.first(units, 2).tolist() == by_dictionary(plain, units, 2)
    assert seen == plain


def test_a_lower_bound_forgets_no_row() -> None:
    unit = np.zeros((3, 2), np.uint64)
    seen = Seen()
    assert seen.first(unit, 3).all()
    assert not seen.first(unit, 1).any()
    assert list(seen.values()) == [3]


def test_a_table_that_looks_at_half_of_a_unit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    places = Seen._places
    monkeypatch.setattr(Seen, "_places", lambda seen, units: places(seen, units & np.uint64(0xFFFFFFFF)))
    with pytest.raises(AssertionError):
        compare([[(1, 1), (1 + (1 << 32), 1)]], 1)


def test_a_table_that_mistakes_the_order_of_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ranks", lambda groups: np.arange(len(groups))[::-1])
    with pytest.raises(AssertionError):
        compare([[(1, 1), (1, 1), (1, 1)]], 1)


def test_a_unit_that_was_not_counted_has_no_rows() -> None:
    seen = Seen(np.array([[1, 1]], np.uint64), np.array([2]))
    assert seen.get(b"\0" * 16, 0) == 0
    assert seen[(1).to_bytes(8, "little") * 2] == 2
