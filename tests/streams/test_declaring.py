"""Declarations are read by the policy, and the noise that they need can be drawn."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import InvalidParameter, PolicyError
from discreet.policy import Policy
from discreet.streams.doubling import UNBOUNDED
from tests.depth import in_turn
from tests.streams.invented import gaussian, policy, spec


def test_what_is_not_said_is_chosen() -> None:
    endless = spec(periods=None)
    assert (endless.method, endless.periods.count, endless.endless) == ("doubling", UNBOUNDED, True)
    assert "at most 131,071" in endless.promise
    assert spec(periods=365, delta=Fraction(1, 10**6)).method == "root"
    assert spec(periods=365, window=7).method == "period"
    assert [one.name for one in spec(means=("cost",), sums=("cost",)).measures] == [
        "count",
        "sum_cost",
        "mean_cost",
    ]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"count": False}, PolicyError), ({"sums": ("ward",)}, PolicyError), ({"means": ("ward",)}, PolicyError),
        ({"group": "cost"}, PolicyError), ({"name": "a/b"}, PolicyError), ({"window": 9}, InvalidParameter),
        ({"window": -1}, InvalidParameter), ({"method": "wavelet"}, InvalidParameter),
        ({"periods": 5000, "method": "root"}, InvalidParameter), ({"delta": Fraction(2)}, InvalidParameter),
    ],
)  # fmt: skip
def test_other_questions_are_refused(asked: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        spec(**asked)


@pytest.mark.parametrize(("asked", "cause", "fix"), [
    ({"group": "nowhere"}, "no column nowhere", 'Choose from ward. Or declare it, with keys = ["A", "B"].'),
    ({"group": "wards"}, "no column wards", 'Did you mean ward? Or declare it, with keys = ["A", "B"].'),
    ({"sums": ("nowhere",)}, "no column nowhere", "Choose from cost. Or declare it, with bounds = [0, 100]."),
    ({"group": "cost"}, "The column cost has no list of public keys.", 'Write keys = ["A", "B"].'),
])  # fmt: skip
def test_a_column_that_is_missing_is_named(asked: dict[str, Any], cause: str, fix: str) -> None:
    with pytest.raises(PolicyError) as refused:
        spec(**asked)
    assert cause in refused.value.cause
    assert refused.value.fix == fix


# A deep run asks each method at all three bounds.
@pytest.mark.parametrize(
    ("method", "hi"), in_turn(["period", "tree", "root", "doubling", "even"], [1, 500, 10**9])
)
def test_the_grid_is_as_fine_as_the_noise_allows(method: str, hi: int) -> None:
    declared = Policy.for_table("visits", privacy_unit="patient", max_rows=3, budget=3, keys={"ward": ["N"]},
                                bounds={"cost": (0, hi)})  # fmt: skip
    for delta in (0, Fraction(1, 10**6)):
        made = spec(declared, 2048, sums=("cost",), means=("cost",), method=method, delta=Fraction(delta))
        assert bool(made.delta) is bool(delta and method != "period")
        for measure in made.measures:
            made.mechanism(measure)
        assert made.measures[1].grid * 2**7 <= hi


def test_a_question_tells_streams_apart() -> None:
    made = [spec(), gaussian(spec(), Fraction(1, 100)), replace(spec(), polled=True), spec(window=2),
            spec(periods=None), spec(means=("cost",)), spec(policy(rows=3)), spec(sums=("cost",))]  # fmt: skip
    assert len({one.question for one in made}) == len(made)
    assert (
        len({one.words for one in made}) == len(made) - 2
    )  # the bound of a unit is said in the promise, and words say not how rows come


def test_noise_that_cannot_be_drawn_is_another_method_or_refused() -> None:
    many = policy(rows=1000)
    delta: dict[str, Any] = {"periods": 2048, "delta": Fraction(1, 10**6), "sums": ("cost",)}
    assert spec(many, **delta).method != "root"
    assert not spec(policy(rows=2**31 - 1), **delta).delta
    with pytest.raises(InvalidParameter, match=r"wide|zCDP"):
        spec(epsilon=Fraction(1, 10**30), delta=Fraction(1, 10**30))
