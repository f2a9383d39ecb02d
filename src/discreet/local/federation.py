"""Many nodes as one array: ask each for a noisy answer, and estimate from the answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.accounting.loss import at_least, at_most
from discreet.errors import BudgetExceeded, EngineError, InvalidParameter, QueryRefused
from discreet.local.messages import STEPS, Access, Choices, Declaration, Node, Offer, Report
from discreet.local.node import LocalNode
from discreet.mechanisms import Frequencies, RandomizedResponse
from discreet.mechanisms.laplace_sum.half_width import half_width
from discreet.rational import Number, decimal, epsilon_of, show
from discreet.records import dataclass

Progress = Callable[[int, int], None]
Measure: TypeAlias = Literal["mean", "sum", "count"]
"""A number that can be estimated from noisy sums."""


@dataclass(frozen=True)
class FederatedEstimate:
    """A number estimated from noisy answers, with the interval of their noise.

    Attributes:
        value: the estimate.
        low: the lower end of the interval.
        high: the upper end.
        confidence: of the interval.
        epsilon: the loss of each value: that of one answer, as a value is in one node.
        nodes: how many nodes answered.
        notes: the errors that the interval does not cover.

    Example:
        >>> print(FederatedEstimate(41.25, 40.0, 42.5, 0.95, Fraction(1, 4), 3, ()))
        41.2 ± 1.2 · 3 nodes · epsilon 0.25 · ± covers the noise at 95 %
    """

    value: float
    low: float
    high: float
    confidence: float
    epsilon: Fraction
    nodes: int
    notes: tuple[str, ...]

    @property
    def error(self) -> float:
        """The half-width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        digits = max(0, 1 - math.floor(math.log10(self.error))) if 0 < self.error < math.inf else 6
        return (
            f"{self.value:,.{digits}f} ± {self.error:,.{digits}f} · {self.nodes} node{'s' * (self.nodes != 1)} · "
            f"epsilon {show(self.epsilon)} · ± covers the noise at {100 * self.confidence:g} %"
        )


