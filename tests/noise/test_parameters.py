"""Scales and shapes are read exactly, or refused before any noise is drawn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.noise.parameters import LARGEST, SMALLEST, read_scale, read_size


def test_a_scale_is_read_at_its_exact_value() -> None:
    assert read_scale(0.1) == Fraction(0.1) != Fraction(1, 10)
    assert read_scale(SMALLEST) == SMALLEST
    assert read_scale(LARGEST) == LARGEST


@pytest.mark.parametrize(
    "scale", [0, -1, SMALLEST / 2, LARGEST + 1, float("inf"), float("nan"), "wide", None]
)
def test_a_scale_that_cannot_be_drawn_is_refused(scale: Any) -> None:
    with pytest.raises(InvalidParameter, match="the_scale"):
        read_scale(scale, "the_scale")


@pytest.mark.parametrize(
    ("size", "shape"), [(None, ()), (3, (3,)), (0, (0,)), ((2, 3), (2, 3)), (np.int64(4), (4,)), ((), ())]
)
def test_a_size_is_read_as_a_shape(size: Any, shape: tuple[int, ...]) -> None:
    assert read_size(size) == shape


@pytest.mark.parametrize("size", [-1, (2, -1), 1.5, "3", True, (1, True), {}])
def test_a_size_that_is_no_shape_is_refused(size: Any) -> None:
    with pytest.raises(InvalidParameter, match="size"):
        read_size(size)
