"""A model that is fitted says what was measured, and weighs measurements by their noise."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.synthetic.fitting import Fitting, NoisyMarginal, merged, total_of
from discreet.synthetic.junction import Clique
from tests.synthetic.models import SHAPES, SIZES, model, summed


@pytest.mark.parametrize("cliques", SHAPES[1:])
def test_marginals_without_noise_are_found_again(cliques: list[Clique]) -> None:
    _, table = model(cliques)
    measured = [
        NoisyMarginal(one, 10_000 * summed(table, one), 1.0)
        for one in [*cliques, *((at,) for at in range(5))]
    ]
    found = Fitting(SIZES).fit(measured)
    for one in cliques:
        assert np.abs(found.marginal(one) - summed(table, one)).max() < 2e-3


def test_more_noise_has_less_weight() -> None:
    measured = [
        NoisyMarginal((0,), np.array([300.0, 700.0]), 1.0),
        NoisyMarginal((0,), np.array([700.0, 300.0]), 10.0),
    ]
    (one,) = merged(measured)
    assert one.counts == pytest.approx(np.array([300 + 400 / 101, 700 - 400 / 101]))
    assert one.deviation == pytest.approx(1 / np.sqrt(1.01))
    assert total_of(measured) == pytest.approx(1000)


def test_a_total_below_one_is_one() -> None:
    assert total_of([NoisyMarginal((0,), np.array([-50.0, 3.0]), 9.0)]) == 1
    found = Fitting((2,)).fit([NoisyMarginal((0,), np.array([-50.0, 3.0]), 9.0)])
    assert found.marginal((0,)).sum() == pytest.approx(1)


def test_huge_noise_breaks_nothing() -> None:
    noisy = [NoisyMarginal((0, 1), np.array([[2.0**62, -(2.0**62)], [0.0, 1.0]]), 2.0**55)]
    found = Fitting((2, 2)).fit(noisy).marginal((0, 1))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1)
