"""Accountants price the same events differently, and each price is a bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import (
    ACCOUNTANTS,
    ZCDP,
    AdvancedAccountant,
    Composed,
    Concentrated,
    DiscreteGaussianNoise,
    Event,
    GaussianNoise,
    Grouped,
    LaplaceNoise,
    Loss,
    Neighbours,
    Parallel,
    PLDAccountant,
    PureAccountant,
    Released,
    Repeated,
    ReplaceOne,
    Sampled,
    ZCDPAccountant,
    amplified,
    group,
    loss_of,
    zcdp_of,
)
from discreet.errors import InvalidParameter, UnsupportedEvent

ADD: Neighbours = "add_remove"
REPLACE: Neighbours = "replace_one"
ONE = Released(0.1, neighbours=ADD)
NOISE = LaplaceNoise(10, neighbours=ADD)
GAUSS = GaussianNoise(10, neighbours=ADD)


def test_events_are_values() -> None:
    assert LaplaceNoise(10, neighbours=ADD) == NOISE != LaplaceNoise(10, neighbours=REPLACE)
    assert len({Repeated(ONE, 2), Repeated(ONE, 2), Repeated(ONE, 3)}) == 2
    with pytest.raises(AttributeError):
        ONE.loss = Loss(0)  # type: ignore[misc]


def test_the_loss_of_every_kind() -> None:
    table: list[tuple[Event, Loss]] = [
        (ONE, Loss(0.1)),
        (NOISE, Loss(0.1)),
        (LaplaceNoise(20, 2, neighbours=REPLACE), Loss(0.1)),
        (LaplaceNoise(1, "1/3", None, neighbours=ADD), Loss("1/3")),
        (Repeated(ONE, 7), Loss(0.7)),
        (Composed([ONE, NOISE, Released(Loss(0, 1e-9), neighbours=ADD)]), Loss(0.2, 1e-9)),
        (Parallel([ONE, Repeated(NOISE, 3)]), Loss(0.3)),
        (Parallel([ReplaceOne(ONE)], public_parts=True), Loss(0.2)),
        (Grouped(ONE, 5), Loss(0.5)),
        (ReplaceOne(Released(Loss(0.1, 1e-9), neighbours=ADD)), group(Loss(0.1, 1e-9), 2)),
        (Sampled(ONE, 0.05, "poisson"), amplified(Loss(0.1), 0.05)),
        (Sampled(ReplaceOne(ONE), 0.05, "fixed_size"), amplified(Loss(0.2), 0.05)),
    ]
    for event, loss in table:
        assert loss_of(event) == loss
        assert zcdp_of(event).rho <= ZCDP.of(loss).rho
    for event in (
        GAUSS,
        Concentrated(1, neighbours=ADD),
        Sampled(GAUSS, 0.5, "poisson"),
        Parallel([GAUSS, ONE]),
    ):
        with pytest.raises(UnsupportedEvent):
            loss_of(event)


def test_the_zcdp_of_every_kind() -> None:
    table: list[tuple[Event, Fraction]] = [
        (GAUSS, Fraction(1, 200)),
        (GaussianNoise(10, discrete=True, neighbours=ADD), Fraction(1, 200)),
        (Concentrated("1/8", neighbours=ADD), Fraction(1, 8)),
        (DiscreteGaussianNoise(900, 50, neighbours=ADD), Fraction(1, 36)),
        (Repeated(GAUSS, 3), Fraction(3, 200)),
        (Composed([GAUSS, ONE]), Fraction(1, 100)),
        (Parallel([GAUSS, Repeated(GAUSS, 2)]), Fraction(1, 100)),
        (Grouped(GAUSS, 3), Fraction(9, 200)),
        (ReplaceOne(GAUSS), Fraction(4, 200)),
    ]
    for event, rho in table:
        assert zcdp_of(event) == ZCDP(rho)
    with pytest.raises(UnsupportedEvent):
        zcdp_of(Sampled(GAUSS, 0.5, "poisson"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sampled(
            ONE, 0.5, "fixed_size"
        ),  # the pairing that two libraries price apart by a factor of two
        lambda: Sampled(ReplaceOne(ONE), 0.5, "poisson"),
        lambda: Sampled(ONE, 0.5, "somehow"),  # type: ignore[arg-type]
        lambda: Sampled(ONE, 2, "poisson"),
        lambda: Parallel([ReplaceOne(ONE)]),
        lambda: Parallel([]),
        lambda: Composed([ONE, ReplaceOne(ONE)]),
        lambda: ReplaceOne(ReplaceOne(ONE)),
        lambda: Repeated(ONE, 0),
        lambda: Grouped(ONE, True),
        lambda: Released(0.1, neighbours="both"),  # type: ignore[arg-type]
        lambda: Released(-1, neighbours=ADD),
        lambda: LaplaceNoise(0, neighbours=ADD),
        lambda: LaplaceNoise(1, 0, neighbours=ADD),
        lambda: LaplaceNoise(1, "1/2", neighbours=ADD),
        lambda: GaussianNoise(0, neighbours=ADD),
        lambda: GaussianNoise(1, float("inf"), neighbours=ADD),
        lambda: DiscreteGaussianNoise(0, neighbours=ADD),
        lambda: DiscreteGaussianNoise(1, -1, neighbours=ADD),
    ],
)
def test_no_event(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_what_each_accountant_supports() -> None:
    pure = [ONE, NOISE, Sampled(NOISE, 0.5, "poisson"), Grouped(ONE, 2)]
    for name, make in ACCOUNTANTS.items():
        accountant = make(ADD)
        assert accountant.name == name
        assert all(map(accountant.supports, pure))
        assert accountant.supports(GAUSS) == (name in ("zcdp", "pld"))
        assert accountant.supports(Concentrated(1, neighbours=ADD)) == (name == "zcdp")
        assert accountant.supports(DiscreteGaussianNoise(9, neighbours=ADD)) == (name == "zcdp")
        assert accountant.supports(Sampled(GAUSS, 0.5, "poisson")) == (name == "pld")
        assert not accountant.supports(ReplaceOne(ONE))
        with pytest.raises(UnsupportedEvent):
            accountant.add(ReplaceOne(ONE))
        for count in (0, -1, 1.0, True):
            with pytest.raises(InvalidParameter):
                accountant.add(ONE, count)  # type: ignore[arg-type]
        assert accountant.events == 0
    with pytest.raises(InvalidParameter):
        PureAccountant("both")  # type: ignore[arg-type]


def test_none_is_below_the_tight_price_and_none_above_the_sum() -> None:
    for epsilon, count in ((Fraction(1, 100), 5000), (Fraction(1, 10), 200), (Fraction(1), 3)):
        event = Released(epsilon, neighbours=REPLACE)
        prices = {
            name: make(REPLACE).add(event, count).loss(1e-6).epsilon for name, make in ACCOUNTANTS.items()
        }
        assert prices["pure"] == count * epsilon
        assert prices["pld"] <= min(prices.values()) * Fraction(1001, 1000)
        assert prices["pld"] <= prices["advanced"] <= prices["pure"]
    assert prices["advanced"] == prices["pure"], "with three releases of 1 nothing beats the sum"


@given(st.lists(st.fractions(Fraction(1, 10**30), 1), max_size=8))
def test_sums_are_exact_or_rounded_up(values: list[Fraction]) -> None:
    events = [Released(value, neighbours=ADD) for value in values]
    found, again = PureAccountant(ADD).extend(events), ZCDPAccountant(ADD).extend(events)
    assert 0 <= found.epsilon() - sum(values) <= Fraction(len(values), 10**50)
    assert 0 <= again.total.rho - sum(v * v / 2 for v in values) <= Fraction(len(values), 10**50)


def test_a_copy_goes_its_own_way() -> None:
    for make in ACCOUNTANTS.values():
        first = make(ADD).add(ONE, 100)
        second = first.copy().add(ONE, 900)
        assert first.epsilon(1e-6) < second.epsilon(1e-6)
        assert (first.events, second.events) == (100, 1000)


def test_deltas() -> None:
    event = Released(Loss(0.1, 1e-9), neighbours=ADD)
    assert PureAccountant(ADD).add(event, 10).loss() == Loss(1, 1e-8)
    for make in ACCOUNTANTS.values():
        accountant = make(ADD).add(event, 100)
        with pytest.raises(InvalidParameter):
            accountant.loss(1e-8)
        assert accountant.loss(1e-6).delta <= Fraction(1, 10**6)
        with pytest.raises(InvalidParameter):
            accountant.loss(-1)
    assert AdvancedAccountant(ADD).add(ONE, 10).loss(0) == Loss(1)
    assert PLDAccountant(ADD).add(ONE, 10).loss(0) == Loss(1)
    assert PLDAccountant(ADD).add(GAUSS).delta(1) < 1e-20 + Fraction(1, 10**11)
