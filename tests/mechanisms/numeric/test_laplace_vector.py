"""The Laplace mechanism on vectors: its exact law, its loss, and the errors that it foretells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import loss_of
from discreet.errors import InvalidParameter
from discreet.mechanisms import Laplace, LaplaceVector
from tests.depth import DEEP
from tests.mechanisms.numeric.test_laplace import law_by_every_tape, within_epsilon
from tests.noise.fit import ALARM, laplace_alarms
from tests.noise.tape import exp


# A deep run asks scale 2/3 as well.
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2, 3)][: 1 + DEEP])
def test_neighbours_differ_by_at_most_the_loss_by_every_tape(scale: Fraction) -> None:
    vector = LaplaceVector(scale, 1)
    noise, undecided = law_by_every_tape(vector.scale)
    shifted = {k + 1: mass for k, mass in noise.items()}
    assert within_epsilon(noise, shifted, undecided, exp(vector.loss))
    # The fault is caught that the loss is told too small.
    assert not within_epsilon(noise, shifted, undecided, exp(vector.loss * Fraction(99, 100)))


def test_each_coordinate_has_noise_of_its_scale() -> None:
    # 200,000 draws, with a false alarm below 1e-9 (tests/noise/fit); a scale that is a tenth off moves the mass of each
    # 64th by several standard deviations, so that it is missed with a probability below 1e-9.
    noisy = LaplaceVector(20, 2).release(np.full((50_000, 4), 10**6, np.int64)) - 10**6
    assert min(laplace_alarms(noisy.ravel(), 20.0).values()) > ALARM
    assert min(laplace_alarms(noisy.ravel(), 22.0).values()) < ALARM


def test_the_event_is_made_once_for_each_kind_of_neighbours() -> None:
    vector = LaplaceVector(20, 2)
    kept = vector.event("add_remove")
    assert kept is vector.event("add_remove")
    assert kept == LaplaceVector(20, 2).event("add_remove")
    assert (kept.neighbours, vector.event("replace_one").neighbours) == ("add_remove", "replace_one")
    assert vector == LaplaceVector(20, 2)


def test_a_slice_of_a_wide_array_is_drawn_and_stays_as_it_was() -> None:
    exact = np.zeros((100, 4), np.int64, order="F")
    noisy = LaplaceVector(2**50, 1).release(exact[:, 1:3])
    assert noisy.shape == (100, 2)
    assert noisy.dtype == np.int64
    assert not exact.any()
    assert len(np.unique(noisy)) == 200  # two of them are the same with a probability below 1e-11


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("1/10", 1), ("1/3", 7), (2, 5), ("1/10", "1/2")])
def test_it_is_the_laplace_mechanism(epsilon: str, sensitivity: str) -> None:
    one = Laplace(epsilon, sensitivity)
    vector = LaplaceVector(one.scale, sensitivity)
    assert vector.loss == one.loss
    for neighbours in ("add_remove", "replace_one"):
        assert vector.event(neighbours) == one.event(neighbours)
        assert loss_of(vector.event(neighbours)).epsilon == vector.loss
    for confidence in (0.5, 0.95, "0.999999"):
        assert vector.half_width(confidence) == one.error(confidence) == one.half_width(confidence)


@pytest.mark.parametrize(
    ("scale", "sensitivity"), [(0, 1), (2**57, 1), (2**-11, 1), (1, 0), (1, -1), (1, [1, 1]), ("x", 1)]
)
def test_bad_parameters_are_refused(scale: object, sensitivity: object) -> None:
    with pytest.raises(InvalidParameter):
        LaplaceVector(scale, sensitivity)  # type: ignore[arg-type]
