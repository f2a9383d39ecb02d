"""A node is closed until it is opened, answers through its mechanism only, and cannot be overdrawn."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.depth import DEEP

from discreet.errors import BudgetExceeded, EngineError, InvalidParameter, QueryRefused
from discreet.local import Access, LocalNode, Node, Offer, RemoteNode, Report, serve
from discreet.local import node as node_module
from discreet.local.messages import STEPS
from discreet.noise.distribution import DiscreteLaplace

HEIGHT = Access((140, 210), budget=1)


def _over_the_wire(node: Node) -> RemoteNode:
    handle = serve(node)
    return RemoteNode(lambda message: json.loads(json.dumps(handle(json.loads(json.dumps(message))))))


@pytest.fixture(params=["here", "remote"])
def both(request: pytest.FixtureRequest) -> tuple[LocalNode, Node]:
    """The owner's node, and what whoever asks holds of it: the same, or the other end of a wire."""
    owner = LocalNode("ward 3", [170.0, 180.0])
    return owner, owner if request.param == "here" else _over_the_wire(owner)


def test_a_closed_node_answers_nothing(both: tuple[LocalNode, Node]) -> None:
    owner, node = both
    assert node.describe() == Offer("ward 3")
    with pytest.raises(QueryRefused, match="closed"):
        node.ask(0.1)
    owner.open(HEIGHT)
    assert node.describe() == Offer("ward 3", HEIGHT, Fraction(1), 2)
    node.ask(0.1)
    owner.close()
    with pytest.raises(QueryRefused, match="closed"):
        node.ask(0.1)


def test_the_budget_holds_and_opening_again_gives_nothing_back(both: tuple[LocalNode, Node]) -> None:
    owner, node = both
    owner.open(HEIGHT)
    for _ in range(3):
        node.ask("0.3")
    with pytest.raises(BudgetExceeded) as caught:
        node.ask("0.2")
    assert (caught.value.asked, caught.value.left) == ("0.2", "0.1")
    owner.open(HEIGHT)
    assert node.describe().left == Fraction(1, 10)
    node.ask(0.1)
    assert node.describe().left == 0


def test_a_budget_in_a_file_outlives_the_node(tmp_path: Path) -> None:
    for left in (Fraction(1, 2), Fraction(0)):
        node = LocalNode("ward 3", [1.0], ledger=tmp_path / "node.db")
        node.open(HEIGHT)
        node.ask("1/2")
        assert node.describe().left == left


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "x", 2.0**-60])
def test_a_bad_epsilon_costs_nothing(epsilon: Any) -> None:
    node = LocalNode("ward 3", [1.0])
    node.open(HEIGHT)
    with pytest.raises(InvalidParameter):
        node.ask(epsilon)
    assert node.describe().left == 1


@pytest.mark.parametrize("values", [[1.0, float("nan")], [float("inf")], ["a", None], [[1.0]], 3.0, [True]])
def test_values_that_are_no_numbers_are_the_owners_error(values: Any) -> None:
    with pytest.raises(InvalidParameter):
        LocalNode("ward 3", values)


@pytest.mark.parametrize("neighbours", ["replace_one", "add_remove"])
def test_no_pair_of_neighbours_moves_the_sums_by_more_than_the_sensitivity(
    neighbours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = Access((-0.1, 0.3), 1, neighbours)
    values = [-1e300, -0.1, -0.1 + 1e-17, 0.0, 0.1, 0.29999999, 0.3, np.nextafter(0.3, 1), 1e300]

    def furthest() -> int:
        moved = []
        for one, other in itertools.permutations(values, 2):
            sums = LocalNode("a", [0.2, one])._sums(access)
            near = [0.2, other] if neighbours == "replace_one" else [0.2]
            moved.append(int(np.abs(sums - LocalNode("a", near)._sums(access)).sum()))
        return max(moved)

    assert furthest() == STEPS
    # The planted fault: a node that believes its bounds instead of enforcing them.
    monkeypatch.setattr("discreet.local.node._inside", lambda places: places.clip(-1e12, 1e12))
    assert furthest() > STEPS


FAR: list[tuple[Any, Any]] = [
    ("0", "1e-320"), (0, Fraction(1, 1 << 1074)), (1, 1 + Fraction(1, 1 << 60)), (0, "1e300"), ("-1e300", "1e300"),
    ("1e400", "1e401"), (0, "1e400"), (0, 10**400),
]  # fmt: skip


@pytest.mark.parametrize("bounds", FAR, ids=range(len(FAR)))
def test_bounds_that_doubles_cannot_tell_apart_are_refused_by_the_declaration(bounds: Any) -> None:
    with pytest.raises(InvalidParameter):
        Access(bounds, 1)


@pytest.mark.parametrize(
    "ends", [(0, 2.0**-499), (-(2.0**498), 2.0**498), (1, 1 + 2**-52), (-1e-140, 1e-140)]
)
def test_at_the_ends_of_what_may_be_declared_a_node_answers_what_it_charges(ends: Any) -> None:
    node = LocalNode("a", [0.0, 1.0, -1e308, 1e308, 5e-324, ends[1]])
    node.open(Access(ends, 1))
    assert all(0 <= int(total) <= 6 * STEPS for total in node._sums(node._access))  # type: ignore[arg-type]
    assert abs(node.ask(1).sums[0]) < 100 * STEPS  # beyond it with probability e^-94


def test_the_fault_is_caught_that_a_place_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    node = LocalNode("a", [1.0])
    access = Access((0, 1), 1)
    no_number = np.array([np.nan])
    assert node_module._inside(no_number).tolist() == [0.0]
    with np.errstate(invalid="ignore"):
        assert abs(int(np.clip(no_number, 0, STEPS).astype(np.int64)[0])) > STEPS, (
            "as clip does, one value is 2^63"
        )
    monkeypatch.setattr(node_module, "_inside", lambda places: np.zeros_like(places))
    assert node._sums(access) == [0]


def test_a_masked_array_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="masked"):
        LocalNode("a", np.ma.array([1.0, 2.0], mask=[False, True]))