class FederatedNodes:
    """Nodes that are asked together. The holder of a federation sees noisy answers only.

    A node is believed in its measurement, and in nothing that can be checked: an answer for another epsilon than was
    asked, or under another declaration or name than was offered, is refused. So no node can make an interval narrow by
    a claim; one that lies about its values shifts the estimate, as any participant can.

    Args:
        nodes: anything with `describe` and `ask`, here or remote, at least one.

    Raises:
        InvalidParameter: there is no node, or an item is not a node.

    Example:
        >>> FederatedNodes([LocalNode("north", [31, 47]), LocalNode("south", [62])])
        <FederatedNodes of 2 nodes>
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)
        if not self._nodes or not all(isinstance(node, Node) for node in self._nodes):
            raise InvalidParameter(
                "A federation needs nodes, which have describe() and ask().", "Give LocalNode or RemoteNode."
            )

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, in order."""
        return self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __getitem__(self, index: int) -> Node:
        return self._nodes[index]

    def __repr__(self) -> str:
        return f"<FederatedNodes of {len(self)} node{'s' * (len(self) != 1)}>"

    def ask(
        self,
        epsilon: Number,
        *,
        of: type[Declaration] | None = None,
        skip_closed: bool = False,
        progress: Progress | None = None,
    ) -> list[Report]:
        """Ask every node once. All are looked at first, so that none is charged for an answer that cannot be given.

        Args:
            epsilon: the charge to each node.
            of: the kind of declaration that every node must have; by default any.
            skip_closed: whether nodes that are closed are left out.
            progress: called with the nodes done and the nodes there are.

        Raises:
            QueryRefused: a node is closed, or all of them are, or one has declared something else. Nothing was charged.
            BudgetExceeded: a node has too little left. Nothing was charged, unless somebody else asked meanwhile.
            EngineError: a node answered another question than the one asked. The nodes asked so far were charged.
        """
        loss = epsilon_of(epsilon)
        offers = [(node, node.describe()) for node in self._nodes]
        open_nodes = [(node, offer) for node, offer in offers if self._ready(offer, loss, skip_closed, of)]
        declared = {offer.access.categories for _, offer in offers if isinstance(offer.access, Choices)}
        if len(declared) > 1:
            raise QueryRefused(
                "Two nodes have declared different categories.", "Let their owners agree on them."
            )
        if not open_nodes:
            raise QueryRefused("Every node is closed.", "Their owners open them, with open(...).")
        reports = []
        for done, (node, offer) in enumerate(open_nodes, 1):
            reports.append(_as_asked(node.ask(loss), offer, loss))
            if progress is not None:
                progress(done, len(open_nodes))
        return reports

    @staticmethod
    def _ready(offer: Offer, loss: Fraction, skip_closed: bool, of: type[Declaration] | None) -> bool:
        if offer.access is None:
            if skip_closed:
                return False
            raise QueryRefused(
                f"The node {offer.name} is closed.", "Its owner opens it, or skip_closed=True leaves it out."
            )
        if of is not None and not isinstance(offer.access, of):
            asked = "categories" if of is Choices else "numbers"
            raise QueryRefused(
                f"The node {offer.name} has not declared {asked}.", "Ask for its declared measures."
            )
        if offer.left is not None and offer.left < loss:
            raise BudgetExceeded(f"the node {offer.name}", at_least(loss), at_most(offer.left))
        return True

    def mean(
        self,
        epsilon: Number,
        *,
        confidence: Number = 0.95,
        skip_closed: bool = False,
        progress: Progress | None = None,
    ) -> FederatedEstimate:
        """Estimate the mean of all values of the nodes.

        Args:
            epsilon: the charge to each node.
            confidence: of the interval, strictly between 0 and 1.
            skip_closed: as for `ask`.
            progress: as for `ask`.

        Raises, besides the errors of `ask`:
            InvalidParameter: confidence is out of range. Nothing was charged.

        Example:
            >>> wards = federate([171.0, 168.0, 180.0, 175.0], 2, Access((140, 210), budget=100))
            >>> heights = wards.mean(epsilon=50)
            >>> 160 < heights.low < heights.value < heights.high < 190
            True
            >>> heights.notes
            ('values outside their bounds, which are clamped',)
        """
        return self._estimate("mean", epsilon, confidence, skip_closed, progress)

    def sum(
        self,
        epsilon: Number,
        *,
        confidence: Number = 0.95,
        skip_closed: bool = False,
        progress: Progress | None = None,
    ) -> FederatedEstimate:
        """Estimate the sum of all values; arguments and errors are those of `mean`."""
        return self._estimate("sum", epsilon, confidence, skip_closed, progress)

    def count(
        self,
        epsilon: Number,
        *,
        confidence: Number = 0.95,
        skip_closed: bool = False,
        progress: Progress | None = None,
    ) -> FederatedEstimate:
        """Estimate how many values there are; exact where every node makes that public."""
        return self._estimate("count", epsilon, confidence, skip_closed, progress)

    def frequencies(
        self, epsilon: Number, *, skip_closed: bool = False, progress: Progress | None = None
    ) -> Frequencies:
        """Estimate how many values have each category, where the nodes have declared the same `Choices`.

        Args:
            epsilon: the charge to each value.
            skip_closed: as for `ask`.
            progress: as for `ask`.

        Returns:
            Estimates `counts` and `shares` by category, with `interval(category)` at any confidence.

        Raises: as for `ask`.

        Example:
            >>> people = federate(["bus", "car", "bus"] * 20, 60, Choices(["bus", "car"], budget=8))
            >>> answers = people.frequencies(epsilon=8)
            >>> low, high = answers.interval("bus", 0.999999)
            >>> low <= 40 <= high
            True
        """
        reports = self.ask(epsilon, of=Choices, skip_closed=skip_closed, progress=progress)
        access = reports[0].access
        assert isinstance(access, Choices)
        coins = RandomizedResponse(reports[0].epsilon, access.categories)
        support = np.array([report.sums for report in reports], np.int64).sum(axis=0)
        people = sum(report.records or 0 for report in reports)
        return Frequencies(access.categories, people, support, coins.truth, coins.lie)

    def _estimate(
        self,
        measure: Measure,
        epsilon: Number,
        confidence: Number,
        skip_closed: bool,
        progress: Progress | None,
    ) -> FederatedEstimate:
        level = decimal(confidence, "confidence")
        half_width([1.0], level)  # so that a bad confidence shows before anything is charged
        reports = self.ask(epsilon, of=Access, skip_closed=skip_closed, progress=progress)
        return estimate(measure, reports, level)


