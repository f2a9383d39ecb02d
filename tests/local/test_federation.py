"""Estimates from noisy answers are right as often as they say, and no node is charged for nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from tests.depth import in_turn

from discreet.errors import BudgetExceeded, EngineError, InvalidParameter, QueryRefused
from discreet.local import (
    Access,
    FederatedNodes,
    LocalNode,
    Node,
    Offer,
    RemoteNode,
    Report,
    federate,
    half_width,
    serve,
)

VALUES = np.linspace(150, 200, 300)
RUNS = 200


# A deep run asks all three with both neighbours.
@pytest.mark.parametrize(
    ("asked", "neighbours"),
    in_turn([("mean", 175.0), ("sum", 52_500.0), ("count", 300.0)], ["add_remove", "replace_one"]),
)
def test_intervals_hold_the_truth_as_often_as_they_say(asked: tuple[str, float], neighbours: Any) -> None:
    statistic, truth = asked
    # 200 estimates at 90 %: fewer than 149 hits, or 200, have a probability below 1e-9. It catches an interval that
    # takes the noise of one node for that of all three (69 % hits), or that is three times too wide.
    wards = federate(VALUES, 3, Access((140, 210), 10**6, neighbours))
    found = [getattr(wards, statistic)(4, confidence=0.9) for _ in range(RUNS)]
    hits = sum(each.low <= truth <= each.high for each in found)
    assert binom.cdf(148, RUNS, 0.9) < 1e-9 > binom.sf(199, RUNS, 0.9)
    if statistic == "count" and neighbours == "replace_one":
        assert hits == RUNS
        assert found[0].error == 0
    else:
        assert 149 <= hits < 200


def test_nodes_here_and_behind_a_wire_are_asked_together() -> None:
    near, far = LocalNode("near", [1.0] * 50), LocalNode("far", [3.0] * 50)
    handle = serve(far)
    nodes: list[Node] = [near, RemoteNode(lambda message: json.loads(json.dumps(handle(message))))]
    both = FederatedNodes(nodes)
    near.open(Access((0, 4), budget=100))
    far.open(Access((0, 8), budget=100, neighbours="add_remove"))  # each by its own declaration
    found = both.mean(50)
    # The half-width at 95 % is about .01; ten times that has a probability below e^-20.
    assert abs(found.value - 2) < 10 * found.error < 0.5
    assert (found.nodes, found.epsilon) == (2, Fraction(50))
    assert "± covers the noise at 95 %" in str(found)


class _Boaster:
    """A node that claims something of its answer that was not asked for."""

    def __init__(self, **claims: Any) -> None:
        self._node = LocalNode("ward", [150.0, 200.0])
        self._node.open(Access((140, 210), 10**6))
        self._claims = claims

    def describe(self) -> Offer:
        return self._node.describe()

    def ask(self, epsilon: Any) -> Report:
        return replace(self._node.ask(epsilon), **self._claims)


CLAIMS: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": Fraction(1000)},
    "less epsilon": {"epsilon": Fraction(1, 1000)},
    "declaration": {"access": Access((0, 1), 10**6)},
    "name": {"name": "another ward"},
}


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("far", [False, True], ids=["here", "behind a wire"])
def test_a_claim_that_was_not_asked_for_is_not_believed(claim: str, far: bool) -> None:
    node: Node = _Boaster(**CLAIMS[claim])
    if far:
        handle = serve(node)
        node = RemoteNode(lambda message: json.loads(json.dumps(handle(message))))
    with pytest.raises(EngineError, match="answered with another"):
        FederatedNodes([node]).mean(1)
    if far and "epsilon" in claim:
        with pytest.raises(EngineError, match="another epsilon"):
            node.ask(1)


def test_the_fault_is_caught_that_a_claim_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.local.federation._as_asked", lambda report, offer, loss: report)
    honest = FederatedNodes([_Boaster()]).mean(1)
    claimed = FederatedNodes([_Boaster(**CLAIMS["epsilon"])]).mean(1)
    assert claimed.error == pytest.approx(honest.error / 1000), "an interval a thousand times too narrow"


def test_nobody_is_charged_when_one_cannot_answer() -> None:
    wards = federate(VALUES, ["a", "b", "c"])
    with pytest.raises(QueryRefused, match="closed"):
        wards.mean(0.5)
    with pytest.raises(QueryRefused, match="Every node is closed"):
        wards.mean(0.5, skip_closed=True)
    budgets: tuple[Any, ...] = (1, 1, "1/4")
    for node, budget in zip(wards, budgets, strict=True):
        assert isinstance(node, LocalNode)
        node.open(Access((140, 210), budget))
    with pytest.raises(BudgetExceeded, match="node c"):
        wards.mean(0.5)
    with pytest.raises(InvalidParameter, match="confidence"):
        wards.mean(0.25, confidence=1)
    assert [node.describe().left for node in wards] == [1, 1, 0.25]
    assert isinstance(wards[2], LocalNode)
    wards[2].close()
    seen: list[tuple[int, int]] = []
    found = wards.mean(0.5, skip_closed=True, progress=lambda done, of: seen.append((done, of)))
    assert found.nodes == 2
    assert seen == [(1, 2), (2, 2)]


def test_values_are_spread_in_order_and_none_is_lost() -> None:
    wards = federate(range(10), 3)
    held = [node._values.tolist() for node in wards if isinstance(node, LocalNode)]
    assert held == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    nodes: Any
    for nodes in (0, 11, ["a", "a"], []):
        with pytest.raises(InvalidParameter):
            federate(range(10), nodes)
    with pytest.raises(InvalidParameter):
        FederatedNodes([object()])  # type: ignore[list-item]


def test_half_widths() -> None:
    assert half_width([3.0], 0.95) == pytest.approx(3 * np.log(20))
    # |Z1 + Z2| of scale 1 has the survival function e^-t (1 + t/2).
    at = half_width([1.0, 1.0], 0.95)
    assert np.exp(-at) * (1 + at / 2) == pytest.approx(0.05, rel=1e-5)
    assert half_width([1.0] * 100_000) == pytest.approx(norm.ppf(0.975) * np.sqrt(200_000), rel=1e-3)
    assert half_width([1.0, 1e-9, 0.0]) == pytest.approx(np.log(20), rel=1e-5)
    assert half_width([0.0]) == 0
    for bad in ([], [-1.0], [float("nan")], [[1.0]]):
        with pytest.raises(InvalidParameter):
            half_width(bad)  # type: ignore[arg-type]
