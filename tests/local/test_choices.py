"""Nodes with categories: every value is randomised by itself, and the counts are estimated from that."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from scipy.stats import binom

from discreet.errors import InvalidParameter, QueryRefused
from discreet.local import Access, Choices, FederatedNodes, LocalNode, RemoteNode, Report, federate, serve
from discreet.local.federation import estimate

TRIP = Choices(["bus", "bicycle", "car"], budget=100)


def test_each_value_is_randomised_with_the_coins_of_its_epsilon() -> None:
    # 20,000 people who all take the bus, epsilon 1: the truth is told with p = e/(e + 2) = .5761, sd .0035. A node that
    # told the truth always, or with the coins of epsilon 2 (.787) or of two categories (.731), is far outside.
    node = LocalNode("town", ["bus"] * 20_000)
    node.open(TRIP)
    report = node.ask(1)
    bus, bicycle, car = report.sums
    assert bus + bicycle + car == report.records == 20_000
    truth = math.e / (math.e + 2)
    assert binom.ppf(1e-10, 20_000, truth) <= bus <= binom.ppf(1 - 1e-10, 20_000, truth)
    lie = 1 / (math.e + 2)
    assert binom.ppf(1e-10, 20_000, lie) <= car <= binom.ppf(1 - 1e-10, 20_000, lie)


def test_people_here_and_far_are_counted_together_and_pay_by_themselves() -> None:
    near = federate(["bus", "car"] * 30, 60, TRIP)
    town = LocalNode("town", ["bicycle"] * 400)
    handle = serve(town)
    far = RemoteNode(lambda message: json.loads(json.dumps(handle(json.loads(json.dumps(message))))))
    town.open(TRIP)
    answers = FederatedNodes([*near, far]).frequencies(epsilon=3)
    assert answers.people == 460
    for category, truth in (("bus", 30), ("bicycle", 400), ("car", 30)):
        low, high = answers.interval(category, 1 - 1e-9)
        assert low <= truth <= high
    assert high - low < 200
    assert [node.describe().left for node in (near[0], far)] == [97, 97]


def test_what_was_not_declared_is_refused_and_costs_nothing() -> None:
    people = federate(["bus", "car"], 2, TRIP)
    numbers = federate([1, 2], 2, Access((0, 2), budget=1))
    with pytest.raises(QueryRefused, match="has not declared numbers"):
        people.mean(0.5)
    with pytest.raises(QueryRefused, match="has not declared categories"):
        numbers.frequencies(0.5)
    other = LocalNode("other", ["bus"])
    other.open(Choices(["bus", "car"], budget=1))
    with pytest.raises(QueryRefused, match="different categories"):
        FederatedNodes([*people, other]).frequencies(0.5)
    assert [node.describe().left for node in (*people, *numbers, other)] == [100, 100, 1, 1, 1]
    with pytest.raises(InvalidParameter, match="categories"):
        estimate("mean", people.ask(0.5))


def test_declarations_that_do_not_fit_are_the_owners_error() -> None:
    texts, numbers = LocalNode("a", ["bus", "train"]), LocalNode("b", [1, 2])
    with pytest.raises(InvalidParameter, match="not among the categories"):
        texts.open(TRIP)
    with pytest.raises(InvalidParameter, match="no numbers"):
        texts.open(Access((0, 1), budget=1))
    assert texts.describe().access is None
    numbers.open(Choices([1, 2, 3], budget=1))
    assert sum(numbers.ask(1).sums) == 2
    bad: list[Any] = [["a"], ["a", "a"], [True, False], [1.5, 2.5], []]
    for categories in bad:
        with pytest.raises(InvalidParameter):
            Choices(categories, budget=1)
    wire = {"name": "a", "access": TRIP.to_dict(), "epsilon": "1", "sums": ["1", "2"], "records": 3}
    with pytest.raises(InvalidParameter, match="garbled"):
        Report.from_dict(wire)
