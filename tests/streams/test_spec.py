"""The declarations of a stream decide its noise, its price and its words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.policy import Policy
from discreet.streams import Measure
from tests.streams.invented import laplace, policy, spec


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
