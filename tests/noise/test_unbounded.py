from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.noise import add_laplace, saturating_add, unbounded

END = 2**63 - 1


def test_a_draw_that_stopped_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    more = iter([7, END, END, 2])
    monkeypatch.setattr(unbounded, "geometric", lambda scale: next(more))
    assert unbounded.continued(np.array([END, 5, -END]), Fraction(1)) == [END + 7, 5, -3 * END - 2]


@pytest.mark.parametrize("value", [-5, 0, 5, -(2**63), END])
@pytest.mark.parametrize("excess", [0, 3, 5, 2**62])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_is_a_function_of_the_exact_sum(
    monkeypatch: pytest.MonkeyPatch, value: int, excess: int, sign: int
) -> None:
    monkeypatch.setattr(unbounded, "laplace", lambda scale, shape: np.full(shape, sign * END))
    monkeypatch.setattr(unbounded, "geometric", lambda scale: excess)
    total = min(max(value + sign * (END + excess), -END), END)
    for shape in ((), (1,), (2, 2)):
        assert (add_laplace(np.full(shape, value), Fraction(1)) == total).all()


def test_the_sum_of_a_stopped_draw_is_another() -> None:
    # The planted fault: -5 and a draw of 2^63 + 2, stopped at 2^63 - 1, make 2^63 - 6 and not 2^63 - 3.
    assert saturating_add(np.array([-5]), np.array([END]))[0] == END - 5


def test_shapes_and_types() -> None:
    values: list[Any] = [np.array(3), np.array([1, 2]), np.zeros((2, 0), np.int64)]
    for value in values:
        noisy = add_laplace(value, Fraction(1, 1000))
        assert noisy.dtype == np.int64
        assert noisy.shape == value.shape
        assert (noisy == value).all()  # at so small a scale no draw is other than 0
