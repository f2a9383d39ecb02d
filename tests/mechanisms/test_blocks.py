"""Large arrays get their noise block by block: as shaped, as many, as checked as any other, in little memory."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import DiscreteGaussian, Laplace, values
from discreet.noise import unbounded
from tests.depth import DEEP

MECHANISMS: dict[str, Any] = {
    "laplace": Laplace(100), "laplace on a grid": Laplace(10**6, 1, 2**-20),
    "gaussian": DiscreteGaussian(rho=10**4), "gaussian on a grid": DiscreteGaussian(rho=10**8, granularity=2**-20),
}  # fmt: skip
"""With so little noise that each value is found again: P(|noise| > 1/4) of one is below 1e-40 in each."""


@pytest.mark.parametrize("name", MECHANISMS)
def test_each_value_stays_in_its_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BLOCK", 100)
    monkeypatch.setattr(unbounded, "BLOCK", 70)
    mechanism = MECHANISMS[name]
    shaped = np.arange(1010).reshape(2, 5, 101), np.asfortranarray(np.arange(1000).reshape(50, 20))
    flat = np.arange(1001), np.arange(2020)[::2], np.arange(1000.0), np.arange(1000, dtype=np.uint16)
    for given in (*shaped, *flat):
        before = given.copy()
        noisy = mechanism.release(given)
        assert noisy.shape == given.shape
        assert noisy.dtype == (np.float64 if mechanism.granularity else np.int64)
        assert (np.rint(noisy) == given).all()
        assert (given == before).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_bad_value_in_the_last_block_is_refused_before_any_noise(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "BLOCK", 100)
    mechanism = MECHANISMS[name]
    monkeypatch.setattr(type(mechanism), "_noisy", lambda *_, **__: pytest.fail("noise was drawn"))
    given = np.arange(1001.0)
    given[-1] = np.nan
    with pytest.raises(InvalidParameter, match="NaN"):
        mechanism.release(given)


def test_the_scale_is_that_of_all_values_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid, rounding adds a step for each value but one: also where they are read in blocks."""
    monkeypatch.setattr(values, "BLOCK", 100)
    mechanism, seen = Laplace(1, 1, 1), []
    noisy = Laplace._noisy

    def watched(self: Laplace, steps: values.Steps, scale: Fraction) -> object:
        seen.append(scale)
        return noisy(self, steps, scale)

    monkeypatch.setattr(Laplace, "_noisy", watched)
    mechanism.release(np.zeros(1000))
    assert set(seen) == {mechanism.scale_for(1000)} == {1000}


def peak(mechanism: Any, given: Any) -> float:
    """The most memory beside the values, as a multiple of theirs."""
    mechanism.release(given[:600])
    tracemalloc.start()
    try:
        mechanism.release(given)
        return float(tracemalloc.get_traced_memory()[1] / given.nbytes)
    finally:
        tracemalloc.stop()


# A deep run measures each also without a grid.
@pytest.mark.parametrize("name", [*MECHANISMS][:: 1 if DEEP else 3])
def test_memory_holds_the_answer_and_little_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BLOCK", 1 << 13)
    given = np.ones(1 << 20, np.int64)
    assert peak(MECHANISMS[name], given) < 2


def test_memory_of_many_arrays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: all values are worked on at once."""
    monkeypatch.setattr(values, "in_blocks", lambda *_: None)
    monkeypatch.setattr(unbounded, "BLOCK", 1 << 40)
    assert peak(Laplace(1), np.ones(1 << 20, np.int64)) > 2
