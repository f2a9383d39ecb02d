"""The gate where people allow different epsilons: what costs a class too much is refused, and costs nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.personal import keep_probability
from discreet.errors import QueryRefused
from discreet.ledger import Account, Loss, open_ledger
from discreet.mechanisms import LaplaceVector
from discreet.release import gate
from discreet.release.account import PlainAccount
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan

SHARES = {"careful": Fraction(1, 10), "open": Fraction(1)}


def use(epsilon: Any, person: str = "", together: str = "", **more: Any) -> Use:
    return Use(LaplaceVector(1 / Fraction(epsilon), 1), "add_remove", 1, together, person, **more)


def by_class(name: str, epsilon: Fraction, careful: Fraction = SHARES["careful"]) -> dict[str, Use]:
    return {
        f"{name} careful": use(careful * epsilon, "careful", name),
        f"{name} open": use(epsilon, "open", name),
    }


def sampled(epsilon: Fraction, careful: Fraction = SHARES["careful"]) -> dict[str, Use]:
    return {
        "sample": use(
            epsilon, kept={"careful": keep_probability(careful * epsilon, epsilon), "open": Fraction(1)}
        )
    }


def ask(uses: dict[str, Use], shares: dict[str, Fraction], loss: Fraction = Fraction(1)) -> Fraction:
    """What a release with some uses costs; it is refused or made."""
    ledger = open_ledger(None)
    payer = PlainAccount(ledger, Account("people", Loss(9)), "add_remove")
    payer.shares = shares

    def compute(draw: Draw) -> int:
        return sum(int(draw(name, np.array([5]))[0]) for name in uses)

    plan: ReleasePlan[int, int] = ReleasePlan(
        "how many", "how many", Loss(loss), uses, compute, lambda n: (n, b"")
    )
    try:
        gate.release(plan, ledger, payer)
    finally:
        spent = ledger.spent("people").epsilon
    return spent


HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    "uses",
    [
        by_class("n", Fraction(1)),
        by_class("n", HALF) | by_class("s", HALF),
        sampled(Fraction(1)),
        by_class("n", HALF) | sampled(HALF),
    ],
)
def test_a_class_pays_its_part_of_the_price(uses: dict[str, Use]) -> None:
    assert ask(uses, SHARES) == 1


@pytest.mark.parametrize(
    ("uses", "shares"),
    [
        ({"n": use(1)}, SHARES),  # everybody the same
        (by_class("n", HALF) | {"m": use(HALF)}, SHARES),
        (by_class("n", Fraction(1), Fraction(101, 1000)), SHARES),  # too little noise
        (by_class("n", HALF, Fraction(2, 10)) | by_class("s", HALF), SHARES),
        (sampled(Fraction(1), Fraction(101, 1000)), SHARES),  # kept too often
        (by_class("n", HALF, Fraction(11, 100)) | sampled(HALF), SHARES),
        (by_class("n", Fraction(1)), {**SHARES, "careful": Fraction(99, 1000)}),
        (by_class("n", Fraction(1)), {"careful": SHARES["careful"]}),  # an unknown class
        (by_class("n", Fraction(1)), {}),
        (sampled(Fraction(1)), {}),
    ],
)
def test_a_planted_fault_is_refused_before_the_charge(
    uses: dict[str, Use], shares: dict[str, Fraction]
) -> None:
    with pytest.raises(QueryRefused) as refused:
        ask(uses, shares)
    assert not refused.value.charged
