"""The price of the past: no rule charges more than the sum, none forgets, and a limit admits what is within it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.loss import UNIT, Loss
from discreet.accounting.tally import OWN, RULES, Rule, Tally, admits, price, rule_of
from discreet.errors import InvalidParameter
from tests.depth import examples

DELTA = Fraction(1, 10**6)
LOSSES = st.lists(st.integers(1, 200).map(lambda n: Loss(Fraction(n, 100))), min_size=1, max_size=12)


def tally_of(losses: list[Loss]) -> Tally:
    tally = Tally()
    for loss in losses:
        tally = tally.plus(loss)
    return tally


@settings(deadline=None, max_examples=examples(20, 80))
@given(LOSSES, st.sampled_from(RULES))
def test_no_rule_charges_more_than_the_sum_and_a_past_never_gets_cheaper(
    losses: list[Loss], rule: Rule
) -> None:
    total = sum((loss.epsilon for loss in losses), Fraction(0))
    prices = [price(rule, tally_of(losses[:n]), DELTA).epsilon for n in range(len(losses) + 1)]
    assert prices[-1] <= total
    if rule != "pld":  # whose first rule holds for equal epsilons only
        assert prices == sorted(prices)
    assert price("pure", tally_of(losses), DELTA) == Loss(total)


@settings(deadline=None, max_examples=examples(20, 80))
@given(LOSSES, st.sampled_from(RULES))
def test_a_limit_admits_exactly_the_past_within_it(losses: list[Loss], rule: Rule) -> None:
    tally = tally_of(losses)
    spent = price(rule, tally, DELTA).epsilon
    assert admits(rule, tally, Loss(spent, DELTA))
    assert not admits(rule, tally, Loss(spent * Fraction(999, 1000), DELTA))


def test_the_deltas_of_questions_have_a_share_of_their_own() -> None:
    tally = Tally().plus(Loss("0.1", DELTA * OWN))
    assert admits("zcdp", tally, Loss(1, DELTA))
    assert not admits("zcdp", tally.plus(Loss("0.1", DELTA / 10)), Loss(1, DELTA))
    assert admits("pure", tally.plus(Loss("0.1", DELTA / 10)), Loss(1, DELTA))


@given(LOSSES)
def test_equal_epsilons_are_told_exactly(losses: list[Loss]) -> None:
    assert tally_of(losses).equal == (len({loss.epsilon for loss in losses}) == 1)


@pytest.mark.parametrize("name", ["", "PURE", "rdp", None])
def test_another_name_is_no_rule(name: object) -> None:
    with pytest.raises(InvalidParameter):
        rule_of(name)


def test_a_rho_is_counted_in_the_place_of_a_square_and_ends_the_rule_of_equal_epsilons() -> None:
    told, rho = Loss("1/4", "1e-9"), Fraction(1, 1000)
    noise = tally_of([])
    for _ in range(40):
        noise = noise.plus(told, rho)
    assert noise.loss == Loss(10, Fraction(40, 10**9))
    assert rho * 80 <= noise.squares < rho * 80 + Fraction(1, 10**40)
    assert price("zcdp", noise, DELTA).epsilon < price("zcdp", tally_of([Loss("1/4")] * 40), DELTA).epsilon
    assert price("pure", noise, DELTA).epsilon == 10  # for which its epsilon counts


def test_no_rho_makes_epsilons_look_equal() -> None:
    # Two unequal epsilons, and a rho that would make up for it exactly: 3 squares = (sum)^2.
    mixed = tally_of([Loss("1/10"), Loss("3/10")])
    total = mixed.loss.epsilon + Fraction(1, 5)
    rho = (total**2 / 3 - mixed.squares) / 2
    assert rho > 0
    for wrong in (rho, rho - Fraction(1, UNIT), rho + Fraction(1, UNIT)):
        assert not mixed.plus(Loss("1/5", "1e-9"), wrong).equal
    # Planted fault: without the place off the grid, (c) would price them as three equal ones.
    assert Tally(Loss(total), mixed.squares + 2 * rho, 3).equal
