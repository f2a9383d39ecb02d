"""The public declarations of a stream, from which its sensitivity, its noise and its price follow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.accounting.gaussian.bought import gaussian_variances
from discreet.accounting.loss import Loss
from discreet.mechanisms.numeric.gaussian_vector import GaussianVector
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.rational import show
from discreet.records import dataclass
from discreet.release.exactly import exact
from discreet.streams.choice import moves, named
from discreet.streams.measure import Measure
from discreet.streams.periods import Periods
from discreet.streams.strategy import Strategy

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours


@dataclass(frozen=True)
class StreamSpec:
    """The declarations of a stream.

    Privacy: epsilon for the whole stream, from its first period to its last, and for the privacy unit of the table.
    Where each row is a unit, that is privacy of an event: one row more or fewer is hidden, and not the habits of a
    person who has many. Where a column tells units apart, all rows of a unit are hidden together: of each unit, at
    most `rows` rows of the whole stream are counted, its first ones, and the noise is scaled for so many.

    Attributes:
        name: of the stream; the same name and declarations are the same stream.
        table: of the policy.
        unit: the column that tells units apart, or None where each row is a unit.
        rows: how many rows of a unit are counted in the whole stream.
        neighbours: those of the policy.
        time: the column with the time of a row.
        periods: the periods.
        group: the column to group by, or None.
        keys: its public values, as text; one empty key without a group.
        measures: the numbers that are added up; each has an equal share of epsilon.
        method: the name of the strategy.
        epsilon: of all.
        delta: of all; above zero the noise is Gaussian, and else Laplace noise.
        window: totals are of so many periods; 0 for all so far.
        endless: whether no last period was said.
        polled: whether rows are read from a table when periods have ended; else they come by themselves.
    """

    name: str
    table: str
    unit: str | None
    rows: int
    neighbours: Neighbours
    time: str
    periods: Periods
    group: str | None
    keys: tuple[str, ...]
    measures: tuple[Measure, ...]
    method: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    window: int = 0
    endless: bool = False
    polled: bool = False

    @cached_property
    def strategy(self) -> Strategy:
        """The way to release totals."""
        return named(self.method, self.periods.count, bool(self.delta), self.window)

    @property
    def loss(self) -> Loss:
        """Of the whole stream."""
        return Loss(self.epsilon, self.delta)

    @cached_property
    def _gaussians(self) -> Mapping[str, GaussianVector]:
        """The Gaussian noise of each measure."""
        # The rows of a unit, and of its successor where it is replaced: see `strategy`.
        squares = [
            Fraction((1 if self.neighbours == "add_remove" else 2 if measure.one_sided else 4)
                     * (self.rows * measure.most) ** 2 * self.strategy.l2_squared)
            for measure in self.measures
        ]  # fmt: skip
        variances = gaussian_variances(squares, self.loss)
        return {
            measure.name: GaussianVector(variance, square)
            for measure, variance, square in zip(self.measures, variances, squares, strict=True)
        }

    def mechanism(self, measure: Measure) -> LaplaceVector | GaussianVector:
        """The noise of all nodes and groups of a measure; a unit moves them by the sensitivity at most."""
        if self.delta:
            return self._gaussians[measure.name]
        moved = moves(self.rows, self.neighbours) * measure.most * self.strategy.l1
        return LaplaceVector(moved * len(self.measures) / self.epsilon, moved)

    @cached_property
    def question(self) -> str:
        """The canonical question: whoever changes any of it asks for another stream."""
        return json.dumps([
            "stream", self.name, self.table, self.unit, self.rows, self.neighbours, self.time,
            self.periods.start.isoformat(), self.periods.every, self.periods.count, self.group, self.keys,
            [[measure.name, measure.column, str(measure.lo), str(measure.hi), str(measure.grid)]
             for measure in self.measures],
            self.method, self.strategy.l1, str(self.epsilon), str(self.delta), self.window, self.endless,
            self.strategy.nodes(self.periods.count), *(["polled"] * self.polled),
            *([str(gaussian.variance) for gaussian in self._gaussians.values()] if self.delta else []),
        ])  # fmt: skip

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each key."""
        return {key: place for place, key in enumerate(self.keys)}

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        sums = (measure.column for measure in self.measures if measure.column)
        return [name for name in (self.time, self.unit, self.group, *sums) if name]

    @property
    def words(self) -> str:
        """The stream in words, for the ledger."""
        shown = ", ".join(measure.name for measure in self.measures)
        groups = f" by {self.group}" if self.group else ""
        many = "" if self.endless else f" for {self.periods.count:,}"
        window = f", totals of {self.window:,}" if self.window else ""
        noise = ", Gaussian noise" if self.delta else ""
        return (
            f"stream {self.name}: {shown} of {self.table}{groups}, every {self.periods.every}{many} from "
            f"{self.periods.label(1)}{window}, {self.method}{noise}"
        )

    @property
    def promise(self) -> str:
        """The guarantee in plain words."""
        many = (
            f"of at most {self.periods.count:,} periods"
            if self.endless
            else f"of {self.periods.count:,} periods"
        )
        delta = f" and delta {show(self.delta)}" if self.delta else ""
        cost = f"epsilon {exact(self.epsilon)}{delta} for the whole stream {many}"
        if self.unit is None:
            return f"{cost}. It hides one row (privacy of an event), not all rows of a person who has many."
        rows = f"{self.rows:,} row{'s' * (self.rows != 1)}"
        return f"{cost}. It hides all rows of one {self.unit} (privacy of a unit), of whom at most {rows} are counted."
