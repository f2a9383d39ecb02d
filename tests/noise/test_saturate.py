from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise import saturating_add

LIMIT = 2**63 - 1
int64 = st.one_of(
    st.integers(-LIMIT - 1, LIMIT), st.sampled_from([-LIMIT - 1, -LIMIT, -1, 0, 1, LIMIT - 1, LIMIT])
)


@given(st.lists(st.tuples(int64, int64)))
def test_it_is_the_clamped_exact_sum(pairs: list[tuple[int, int]]) -> None:
    values = np.array([a for a, _ in pairs], np.int64)
    noise = np.array([b for _, b in pairs], np.int64)
    expected = [max(-LIMIT, min(LIMIT, a + b)) for a, b in pairs]
    assert saturating_add(values, noise).tolist() == expected


@given(int64, int64, int64)
def test_it_never_widens_a_difference(a: int, b: int, noise: int) -> None:
    moved = saturating_add(np.array([a, b], np.int64), np.array([noise, noise], np.int64))
    assert abs(int(moved[0]) - int(moved[1])) <= abs(a - b)


def test_shapes() -> None:
    zero = np.zeros((3, 2), np.int64)
    assert saturating_add(zero, np.array([1, 2])).tolist() == 3 * [[1, 2]]
    single = saturating_add(np.array(LIMIT), np.array(5))
    assert single.shape == ()
    assert single.dtype == np.int64


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError):
        saturating_add(np.zeros(2), np.zeros(2, np.int64))  # type: ignore[arg-type]
