"""The errors of running totals, to the digit of the literature, and the choice by them."""

from __future__ import annotations

import math

import pytest

from discreet.errors import InvalidParameter
from discreet.streams.choice import compared, named, predictions, ranked
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
    assert errors[0] <= 1.000001 * min(3 / 0.5 * kind(periods).laplace() for kind in (PerPeriod, Tree))


def test_a_replaced_unit_moves_twice_as_much() -> None:
    one, two = (predictions(9, 1, 2, kind)[0].sd for kind in ("add_remove", "replace_one"))
    assert two == 2 * one


def test_the_square_root_is_best_for_gaussian_noise() -> None:
    made = {name: named(name, 365) for name in ("period", "tree", "root", "even")}
    assert min(made, key=lambda name: made[name].gaussian()) == "root"


def test_no_such_method() -> None:
    with pytest.raises(InvalidParameter, match="Choose from period, tree"):
        named("wavelet", 3)


def test_gaussian_noise_and_windows_are_predicted() -> None:
    # By the curve (1, 1e-6) buys a mu of .2366 (Balle and Wang 2018): of a tree of h levels a node has h/mu^2,
    # and for h = 4 as discrete noise 38/28 more.
    made = {one.strategy.name: one for one in predictions(30, 1, delta=1e-6)}
    tree = made["tree"]
    assert tree.sd**2 == pytest.approx(4 / 0.2366**2 + 38 / 28, rel=1e-3)
    replaced = {one.strategy.name: one.sd for one in predictions(30, 1, 1, "replace_one", 1e-6)}
    assert replaced["root"] == pytest.approx(made["root"].sd * 2**0.5, rel=1e-3)
    window = predictions(365, 1, window=7)
    assert window[0].rms < predictions(365, 1)[0].rms
    assert window[0].errors[100] == pytest.approx(14**0.5)  # seven counts of variance 2


def test_the_square_root_is_near_the_best_of_all_factorisations() -> None:
    # Henzinger, Upadhyay and Upadhyay (2023): rms at least ((ln(2 T + 1) + 2)/pi - 1/T) of all factorisations, and of
    # the square root at most 1 + (ln(4 T/5))/pi.
    for periods in (30, 365, 4096):
        error = named("root", periods).gaussian()
        assert error <= 1 + math.log(4 * periods / 5) / math.pi + 0.01
        assert error >= (math.log(2 * periods + 1) + 2) / math.pi - 1 / periods - 1


def test_a_stream_without_an_end_has_a_method_without_one() -> None:
    assert ranked(None, 1, 1, "add_remove")[0] == ("doubling", False)
    assert ranked(None, 1, 1, "add_remove", window=7)[0] == ("period", False)
    assert ranked(365, 1, 1, "add_remove")[0] == ("tree", False)
    both = compared(365, 1, 1, "add_remove", 1e-6)
    assert [one.rms for one in both] == sorted(one.rms for one in both)
    assert {one.noise for one in compared(365, 1, 1, "add_remove")} == {"Laplace"}
