"""The public declarations of a stream, from which its sensitivity, its noise and its price follow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import PolicyError
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.release.exactly import exact
from discreet.release.guarantee import ROW
from discreet.streams.choice import moves, named, predictions
from discreet.streams.measure import Measure
from discreet.streams.periods import Periods
from discreet.streams.strategy import Strategy

if TYPE_CHECKING:
    from discreet.policy import Policy

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
    """

    name: str
    table: str
    unit: str | None
    rows: int
    neighbours: str
    time: str
    periods: Periods
    group: str | None
    keys: tuple[str, ...]
    measures: tuple[Measure, ...]
    method: str
    epsilon: Fraction

    @classmethod
    def declared(
        cls,
        policy: Policy,
        table: str,
        *,
        time: str,
        periods: Periods,
        epsilon: Fraction,
        name: str = "",
        group: str | None = None,
        count: bool = True,
        sums: tuple[str, ...] = (),
        method: str = "",
    ) -> StreamSpec:
        """Read the declarations of a stream by a policy.

        Args:
            policy: of the steward.
            table: a private one.
            time: the column with the time of a row.
            periods: the periods.
            epsilon: of the whole stream.
            name: of the stream; by default that of the table.
            group: a column with public keys.
            count: whether rows are counted.
            sums: bounded columns that are added up.
            method: the name of a strategy; by default the one with the least predicted error.

        Raises:
            PolicyError: the table is not private, or a column has no keys or bounds.
            InvalidParameter: no strategy has this name, or it is not for so many periods.
        """
        declared = policy.tables.get(table)
        if declared is None or declared.public:
            raise PolicyError("The policy declares no private table of this name.", key=f"tables.{table}")
        if not count and not sums:
            raise PolicyError("The stream has nothing to add up.", "Ask for a count or a sum.")
        if declared.through:
            raise PolicyError(
                "The unit of this table stands in another table, which a stream does not see.",
                "Name a column of the rows themselves.",
                key=f"tables.{table}.privacy_unit",
            )
        if Path(name or table).name != (name or table):
            raise PolicyError(
                "The name of the stream is no name of a file.", "Choose a plain one.", key="name"
            )
        event = declared.privacy_unit == ROW
        unit = None if event else str(declared.privacy_unit)
        rows = 1 if event else int(declared.max_rows or 1)
        keys: tuple[str, ...] = ("",)
        columns: Mapping[str, object] = declared.columns
        if group is not None:
            found = getattr(columns.get(group), "keys", None)
            if not isinstance(found, tuple):
                raise PolicyError(
                    "This column has no list of public keys.",
                    'Write keys = ["A", "B"].',
                    key=f"tables.{table}.columns.{group}",
                )
            keys = tuple(map(str, found))
        measures = [Measure()] * count
        for column in sums:
            bounds = getattr(columns.get(column), "bounds", None)
            if bounds is None or not all(isinstance(end, Fraction) for end in bounds):
                raise PolicyError(
                    "This column has no bounds that are numbers.",
                    "Write bounds = [0, 100].",
                    key=f"tables.{table}.columns.{column}",
                )
            measures.append(Measure(f"sum_{column}", column, *bounds))
        chosen = method or predictions(periods.count, epsilon, rows, policy.neighbours)[0].strategy.name
        named(chosen, periods.count)
        return cls(name or table, table, unit, rows, policy.neighbours, time, periods, group, keys, tuple(measures),
                   chosen, epsilon)  # fmt: skip

    @cached_property
    def strategy(self) -> Strategy:
        """The way to release running totals."""
        return named(self.method, self.periods.count)

    def mechanism(self, measure: Measure) -> LaplaceVector:
        """The noise of all nodes and groups of a measure; a unit moves them by the sensitivity at most."""
        moved = moves(self.rows, self.neighbours) * measure.most * self.strategy.l1  # type: ignore[arg-type]
        return LaplaceVector(moved * len(self.measures) / self.epsilon, moved)

    @cached_property
    def question(self) -> str:
        """The canonical question: whoever changes any of it asks for another stream."""
        return json.dumps([
            "stream", self.name, self.table, self.unit, self.rows, self.neighbours, self.time,
            self.periods.start.isoformat(), self.periods.every, self.periods.count, self.group, self.keys,
            [[one.name, one.column, str(one.lo), str(one.hi), str(one.grid)] for one in self.measures],
            self.method, self.strategy.l1, str(self.epsilon),
        ])  # fmt: skip

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each key."""
        return {key: at for at, key in enumerate(self.keys)}

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        sums = (one.column for one in self.measures if one.column)
        return [name for name in (self.time, self.unit, self.group, *sums) if name]

    @property
    def words(self) -> str:
        """The stream in words, for the ledger."""
        shown = ", ".join(one.name for one in self.measures)
        groups = f" by {self.group}" if self.group else ""
        return (
            f"stream {self.name}: {shown} of {self.table}{groups}, every {self.periods.every} for "
            f"{self.periods.count:,} from {self.periods.label(1)}, {self.method}"
        )

    @property
    def promise(self) -> str:
        """The guarantee in plain words."""
        cost = f"epsilon {exact(self.epsilon)} for the whole stream of {self.periods.count:,} periods"
        if self.unit is None:
            return f"{cost}. It hides one row (privacy of an event), not all rows of a person who has many."
        many = f"{self.rows:,} row{'s' * (self.rows != 1)}"
        return f"{cost}. It hides all rows of one {self.unit} (privacy of a unit), of whom at most {many} are counted."
