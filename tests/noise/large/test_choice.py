"""The choice by weights without end has exactly the law of its formula: every tape, narrow words and few digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import InvalidParameter
from discreet.noise.entropy import RandomSource
from discreet.noise.large import choice as module
from discreet.noise.large.choice import below, choose, large_choice, uniform_large
from tests.noise.tape import agrees, every_tape, exp

WEIGHTS = (1, 4, 0, 9)
SCALE = Fraction(3, 2)


def law(k: int) -> Fraction:
    parts = [weight * exp(-at / SCALE) for at, weight in enumerate(WEIGHTS)]
    return parts[k] / sum(parts)


def test_the_law_is_exact_on_every_tape() -> None:
    # Four digits are so few that many draws are decided by the comparison behind them.
    found, undecided = every_tape(lambda source: choose(source, WEIGHTS, SCALE, precision=4, width=4), 16)
    assert undecided < Fraction(1, 4)
    assert agrees(found, undecided, law)
    assert set(found) == {0, 1, 3}


def test_a_choice_that_does_not_compare_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_below", lambda *_: True)
    found, undecided = every_tape(lambda source: choose(source, WEIGHTS, SCALE, precision=4, width=4), 16)
    assert not agrees(found, undecided, law)


def test_uniform_numbers_are_uniform_on_every_tape() -> None:
    def run(source: RandomSource) -> int:
        return below(source, 5, width=2)

    found, undecided = every_tape(run, 16)
    assert len(found) == 5
    assert agrees(found, undecided, lambda k: Fraction(1, 5))


def test_weights_without_end_and_far_candidates() -> None:
    assert large_choice([0, 0, 3 * 10**60], Fraction(1, 5)) == 2
    # The first is less likely by a factor of e^-500.
    assert large_choice([1, 10**300], 1) == 1
    assert {uniform_large(2**200) >> 199 for _ in range(200)} == {0, 1}  # false alarms: 2^-199


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_bad_weights_are_refused(weights: list[int]) -> None:
    with pytest.raises(InvalidParameter):
        large_choice(weights, 1)
    with pytest.raises(InvalidParameter):
        uniform_large(0)


def test_a_far_candidate_of_great_weight_does_not_make_draws_begin_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its true share is 2^-108 of the whole: one look is enough, but for that chance. It was once 2^52 looks."""
    kept, looks = module.is_below, []

    def is_below(*given: Any) -> bool:
        looks.append(given)
        assert len(looks) == 1
        return kept(*given)

    monkeypatch.setattr(module, "is_below", is_below)
    assert large_choice([1, *[0] * 399, 1 << 180], 2) == 0