def _as_asked(report: Report, offer: Offer, loss: Fraction) -> Report:
    """Return the report if it is the answer to the question, from the node that was asked."""
    claims = (
        ("another epsilon", report.epsilon == loss),
        ("another declaration", report.access == offer.access),
        ("another name", report.name == offer.name),
    )
    for claim, holds in claims:
        if not holds:
            raise EngineError(
                f"The node {offer.name} answered with {claim} than was asked for or offered.",
                "Its charge stays; ask its owner, or leave it out.",
            )
    return report


def estimate(measure: Measure, reports: Sequence[Report], confidence: Number = 0.95) -> FederatedEstimate:
    """Estimate the `mean`, `sum` or `count` behind reports; it is post-processing and costs nothing.

    The interval is that of the noise. It is exact for sums and counts; for a mean of an unknown number of
    values, which is a quotient of two noisy sums, it is to first order in the noise of their number.
    """
    total = number = 0.0
    # The noise of the sum and of the number, as coefficients of the independent noise of each noisy sum.
    parts: list[tuple[float, float, float]] = []
    bounds: list[tuple[float, float]] = []
    for report in reports:
        if not isinstance(report.access, Access):
            raise InvalidParameter("A report counts categories, and has no numbers.", "Ask for frequencies.")
        low, step = float(report.access.bounds[0]), float(report.access.width) / STEPS
        bounds.append((low, float(report.access.bounds[1])))
        scale = float(report.scale)
        if report.records is not None:
            total += low * report.records + step * report.sums[0]
            number += report.records
            parts.append((scale, step, 0.0))
        else:
            here = sum(report.sums) / STEPS
            total += low * here + step * report.sums[0]
            number += here
            parts += [(scale, low / STEPS + step, 1 / STEPS), (scale, low / STEPS, 1 / STEPS)]
    notes = () if measure == "count" else ("values outside their bounds, which are clamped",)
    if measure == "mean":
        at_least_one = max(number, 1.0)
        value = total / at_least_one
        inside = min(max(value, min(b[0] for b in bounds)), max(b[1] for b in bounds))
        spread = [scale * abs(a - inside * b) / at_least_one for scale, a, b in parts]
        value = inside
    else:
        value = total if measure == "sum" else number
        spread = [scale * abs(a if measure == "sum" else b) for scale, a, b in parts]
    error = half_width(spread, confidence)
    loss = max(report.epsilon for report in reports)
    return FederatedEstimate(
        value, value - error, value + error, float(decimal(confidence)), loss, len(reports), notes
    )


def federate(
    values: npt.ArrayLike, nodes: int | Sequence[str], access: Declaration | None = None, **options: Any
) -> FederatedNodes:
    """Spread values over nodes, evenly and in order, as an exercise or a trial before real nodes.

    Args:
        values: finite numbers or texts, array-like (n,).
        nodes: how many nodes, or their names; from one to n.
        access: the declaration of every node; without it they are closed.
        options: as for `LocalNode`.

    Raises:
        InvalidParameter: there are no nodes, more of them than values, or a value is not a finite number.

    Example:
        >>> people = federate(range(10), 5)
        >>> people[0]
        <LocalNode node 1: closed>
        >>> people.mean(epsilon=1)
        Traceback (most recent call last):
        discreet.errors.QueryRefused: The node node 1 is closed. Its owner opens it, or skip_closed=True leaves it out.
        >>> for node in people:
        ...     node.open(Access((0, 10), budget=1))
        >>> people.count(epsilon=1).value
        10.0
    """
    array = np.asarray(values)
    names = [f"node {index}" for index in range(1, nodes + 1)] if isinstance(nodes, int) else list(nodes)
    if array.ndim != 1 or not 1 <= len(names) <= len(array) or len(set(names)) < len(names):
        raise InvalidParameter(
            "There is no node, there are more nodes than values, or two nodes have one name.",
            "Give from one node to one a value.",
        )
    edges = [len(array) * index // len(names) for index in range(len(names) + 1)]
    made = [
        LocalNode(name, array[start:end], **options)
        for name, (start, end) in zip(names, pairwise(edges), strict=True)
    ]
    if access is not None:
        for node in made:
            node.open(access)
    return FederatedNodes(made)
