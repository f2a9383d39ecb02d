"""Labels on which teachers agree: what is charged, which rows are named, and that votes are noisy."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from discreet import Budget
from discreet.accounting.gaussian.bought import gaussian_variances
from discreet.accounting.loss import Loss
from discreet.accounting.zcdp import ZCDP
from discreet.errors import BudgetExceeded, InvalidParameter, QueryRefused
from discreet.learning import PrivateArrays, gnmax
from tests.learning.test_pate import CLASSES, PUBLIC, nearest, rows

DELTA = "1e-5"


def people(epsilon: float = 50, seed: int = 1) -> PrivateArrays:
    return PrivateArrays(*rows(seed=seed), budget=Budget(epsilon=epsilon, delta="2e-5", accountant="zcdp"))


def named(whose: PrivateArrays, public: Any = PUBLIC, **more: Any) -> Any:
    given = {"classes": CLASSES, "epsilon": 40, "delta": DELTA, "teachers": 20, **more}
    return gnmax(whose, nearest(), public, **given)


def test_labels_are_right_where_teachers_agree_and_cost_what_was_said() -> None:
    """Twenty votes against none, with noise of a deviation below 1: wrong with a chance below 1e-40."""
    known = people()
    given = named(known)
    assert given.deviation < 1
    assert given.labels.tolist() == [0, 1, 2]
    assert given.named.all()
    assert given.loss == Loss(40, DELTA)
    spent = known.budget.spent
    assert 39.9 < spent <= 40
    assert named(known).labels.tolist() == [0, 1, 2]
    assert known.budget.spent == spent  # the same question is free
    assert given.student(nearest(), PUBLIC).predict([[3.5, 0.1]]).tolist() == [1]


def test_rows_on_which_teachers_are_split_get_no_label() -> None:
    """Where three classes meet, few teachers agree: a threshold of nineteen of twenty is not reached by chance.

    A third of the votes is 7, and 12 more are twelve deviations of the noise.
    """
    rng = np.random.default_rng(5)
    noise = PrivateArrays(
        rng.normal(size=(600, 2)),
        np.arange(600) % 3,
        budget=Budget(epsilon=50, delta="2e-5", accountant="zcdp"),
    )
    given = named(noise, rng.normal(size=(3, 2)) * 0.01, threshold="0.99")
    assert given.labels.tolist() == [None] * 3
    with pytest.raises(InvalidParameter, match="two classes"):
        given.student(nearest(), PUBLIC)


def test_no_more_rows_are_named_than_are_paid_for() -> None:
    given = named(people(), np.repeat(PUBLIC, 4, axis=0), answers=5)
    assert given.named.tolist() == [True] * 5 + [False] * 7  # all agree: the first five


def test_votes_get_noise() -> None:
    """At epsilon 1/1000 a label of three classes is as good as chance: 300 of 300 right have a chance of 3^-290."""
    given = named(people(), np.repeat(PUBLIC, 100, axis=0), epsilon="0.001", threshold=None)
    assert given.named.all()
    assert (
        0
        < sum(label == true for label, true in zip(given.labels, np.repeat(CLASSES, 100), strict=True))
        < 250
    )


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"delta": 0}, {"delta": 1}, {"threshold": 1}, {"threshold": 0}, {"answers": 0}, {"teachers": 0},
     {"public": [[0.0]]}, {"classes": [1, 1]}],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_free(wrong: dict[str, Any]) -> None:
    known = people()
    with pytest.raises(InvalidParameter):
        named(known, **wrong)
    with pytest.raises(BudgetExceeded):
        named(known, epsilon=60)
    assert known.budget.spent == 0


def test_the_noise_is_that_of_the_exact_curve() -> None:
    """For epsilon 2 and delta 1e-5 by at least 5 % less than zCDP would have it, for checks and names together."""
    whose = people()
    given = named(whose, np.repeat(PUBLIC, 4, axis=0), epsilon=2)
    plain = math.sqrt(12 / (0.8 * float(ZCDP.bought(Loss(2, DELTA)).rho)))
    assert 0.85 < given.deviation / plain < 0.95
    assert 1.999 < whose.budget.spent <= 2  # the sum of what was told is not above the price of its rho


@pytest.mark.parametrize("share", [Fraction(99, 100), Fraction(101, 100)], ids=str)
def test_noise_of_another_size_is_refused_before_anything_is_charged(
    share: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: a hundredth less noise, or more, than the loss buys."""
    monkeypatch.setattr(
        import_module("discreet.learning.gnmax"),
        "gaussian_variances",
        lambda *given: [share * one for one in gaussian_variances(*given)],
    )
    known = people()
    with pytest.raises(QueryRefused, match="add up"):
        named(known, epsilon=2)
    assert known.budget.spent == 0
