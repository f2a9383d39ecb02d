"""Every public mechanism says the same four things, and its loss is the price of its event."""

from __future__ import annotations

import ast
import inspect
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import mechanisms
from discreet.accounting import loss_of, zcdp_of
from discreet.accounting.event_text import read, written
from discreet.accounting.events import Event, Neighbours, Released
from discreet.accounting.loss import Loss
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter
from discreet.mechanisms.mechanism import Mechanism

TENTH = Fraction(1, 10)
ONES = np.ones(3, np.int64)
COUNTS = mechanisms.SparseCounts.of(1, 9, 0 * ONES, np.array([2, 3, 3]), ONES)
LEAVES = mechanisms.LeafMeasure.over(9)
MADE: dict[str, tuple[Mechanism, Any]] = {
    "AboveThreshold": (mechanisms.AboveThreshold(TENTH, c=2), [3, 5000]),
    "CubeVector": (mechanisms.CubeVector(2000, 200, 3), np.zeros((1, 3), np.int64)),
    "AdaptiveRounds": (
        mechanisms.AdaptiveRounds(TENTH, 2, 4, concentrated=False),
        lambda rounds: rounds.measure(ONES, rounds.left),
    ),
    "DiscreteGaussian": (mechanisms.DiscreteGaussian(TENTH), 7),
    "Exponential": (mechanisms.Exponential(TENTH), [3, 5]),
    "ExponentialQuantile": (mechanisms.ExponentialQuantile(TENTH, 0.5, LEAVES), COUNTS),
    "FlippedQuantile": (mechanisms.FlippedQuantile(TENTH, 0.5, LEAVES), COUNTS),
    "GaussianVector": (mechanisms.GaussianVector(400, 2), np.zeros(3, np.int64)),
    "HadamardResponse": (mechanisms.HadamardResponse(TENTH, 5), [3, 4]),
    "Ladder": (mechanisms.Ladder(TENTH, lambda width: width, 10**6), mechanisms.Climbed(45, 10)),
    "Laplace": (mechanisms.Laplace(TENTH, 2), 7),
    "LaplaceVector": (mechanisms.LaplaceVector(20, 2), np.zeros(3, np.int64)),
    "LocalLaplace": (mechanisms.LocalLaplace(TENTH, 0, 100), [31, 47]),
    "NoisyMax": (mechanisms.NoisyMax(TENTH, k=2), [3, 5, 8]),
    "PermuteAndFlip": (mechanisms.PermuteAndFlip(TENTH), [3, 5]),
    "QuantilesWithEnds": (mechanisms.QuantilesWithEnds(TENTH, [0.5, 0.9], LEAVES), COUNTS),
    "RandomizedResponse": (mechanisms.RandomizedResponse(TENTH, 3), [0, 2]),
    "SmoothCauchy": (
        mechanisms.SmoothCauchy(TENTH, lambda width: min(width, 9), 10**6),
        mechanisms.Climbed(45, 10),
    ),
    "SmoothLaplace": (
        mechanisms.SmoothLaplace(1, Fraction(1, 10**6), lambda width: min(width, 9), 10**6),
        mechanisms.Climbed(45, 10),
    ),
    "Staircase": (mechanisms.Staircase(TENTH), 7),
    "ThresholdedCounts": (mechanisms.ThresholdedCounts(TENTH, Fraction(1, 10**6)), [3, 5]),
    "TwoCoins": (mechanisms.TwoCoins(), [True, False]),
    "UnaryEncoding": (mechanisms.UnaryEncoding(TENTH, 5), [3, 4]),
    "UnboundedLaplace": (mechanisms.UnboundedLaplace(TENTH, 2, 2**-20), np.array([0.5])),
}
RESULTS = {
    "Climbed",
    "Frequencies",
    "ExpectedLaplaceError",
    "LeafMeasure",
    "LocalMean",
    "Rounds",
    "SparseCounts",
    "Watch",
}
"""What a mechanism reads or gives back, or a run of one."""


def promised(mechanism: Mechanism) -> Loss | ZCDP:
    cost = mechanism.loss
    if isinstance(cost, ZCDP):
        return cost
    return Loss(*cost) if isinstance(cost, tuple) else Loss(cost)