def test_a_report_has_the_noise_of_its_declaration() -> None:
    # 2,500 answers, by twentieths of a scale. The largest deviation of a frequency is at most sqrt(ln(2/delta)/2n) =
    # .0655 for delta 1e-9 (Dvoretzky, Kiefer, Wolfowitz); noise of half or twice the scale, as for another sensitivity,
    # is off by .124, so it is missed with a chance below 5e-8. A deep run has 4,000 answers and a bound of .0518.
    many, most = (4000, 0.0518) if DEEP else (2500, 0.0655)
    node = LocalNode("a", [210.0])
    node.open(Access((140, 210), budget=8000))
    sums = np.array([node.ask(1).sums[0] for _ in range(many)]) - STEPS
    for scale, fits in ((STEPS, True), (STEPS // 2, False), (2 * STEPS, False)):
        law = DiscreteLaplace(Fraction(scale))
        at = np.linspace(-4, 4, 81) * STEPS
        worst = np.abs((sums[:, None] <= at).mean(axis=0) - law.cdf(at)).max()
        assert (worst < most) == fits


def test_a_remote_report_is_the_same_and_exact(both: tuple[LocalNode, Node]) -> None:
    owner, node = both
    owner.open(Access((0, "1/3"), budget="2/3", neighbours="add_remove"))
    report = node.ask("1/3")
    assert (report.epsilon, report.records, len(report.sums)) == (Fraction(1, 3), None, 2)
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    assert node.describe().left == Fraction(1, 3)


def test_nothing_but_what_was_declared_passes_the_wire() -> None:
    secret = LocalNode("a", [123456.75, 1.0])
    secret.open(Access((0, 10), budget=1, neighbours="add_remove"))
    handle = serve(secret)
    messages: list[Any] = [{"do": "describe"}, {"do": "ask", "epsilon": "1/2"}, {"do": "ask", "epsilon": "1"},
                           {"do": "ask"}, {"do": "_values"}, {"do": ["ask"]}, None, "ask", {}]  # fmt: skip
    kinds = Counter(str(handle(message).get("error", {}).get("kind")) for message in messages)
    assert kinds == {"None": 2, "BudgetExceeded": 1, "InvalidParameter": 6}
    assert all("123456" not in json.dumps(handle(message)) for message in messages)


def test_what_a_node_raises_by_mistake_is_withheld() -> None:
    class Broken:
        def describe(self) -> Offer:
            raise ValueError("the value is 123456.75")

        def ask(self, epsilon: object) -> Report:
            raise ValueError("the value is 123456.75")

    remote = _over_the_wire(Broken())
    for call in (remote.describe, lambda: remote.ask(1)):
        with pytest.raises(EngineError) as caught:
            call()
        assert "123456" not in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [None, "x", {}, {"name": 3}, {"name": "a", "access": {}, "left": None, "records": None},
     {"name": "a", "access": None, "left": "x", "records": None}],
)  # fmt: skip
def test_garbled_replies_are_said_to_be(reply: Any) -> None:
    with pytest.raises(InvalidParameter):
        RemoteNode(lambda _: reply).describe()
    with pytest.raises(InvalidParameter):
        RemoteNode(lambda _: reply).ask(1)


def test_a_report_that_does_not_fit_its_declaration_is_garbled() -> None:
    node = LocalNode("a", [1.0])
    node.open(HEIGHT)
    wire = node.ask(1).to_dict()
    for more in ({"sums": ["1", "2"]}, {"records": None}, {"sums": ["x"]}, {"epsilon": "0"}, {"records": -1}):
        with pytest.raises(InvalidParameter):
            Report.from_dict({**wire, **more})


@pytest.mark.parametrize(
    "make", [lambda: Access((1, 1), 1), lambda: Access((0, 1), 0), lambda: Access((0, 1), 1, cast(Any, "x"))]
)
def test_bad_declarations_are_refused(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()
    with pytest.raises(InvalidParameter):
        LocalNode("a", [1.0]).open({"bounds": (0, 1)})  # type: ignore[arg-type]
