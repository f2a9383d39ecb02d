"""The declarations of a stream decide its noise, its price and its words."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import GDP, ZCDP, Composed, DiscreteGaussianNoise, gdp_of
from discreet.accounting.gaussian.bought import gaussian_variances
from discreet.errors import DiscreetError, InvalidParameter, QueryRefused
from discreet.ledger import Account, Loss, open_ledger
from discreet.mechanisms import GaussianVector
from discreet.policy import Policy
from discreet.release.account import PlainAccount
from discreet.streams import Measure, StreamSpec, compared, open_stream
from tests.streams.invented import charges, gaussian, laplace, opened, policy, spec


def test_the_shares_add_up_to_epsilon() -> None:
    declared = spec(sums=("cost",))
    assert sum(laplace(declared, one).loss for one in declared.measures) == 1


@pytest.mark.parametrize(("neighbours", "times"), [("add_remove", 1), ("replace_one", 2)])
def test_the_sensitivity_is_that_of_all_rows_of_a_unit(neighbours: str, times: int) -> None:
    declared = spec(policy(rows=3, neighbours=neighbours), periods=64, method="tree")
    assert laplace(declared, Measure()).sensitivity == times * 3 * declared.strategy.l1


def test_words_say_whom_it_hides() -> None:
    assert "all rows of one patient" in spec().promise
    assert "at most 2 rows" in spec().promise
    assert "not all rows of a person" in spec(policy("row")).promise


@pytest.mark.parametrize(
    "more",
    [{"group": "doctor"}, {"group": "cost"}, {"sums": ("ward",)}, {"count": False}, {"method": "wavelet"},
     {"name": "../other"}],
)  # fmt: skip
def test_declarations_that_do_not_fit(more: dict[str, Any]) -> None:
    with pytest.raises(DiscreetError):
        spec(**more)


def test_public_and_unknown_tables_have_no_stream() -> None:
    declared = Policy.for_table("other", privacy_unit="row", budget=1, public=["visits"])
    for made in (declared, Policy.for_table("other", privacy_unit="row", budget=1)):
        with pytest.raises(DiscreetError, match="no private table"):
            spec(made, group=None)


def test_each_declaration_is_part_of_the_question() -> None:
    other: list[dict[str, Any]] = [
        {"periods": 9}, {"group": None}, {"sums": ("cost",)}, {"method": "even"}, {"name": "b"}, {"time": "at"},
        {"epsilon": Fraction(2)},
    ]  # fmt: skip
    questions = {
        spec(method="period").question,
        *(spec(**{"method": "period", **one}).question for one in other),
    }
    questions |= {spec(made, method="period").question for made in (policy("row"), policy(rows=3))}
    assert len(questions) == len(other) + 3


@pytest.mark.parametrize("bounds", [(0, 0), (-1, 3), ("1e-9", "2e-9"), (-(10**12), 10**12)])
def test_no_value_moves_a_sum_by_more_than_its_most(bounds: Any) -> None:
    lo, hi = map(Fraction, bounds)
    measure = Measure("sum_x", "x", lo, hi)
    for value in (lo, hi, lo - 1, hi + 1, (lo + hi) / 2, Fraction(10**30)):
        assert abs(measure.steps(value)) <= measure.most
    assert hi - lo == 0 or measure.most >= 1 << 18


def test_a_delta_is_spent_only_where_gaussian_noise_errs_less() -> None:
    few, many = (spec(periods=periods, delta=Fraction(1, 10**6), group=None) for periods in (30, 2048))
    assert (few.delta, few.method, "Gaussian" in few.words) == (Fraction(0), "period", False)
    assert (many.delta, many.method, "Gaussian" in many.words) == (Fraction(1, 10**6), "root", True)
    # Several numbers share epsilon by its square under Gaussian noise.
    shared = spec(periods=120, delta=Fraction(1, 10**6), group=None, sums=("cost",), means=("cost",))
    assert shared.delta
    assert not spec(periods=120, delta=Fraction(1, 10**6), group=None).delta
    for one in (few, many, shared):
        best = compared(one.periods.count, 1, 2, "add_remove", "1e-6", 0, len(one.measures))[0]
        assert (one.method, bool(one.delta)) == (best.strategy.name, best.gaussian)
    assert not spec(periods=2048, method="period", delta=Fraction(1, 10**6)).delta


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_gaussian_noise_is_that_of_the_exact_curve(neighbours: str) -> None:
    declared = gaussian(
        spec(policy(neighbours=neighbours), sums=("cost",), means=("cost",)), Fraction(1, 10**6)
    )
    events = [declared.mechanism(one).event(declared.neighbours) for one in declared.measures]
    whole = Composed(events)
    assert gdp_of(whole) == GDP.bought(declared.loss, 3)
    assert gdp_of(whole).within(declared.loss)
    assert not gdp_of(whole).within(Loss(Fraction(999, 1000), declared.delta))
    old = ZCDP.bought(declared.loss).rho
    for one in declared.measures:
        noise = declared.mechanism(one)
        assert isinstance(noise, GaussianVector)
        assert (
            0.8 < noise.variance / (3 * noise.square / (2 * old)) < 0.95
        )  # 3 to 10 % less of a standard deviation


@pytest.mark.parametrize("accountant", ["pure", "zcdp", "pld"])
def test_every_accountant_has_a_price_for_it(accountant: str, tmp_path: Path) -> None:
    declared = gaussian(spec(), Fraction(1, 10**6))
    half = Loss(Fraction(2, 5), Fraction(1, 10**6))
    with open_ledger(tmp_path / "ledger.db") as ledger:
        account = Account("the data set", Loss(2, Fraction(1, 10**5)), accountant)  # type: ignore[arg-type]
        payer = PlainAccount(ledger, account, "add_remove")
        for name in ("a", "b"):
            one = replace(declared, name=name, epsilon=half.epsilon)
            with open_stream(one, tmp_path / name, ledger, payer) as stream:
                assert len(stream.close(8)) == 16
        spent = ledger.spent(account)
        kinds = [entry.kind for entry in ledger.entries()]
    assert kinds.count("charge") == kinds.count("settle") == 2
    assert spent.epsilon <= Fraction(4, 5)
    # What is spent covers the two together, which are a Gaussian again.
    both = Composed([gaussian_event(replace(declared, epsilon=half.epsilon))] * 2)
    assert gdp_of(both).within(spent) or accountant == "pure"
    if accountant == "pure":
        assert spent == Loss(2 * half.epsilon, 2 * half.delta)


def test_noise_that_is_too_small_for_its_loss_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = gaussian_variances
    for share in (Fraction(99, 100), Fraction(101, 100)):
        monkeypatch.setattr(
            "discreet.streams.spec.gaussian_variances",
            lambda *given, share=share: [share * one for one in real(*given)],
        )
        with (
            pytest.raises((InvalidParameter, QueryRefused), match=r"not the one|not add up"),
            opened(gaussian(spec(), Fraction(1, 10**6)), tmp_path, Loss(3, Fraction(1, 1000))),
        ):
            pass
    assert charges(tmp_path) == 0


def gaussian_event(declared: StreamSpec) -> DiscreteGaussianNoise:
    noise = declared.mechanism(declared.measures[0])
    assert isinstance(noise, GaussianVector)
    return noise.event(declared.neighbours)