def priced(mechanism: Mechanism, event: Event) -> Loss | ZCDP:
    return zcdp_of(event) if isinstance(mechanism.loss, ZCDP) else loss_of(event)


def test_every_public_class_is_a_mechanism_or_what_one_gives_back() -> None:
    classes = {name for name in mechanisms.__all__ if inspect.isclass(getattr(mechanisms, name))}
    assert classes == set(MADE) | RESULTS
    for name, (mechanism, _) in MADE.items():
        assert type(mechanism) is getattr(mechanisms, name)


@pytest.mark.parametrize("name", MADE)
def test_a_mechanism_says_what_it_releases_costs_and_errs(name: str) -> None:
    mechanism, values = MADE[name]
    assert mechanism.release(values) is not None
    event = mechanism.event("add_remove")
    assert event.neighbours == "add_remove"
    assert priced(mechanism, event) == promised(mechanism)
    assert read(written(event)) == event  # so the ledger can keep it
    low, high = (
        float(mechanism.half_width(confidence)) for confidence in (Fraction(1, 2), Fraction(99, 100))
    )
    assert 0 <= low < high


@pytest.mark.parametrize(
    "name", sorted(set(MADE) - {"ThresholdedCounts"})
)  # which is made for its neighbours
def test_an_event_speaks_of_the_neighbours_it_is_asked_for(name: str) -> None:
    for neighbours in ("add_remove", "replace_one"):
        stated: Neighbours = "add_remove" if neighbours == "add_remove" else "replace_one"
        assert MADE[name][0].event(stated).neighbours == neighbours


def test_an_event_that_costs_less_than_the_loss_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, _ = MADE["Exponential"]
    half = Released(TENTH / 2, neighbours="add_remove")
    monkeypatch.setattr(type(mechanism), "event", lambda *_: half)
    assert priced(mechanism, mechanism.event("add_remove")) != promised(mechanism)


DURATION: Any = np.timedelta64(3, "D")


@pytest.mark.parametrize("values", [DURATION, [DURATION, DURATION], np.array([DURATION, DURATION])], ids=repr)
@pytest.mark.parametrize("name", MADE)
def test_a_duration_is_no_number_though_numpy_counts_it_among_its_integers(name: str, values: Any) -> None:
    with pytest.raises(InvalidParameter):
        MADE[name][0].release(values)


def test_a_duration_is_no_parameter_and_a_fraction_no_integer() -> None:
    for make in (mechanisms.Laplace, mechanisms.PermuteAndFlip, mechanisms.Staircase):
        with pytest.raises(InvalidParameter, match="duration"):
            make(DURATION)
        with pytest.raises(InvalidParameter, match="duration"):
            make(1, DURATION)
    with pytest.raises(InvalidParameter):
        mechanisms.LaplaceVector(20, 2).release(np.array([0.5]))


# The half-width of a sum of Laplace variables is worked out in one place.

WAYS = {"discreet.mechanisms.laplace_sum.equal", "discreet.mechanisms.laplace_sum.scales",
        "discreet.mechanisms.laplace_sum.weighted"}  # fmt: skip


def other_ways(source: str) -> set[str]:
    """What a module imports from the ways of `laplace_sum` that is not a tail."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in WAYS:
            found |= {one.name for one in node.names if one.name != "tail"}
        elif isinstance(node, ast.ImportFrom) and node.module == "discreet.mechanisms.laplace_sum":
            found |= {one.name for one in node.names if f"{node.module}.{one.name}" in WAYS}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names if one.name in WAYS}
    return found


def test_the_half_width_of_a_sum_is_asked_of_one_module() -> None:
    folder = Path(discreet.__file__).parent
    for path in folder.rglob("*.py"):
        if path.parent.name != "laplace_sum":
            source = path.read_text("utf-8")
            # Each of the ways is imported by this name; a module without it is not read further.
            assert "laplace_sum" not in source or other_ways(source) == set(), path
    assert other_ways("from discreet.mechanisms.laplace_sum.scales import reach") == {"reach"}
    assert other_ways("from discreet.mechanisms.laplace_sum import equal as laplace_sum") == {"equal"}
