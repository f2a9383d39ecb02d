"""Numbers are read one by one: what stands beside an integer does not round it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    Exponential,
    Laplace,
    LocalLaplace,
    NoisyMax,
    PermuteAndFlip,
    RandomizedResponse,
    Staircase,
    ThresholdedCounts,
    arrays,
    values,
)
from discreet.mechanisms.selection import scores

BIG = 2**62 - 255
"""Between doubles: those beside it are 512 and more away."""
BESIDE: list[Any] = [0.0, Fraction(1), Decimal(3), np.float32(2), np.int8(4), 7, np.float64(0), np.uint64(5)]


def read_sums(beside: Any) -> list[int]:
    return [int(values.integers([big, beside], "")[0]) for big in (BIG, BIG + 1)]


@pytest.mark.parametrize("beside", BESIDE, ids=lambda each: type(each).__name__)
def test_an_integer_is_read_exactly_whatever_stands_beside_it(beside: Any) -> None:
    assert read_sums(beside) == [BIG, BIG + 1]
    for grid in (Fraction(1), Fraction(1, 2), Fraction(2)):
        wanted = (2 * BIG // grid.numerator * grid.denominator + 1) // 2
        for given in ([BIG // 4, beside], (BIG // 4, beside), deque([BIG // 4, beside])):
            near = values.nearest(given, grid)
            assert near[0] == (BIG // 4 / grid + Fraction(1, 2)).__floor__(), wanted
    assert scores.read([BIG, beside], None, rationals=False).numbers[0] == BIG
    assert scores.read([BIG, beside], None, rationals=True).numbers[0] == BIG
    assert scores.read({"a": BIG, "b": beside}, None, rationals=True).numbers[0] == BIG
    assert values.integers([[BIG, beside], [1, 2]], "")[0, 0] == BIG


@pytest.fixture
def as_numpy_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault: what `take` is there to prevent."""
    monkeypatch.setattr(values, "take", np.asarray)


@pytest.mark.usefixtures("as_numpy_reads")
def test_the_fault_is_caught_that_one_type_for_all_rounds_before_the_noise() -> None:
    assert read_sums(0.0) == [2**62, 2**62]
    one, other = (int(values.integers([big, 0.0], "")[0]) for big in (2**61 + 255, 2**61 + 257))
    assert other - one == 512, "neighbours that are 2 apart are read 512 apart"


ARRAYS: dict[str, Callable[[], Any]] = {
    "int64": lambda: np.array([BIG, 0]),
    "uint64": lambda: np.array([BIG, 0], np.uint64),
    "object": lambda: np.array([BIG, 0.0], object),
    "list of arrays": lambda: [np.array([BIG, 0]), np.array([0.0, 1.0])],
    "pandas": lambda: pd.Series([BIG, 0]),
    "pandas Int64": lambda: pd.Series([BIG, 0], dtype="Int64"),
    "pandas object": lambda: pd.Series([BIG, 0.0], dtype=object),
    "polars": lambda: pl.Series([BIG, 0]),
    "arrow": lambda: pa.array([BIG, 0]),
    "arrow in pieces": lambda: pa.chunked_array([[BIG], [0]]),
    "frame": lambda: pd.DataFrame({"a": [BIG], "b": [0]}),
    "polars frame": lambda: pl.DataFrame({"a": [BIG], "b": [0]}),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_keep_their_integers(kind: str) -> None:
    assert int(values.integers(ARRAYS[kind](), "").ravel()[0]) == BIG


REFUSED: dict[str, Callable[[], Any]] = {
    "masked": lambda: np.ma.array([1, 2], mask=[False, True]),
    "masked, nothing hidden": lambda: np.ma.array([1, 2]),
    "masked in a list": lambda: [np.ma.array([1, 2], mask=[False, True]), [3, 4]],
    "a masked value": lambda: [1, np.ma.masked],
    "mixed frame": lambda: pd.DataFrame({"a": [BIG], "b": [0.5]}),
    "mixed Polars frame": lambda: pl.DataFrame({"a": [BIG], "b": [0.5]}),
    "mixed Arrow table": lambda: pa.table({"a": [BIG], "b": [0.5]}),
    "series in a list": lambda: [pd.Series([BIG, 1]), pd.Series([0.5, 1])],
    "a boolean beside integers": lambda: [True, 2],
    "a boolean in an array of objects": lambda: np.array([True, 2], object),
    "a missing value": lambda: pd.Series([1, None], dtype="Int64"),
    "a missing value of Polars": lambda: pl.Series([1, None]),
    "None": lambda: [1, None],
    "ragged": lambda: [[1], [2, 3]],
    "text": lambda: "12",
    "a set": lambda: {1, 2},
    "extended": lambda: np.array([1, 2], np.longdouble),
}


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element:UserWarning")  # NumPy's own
@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_exactly_is_refused(kind: str) -> None:
    releases: tuple[Callable[[Any], Any], ...] = (
        Laplace(1).release,
        Laplace(1, granularity=2**-10).release,
        DiscreteGaussian(1).release,
        Staircase(1).release,
        LocalLaplace(1, 0, 10).release,
        ThresholdedCounts(1, 1e-6).release,
        NoisyMax(1).release,
        Exponential(1).release,
        PermuteAndFlip(1).release,
        PermuteAndFlip(1, granularity=2**-10).release,
        AboveThreshold(1).start(0).above_each,
    )
    if not kind.startswith("a boolean"):  # which are categories
        releases += (RandomizedResponse(1, 4).release,)
    for release in releases:
        with pytest.raises(InvalidParameter):
            release(REFUSED[kind]())


def test_the_fault_is_caught_that_a_mask_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "take", np.asarray)
    assert values.integers(REFUSED["masked"](), "").tolist() == [1, 2]


def test_a_list_of_one_type_becomes_an_array_of_machine_numbers() -> None:
    assert arrays.take([1, 2]).dtype == np.int64
    assert arrays.take([1.5, np.float32(2)]).dtype == np.float64
    assert arrays.take([1, 2.5]).dtype == object
    assert arrays.take([]).shape == (0,)
    assert arrays.take([[], []]).shape == (2, 0)
    assert arrays.take(3).shape == ()
    assert Laplace(1).release([]).shape == (0,)
