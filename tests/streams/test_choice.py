"""The errors of running totals, to the digit of the literature, and the choice by them."""

from __future__ import annotations

import pytest

from discreet.errors import InvalidParameter
from discreet.streams.choice import named, predictions
from discreet.streams.direct import EvenSplit, Fraction, PerPeriod
from discreet.streams.tree import Tree


def test_the_published_errors() -> None:
    plain = [Tree(t, t.bit_length(), averaged=False).laplace() for t in (30, 2048)]
    assert f"{EvenSplit(30).laplace():.3g}" == "42.4"
    assert f"{Fraction(30).laplace():.3g}" == "126"
    assert f"{PerPeriod(30).laplace():.3g}" == "5.57"
    assert f"{plain[0]:.3g}" == "11.2"
    assert f"{plain[1]:.3g}" == "39.8"
    assert f"{PerPeriod(2048).laplace():.3g}" == "45.3"


@pytest.mark.parametrize("periods", [2, 30, 365, 2048])
def test_the_least_error_is_first(periods: int) -> None:
    errors = [made.rms for made in predictions(periods, 0.5, rows=3)]
    assert errors == sorted(errors)
    assert errors[0] <= min(3 / 0.5 * kind(periods).laplace() for kind in (PerPeriod, Tree))


def test_a_replaced_unit_moves_twice_as_much() -> None:
    one, two = (predictions(9, 1, 2, kind)[0].sd for kind in ("add_remove", "replace_one"))
    assert two == 2 * one


def test_the_square_root_is_best_for_gaussian_noise() -> None:
    made = {name: named(name, 365) for name in ("period", "tree", "root", "even")}
    assert min(made, key=lambda name: made[name].gaussian()) == "root"


def test_no_such_method() -> None:
    with pytest.raises(InvalidParameter, match="Choose from period, tree"):
        named("wavelet", 3)
