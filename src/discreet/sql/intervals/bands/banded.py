"""Intervals where noise selects or folds: bands for all noisy numbers behind a row, carried through the statement.

Noise that is drawn again around released numbers starts from numbers that were selected for their noise: the greatest
of many counts is too great, and drawing again makes it greater. A band for every number, of a joint confidence, holds
the truth wherever the selection falls; `rewrite` carries it to the answer.

A row that is made of m numbers needs bands that hold for m numbers together (Bonferroni 1936; Dunn 1961). Where noise
decides which R of M rows are shown, each gets the confidence 1 - (1 - confidence) R/M: of the intervals that are
shown, the expected share that fails is then at most 1 - confidence (Benjamini and Yekutieli 2005). If all rows are
shown, that changes nothing; if only one is, it is the simultaneous band.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError
from discreet.records import dataclass
from discreet.release.noisy_schema import CELL, HIGH, LOW, aggregate_name, aggregate_number, ends_of
from discreet.sql.algebra import keys as ks
from discreet.sql.expressions.dialect import quote
from discreet.sql.intervals.bands import curvature
from discreet.sql.intervals.bands.expressions import Number, Role
from discreet.sql.intervals.bands.relations import FAN, ROW, NoBandsError, Relation
from discreet.sql.intervals.bands.rewrite import Bands
from discreet.sql.intervals.noise_widths import half_widths
from discreet.sql.intervals.row_identity import Identified
from discreet.sql.intervals.simulation.noise_alone import is_linear
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.measures.all_rows import noise_of
from discreet.sql.plan.plan import Aggregate, PlannedRelease, QueryPlan
from discreet.sql.syntax.once import once

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Interval = tuple[Floats, Floats]

MOST_BANDED_GROUPS = 20_000
"""The most groups whose bands are carried through a statement; ranks compare all of them with each other."""
MOST_PAIRS = 30_000_000
"""The most pairs of groups that are compared for a rank."""
MOST_TEXT = 1_000_000
"""The longest statement over bands, in characters: each condition is written for both ends."""
COMPARED = 0.2
"""The share of the chance to fail that goes to finding a row, of which a number is told."""
MOST_SIZES = 64
"""How many statements are remembered with the number of their rows."""
_NO_FORM = (NoBandsError, LookupError, ValueError, AttributeError, TypeError, RecursionError)
"""A form that nobody thought of has no bands: an answer that is paid for is not lost for its intervals."""
_sizes: Final[OrderedDict[tuple[str, str], tuple[tuple[object, ...], tuple[int, int]]]] = OrderedDict()
"""By the statement over bands: the keys of its groups, and its size. Where groups are found, the keys are others."""
OwnBands: TypeAlias = "tuple[Mapping[Number, float], Mapping[Number, float]]"
"""The confidence, or the half-width, of the bands of some aggregates."""


@dataclass(frozen=True)
class Banded:
    """A statement over bands.

    Attributes:
        plan: of the question.
        found: the statement whose rows have an identity.
        public: the public tables that it reads.
        relation: the columns of the statement over bands; None where there is none.
        sql: all of it but the last SELECT.
    """

    plan: QueryPlan
    found: Identified | None
    public: Mapping[str, pa.Table]
    relation: Relation | None
    sql: str

    def bent(self, index: int) -> bool:
        """Whether noise selects or folds on the way to a column of the answer, by its place."""
        if self.relation is None:
            return self.found is None or self.found.bent
        return index < len(self.relation.columns) and self.relation.columns[index].bent

    def single(self, index: int) -> bool:
        """Whether each number of a column is made of one noisy number, so that its interval follows from that of it."""
        return (
            self.relation is not None
            and index < len(self.relation.columns)
            and self.relation.columns[index].single
        )

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many rows there are when none is left out for its noise, and of how many groups the largest is made."""
        if self.relation is None or not self._small:
            groups = sum(release.cells for release in self.plan.releases)
            return groups, groups
        keys = tuple(release.keys for release in self.plan.releases)
        if not self.public and (known := _known_size((self.sql, self.relation.name), keys)) is not None:
            return known
        tables = {}
        for release in self.plan.releases:
            ends = (np.full(release.cells, -np.inf), np.full(release.cells, np.inf))
            tables[release.name] = _table(release, dict.fromkeys(range(len(release.aggregates)), ends))
        try:
            with Sandbox(tables | dict(self.public)) as sandbox:
                found = sandbox.run(f"{self.sql} SELECT COUNT(*), MAX({FAN}) FROM {self.relation.name}")
        except PostProcessingError:
            groups = sum(release.cells for release in self.plan.releases)
            return groups, groups
        rows, fan = (found.column(index).to_pylist()[0] for index in range(2))
        size = int(rows), int(fan or 1)
        if not self.public:
            _sizes[self.sql, self.relation.name] = keys, size
            while len(_sizes) > MOST_SIZES:
                with contextlib.suppress(KeyError):  # another thread was faster
                    _sizes.popitem(last=False)
        return size

    @property
    def _small(self) -> bool:
        cells = [release.cells for release in self.plan.releases]
        pairs = ROW in self.sql and sum(cells) ** 2 > MOST_PAIRS
        return sum(cells) <= MOST_BANDED_GROUPS and not pairs and len(self.sql) <= MOST_TEXT

    def selected(self, confidence: float, rows: int) -> float:
        """The confidence of each of the rows that are shown, where noise decides which."""
        if self.found is None or not self.found.chosen:
            return confidence
        candidates = self.size[0]
        return 1 - (1 - confidence) * min(1.0, max(1, rows) / max(1, candidates))

    def level(self, confidence: float, rows: int) -> float:
        """The confidence of each band."""
        used = {
            (column.table, column.name) for column in self.plan.post.find_all(exp.Column)
            if aggregate_number(column.name) is not None
        }  # fmt: skip
        if self.relation is not None and self.relation.local:
            return 1 - (1 - self.selected(confidence, rows)) / max(1, self.size[1] * _most(used))
        numbers = sum(release.cells * _own(used, release.name) for release in self.plan.releases)
        return 1 - (1 - confidence) / max(1, numbers)

    def curve(self, index: int) -> str:
        """How a column bends in the noisy numbers, by its place."""
        known = self.relation is not None and index < len(self.relation.columns)
        return (
            self.relation.columns[index].curve if known and self.relation is not None else curvature.UNKNOWN
        )

    def role(self, index: int) -> Role | None:
        """The parts of the noisy numbers in a column that compares them, by its place."""
        known = self.relation is not None and index < len(self.relation.columns)
        return self.relation.columns[index].role if known and self.relation is not None else None

    def sharper(self, role: Role, confidence: float, rows: int) -> OwnBands | None:
        """The bands of numbers that are compared with each other, or found by comparing others; None where unknown.

        A rank is right where all differences from the number of its own row are, each of two noisy numbers: half of
        the half-width of a difference, at a confidence that allows for all other rows, is that of each band. A number
        that is told of the row with the greatest of another lies in its own interval, as the data alone say which row
        that is; that it is among those found takes a fifth of the chance to fail, for bands that hold together. A
        median of m numbers is above its upper end only if one of the m/2 + 1 greatest is above its own, and likewise
        below: bands have to hold together for so many, not for m.
        """
        assert self.relation is not None
        left = 1 - self.selected(confidence, rows)
        if role.middle:
            if not self.relation.local:
                return None
            return dict.fromkeys(role.compared, 1 - left / (self.size[1] // 2 + 1)), {}
        if role.told:
            cells = (
                self.size[1] if self.relation.local else sum(release.cells for release in self.plan.releases)
            )
            compared = 1 - COMPARED * left / max(1, cells * len(role.compared))
            return {
                **dict.fromkeys(role.told, 1 - (1 - COMPARED) * left),
                **dict.fromkeys(role.compared, compared),
            }, {}
        ((table, name),) = role.compared
        release = next(release for release in self.plan.releases if release.name == table)
        width = difference_half_width(release, name, 1 - left / max(1, release.cells - 1))
        return None if width is None else ({}, {(table, name): width / 2})

    def _joined(self, places: Sequence[int]) -> str:
        """The statement that gives each row of the answer the least and the greatest end of some columns."""
        assert self.found is not None
        assert self.relation is not None
        same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in self.found.ids) or "TRUE"
        items = []
        for index in places:
            name = self.relation.columns[index].name
            for end, function in ((LOW, "MIN"), (HIGH, "MAX")):
                items.append(f"{function}(CAST(b.{quote(name + end)} AS DOUBLE)) AS {function}{index}")
        return (
            f"{self.sql} SELECT a.__row, {', '.join(items)} FROM __answer AS a JOIN {self.relation.name} AS b "
            f"ON {same} GROUP BY a.__row"
        )

    def ends(
        self,
        noisy: Sequence[NoisyIntegers],
        rows: pa.Table,
        places: Sequence[int],
        level: float,
        ends_of: Callable[[NoisyIntegers, Aggregate, float], Interval],
        own: OwnBands = ({}, {}),
    ) -> dict[int, Interval]:
        """The intervals of some columns.

        Args:
            noisy: the noisy integers of all groups.
            rows: the identity of the rows of the answer.
            places: of the columns.
            level: the confidence of each band.
            ends_of: the interval of an aggregate in all groups.
            own: the confidence, or the half-width, of the bands of some aggregates.

        Returns:
            Low and high ends by place; columns that may lie anywhere are left out.
        """
        if self.relation is None or not self._small or self.found is None or not places:
            return {}
        tables = {integers.plan.name: _banded(integers, level, ends_of, own) for integers in noisy}
        tables["__answer"] = rows.append_column("__row", arrow.column(np.arange(len(rows))))
        try:
            with Sandbox(tables | dict(self.public)) as sandbox:
                result = sandbox.run(self._joined(places))
        except PostProcessingError:
            return {}
        row = arrow.numbers(result.column("__row"))
        out = {}
        for index in places:
            low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
            low[row], high[row] = (
                arrow.numbers(result.column(f"{function}{index}")) for function in ("MIN", "MAX")
            )
            if not len(rows) or np.isfinite(low).any() or np.isfinite(high).any():
                out[index] = (low, high)
        return out


def difference_half_width(release: PlannedRelease, name: str, confidence: float) -> float | None:
    """The half-width of the difference of an aggregate in two groups; None where the two err together, or not alike."""
    aggregate = next(
        aggregate for index, aggregate in enumerate(release.aggregates) if aggregate_name(index) == name
    )
    measure = release.measures[aggregate.measure]
    weights = measure.weights(aggregate.quantity)
    if weights is None or release.law is not None:
        return None
    weights = noise_of(measure, weights)
    both = np.concatenate([weights, -weights])
    width = float(half_widths(release, np.abs(both), np.full(len(both), aggregate.measure), confidence))
    rounded = aggregate.whole and bool((weights != np.rint(weights)).any())
    return float(np.ceil(width)) + rounded if aggregate.whole else width


def _banded(
    noisy: NoisyIntegers,
    level: float,
    ends_of: Callable[[NoisyIntegers, Aggregate, float], Interval],
    own: OwnBands,
) -> pa.Table:
    """A noisy table with the ends of its aggregates in the place of these."""
    ends = {}
    for index, aggregate in enumerate(noisy.plan.aggregates):
        number = noisy.plan.name, aggregate_name(index)
        values = noisy.values(aggregate)
        if number in own[1]:
            low, high = values - own[1][number], values + own[1][number]
        else:
            low, high = ends_of(noisy, aggregate, own[0].get(number, level))
        there = ~np.isnan(values)
        ends[index] = (
            np.where(there & np.isnan(low), -np.inf, low), np.where(there & np.isnan(high), np.inf, high),
        )  # fmt: skip
    return _table(noisy.plan, ends)


def banded(plan: QueryPlan, found: Identified | None, public: Mapping[str, pa.Table]) -> Banded:
    """The statement of a plan over bands; without one where it has a form that is not rewritten.

    Args:
        plan: of the question.
        found: the statement whose rows have an identity.
        public: the public tables that it reads.
    """
    noisy = tuple((release.name, (len(release.keys), len(release.aggregates))) for release in plan.releases)
    shown = tuple((name, tuple(table.column_names)) for name, table in public.items())
    try:
        linear = frozenset(
            (release.name, aggregate_name(index)) for release in plan.releases
            for index, aggregate in enumerate(release.aggregates) if is_linear(release, aggregate)
        )  # fmt: skip
    except _NO_FORM:
        return Banded(plan, found, public, None, "")
    return Banded(
        plan, found, public, *_rewritten(plan.post if found is None else found.post, noisy, shown, linear)
    )


@once
def _rewritten(
    statement: exp.Query,
    noisy: tuple[tuple[str, tuple[int, int]], ...],
    public: tuple[tuple[str, tuple[str, ...]], ...],
    linear: frozenset[tuple[str, str]],
) -> tuple[Relation | None, str]:
    """The statement over bands: its columns, and the SQL of all but the last SELECT."""
    try:
        return Bands(dict(noisy), dict(public), linear).statement(statement)
    except _NO_FORM:
        return None, ""


def _known_size(statement: tuple[str, str], keys: tuple[object, ...]) -> tuple[int, int] | None:
    """The size of a statement over the same groups, where it was found before; no epsilon and no data matter to it."""
    before, size = _sizes.get(statement, ((), None))
    return size if len(before) == len(keys) and all(map(is_, before, keys)) else None


def _table(release: PlannedRelease, ends: Mapping[int, Interval]) -> pa.Table:
    import pyarrow as pa

    data: dict[str, pa.Array] = {CELL: arrow.column(np.arange(release.cells)), **ks.table(release.keys)}
    for index, (low, high) in ends.items():
        data.update(zip(ends_of(aggregate_name(index)), map(arrow.column, (low, high)), strict=True))
    return pa.table(data)


def _own(used: set[tuple[str, str]], name: str) -> int:
    return max(1, sum(table == name for table, _ in used))


def _most(used: set[tuple[str, str]]) -> int:
    return max([sum(table == name for table, _ in used) for name, _ in used], default=1)
