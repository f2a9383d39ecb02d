"""A unit has the same 16 bytes by itself and in a column, and others have others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.streams.counting.units import LONGEST_UNIT, digest_of, digests_at, digests_of
from tests.depth import examples

KEY = bytes(range(32))


def listed(digests: Any) -> list[bytes]:
    """Digests, each as its bytes."""
    return [one.astype("<u8").tobytes() for one in digests]


@settings(max_examples=examples(33, 200))
@given(st.lists(st.text(max_size=80), max_size=20))
def test_a_column_has_the_digests_of_its_units(units: list[str]) -> None:
    column = pa.array(["before", *units], pa.string()).slice(1)
    assert listed(digests_of(KEY, column)) == [digest_of(KEY, unit) for unit in units]


def test_units_and_keys_differ() -> None:
    near = [
        "",
        "\0",
        "\0\0",
        "a",
        "a\0",
        "\0a",
        *("x" * n for n in range(1, LONGEST_UNIT + 6)),
        *map(str, range(5000)),
    ]
    found = listed(digests_of(KEY, pa.array(near)))
    assert len(set(found)) == len(near)
    assert {len(one) for one in found} == {16}
    assert not set(found) & set(listed(digests_of(b"another key", pa.array(near))))


@pytest.mark.parametrize("places", [[], [2], [0, 2, 2, 1, 0, 2, 2]])
def test_places_may_come_more_than_once(places: list[int]) -> None:
    units = ["p1", "x" * 70, ""]
    found = digests_at(KEY, pa.array(units), np.array(places, np.int64))
    assert listed(found) == [digest_of(KEY, units[at]) for at in places]


def test_each_part_by_itself_is_spread_evenly() -> None:
    # 2^16 units fall into 256 cells by eight bits of a part; 256 each, with a standard deviation of 16. A cell beyond
    # 256 +- 160 has a chance of about 1e-20; a key whose words are not used puts many units into one cell.
    made = np.frombuffer(digests_of(KEY, pa.array([f"p{i}" for i in range(1 << 16)])).tobytes(), np.uint8)
    for byte in made.reshape(-1, 16).T:
        assert np.abs(np.bincount(byte, minlength=256) - 256).max() < 160
