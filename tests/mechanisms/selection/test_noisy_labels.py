"""Labels of many votes: one noisy maximum each, priced together."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.pricing import loss_of, zcdp_of
from discreet.errors import InvalidParameter
from discreet.mechanisms.selection.noisy_labels import NoisyLabels


def test_the_event_is_priced_as_the_loss() -> None:
    labels = NoisyLabels("1/10", 100)
    event = labels.event("replace_one")
    assert loss_of(event).epsilon == labels.loss == 10
    assert zcdp_of(event).rho == Fraction(1, 2)


def test_the_odds_of_a_label_are_those_of_the_noise() -> None:
    """Votes 3 : 2 and 2 : 3, neighbours at one changed vote: odds within e^epsilon, and not equal.

    Of 20,000 labels each at epsilon 1, the log of the ratio is within 0.1 of its mean but for a chance below 1e-9
    (its standard deviation is 0.012). Without noise it is infinite; with noise of half the scale it is above 1.5.
    """
    high, low = (
        NoisyLabels(1, 20_000).release(np.tile(votes, (20_000, 1))).tolist().count(0)
        for votes in ([3, 2], [2, 3])
    )
    assert 0.3 < math.log(high / low) < 1.1


@pytest.mark.parametrize("votes", [[[1, 2]], [1, 2], [[1, 2]] * 3])
def test_another_number_of_votes_is_refused(votes: object) -> None:
    with pytest.raises(InvalidParameter):
        NoisyLabels(1, 2).release(votes)
