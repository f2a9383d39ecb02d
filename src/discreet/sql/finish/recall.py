"""Answers from earlier ones: a question whose groups are sums of groups released before.

The rows must be the same: the same relation, but for conditions that the keys of the earlier release decide, the same
unit and caps, and the same measure. Its keys, and those conditions, must follow from the keys of the earlier release;
and a row that the question counts must be in one of the groups of the earlier release.

Privacy: reads noisy integers only, so it is post-processing (Dwork and Roth 2014, proposition 2.1). Which of them are
used follows from the text, the policy and the plans of earlier questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.algebra.keys import Key
from discreet.sql.expressions.expression import Expression
from discreet.sql.finish.estimates import EarlierRelease, Estimate, Sums, better
from discreet.sql.finish.window_sums import sums_of, windowed
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.lower.sequence import given_to
from discreet.sql.lower.workloads import tables_of
from discreet.sql.measures.measure import Moments
from discreet.sql.plan.plan import JointWorkload, PlannedRelease, QueryPlan
from discreet.sql.plan.recalled import Recalled, variance
from discreet.sql.plan.workloads.places import every_row, places
from discreet.sql.syntax.once import once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

MOST_RECALLED_GROUPS = 1 << 16
"""The most groups of a question, and of an earlier release, that are looked at."""
MOST_SOURCES, MOST_TABLES = 16, 4
"""The most earlier releases that a number is a sum of, the most exact ones, and how many of these are looked into."""
MIXING = (
    exp.Window,
    exp.AggFunc,
    exp.Join,
    exp.Subquery,
    exp.CTE,
    exp.Limit,
    exp.Having,
    exp.Qualify,
    exp.Distinct,
)
"""The parts of a statement that read several groups at once."""
FINE_BITS, MOST_BITS = 10, 24
"""Integers that are no counts are rounded to 2^-10 of their noise, and to no more than 24 binary places."""


def sources_of(number: int, plan: QueryPlan, noisy: Sequence[NoisyIntegers]) -> list[EarlierRelease]:
    """The releases of an earlier question that later ones may be made of."""
    # A row that is in no group of the finest table is in none of the others either.
    partly = {
        marginal.name
        for workload in plan.workloads
        if workload.pieces is not None or (workload.closed and not all(map(every_row, workload.finest.keys)))
        for keys, marginal in workload.marginals
        if workload.pieces is not None or len(keys) < len(workload.sizes)
    }
    series = {name for workload in plan.workloads if _smooth(workload) for name in workload.tables}
    tables = tables_of(plan, noisy) if series else []
    return [
        EarlierRelease(number, integers)
        for integers in (*noisy, *(table for table in tables if table.plan.name in series))
        if integers.plan.discovery is None
        and integers.plan.times == 1  # no group is a window of several
        and _summable(integers.plan)
        and integers.plan.name not in partly
        and not given_to(integers.plan)
        and integers.plan.cells <= MOST_RECALLED_GROUPS
    ]


def _smooth(workload: JointWorkload) -> bool:
    """Whether its table is estimated from windows with Laplace noise."""
    return workload.series is not None and not workload.series.gaussian


def _summable(release: PlannedRelease) -> bool:
    """Whether its noise is Laplace noise, and its rows are the same for all keys: those in a group are not dropped."""
    return not any(release.rhos) and not any(part.drops_in_groups for part in release.parts)


def recallable(plan: QueryPlan) -> bool:
    """Whether a question is of a kind that may be made of earlier answers: of one table, of known groups."""
    if len(plan.releases) != 1 or plan.workloads or plan.cut_off:
        return False
    (release,) = plan.releases
    return (
        release.discovery is None
        and _summable(release)
        and not given_to(release)
        and 0 < release.cells <= MOST_RECALLED_GROUPS
        and all(type(measure) is Moments and not measure.distinct for measure in release.measures)
    )


@once
def mixes(post: exp.Query) -> bool:
    """Whether a statement puts several groups together, or chooses among them."""
    return not isinstance(post, exp.Select) or post.find(*MIXING) is not None


@dataclass(eq=False)
class Recall:
    """The releases of earlier answers, and the places of their groups in one question, for any epsilon.

    Attributes:
        sources: the releases of earlier questions.
        between: which of them are sums of others, measure by measure, as far as that was looked at.
    """

    sources: Sequence[EarlierRelease]
    between: dict[tuple[EarlierRelease, int, EarlierRelease], Sums | None] = field(default_factory=dict)
    _places: dict[tuple[int, int], tuple[Integers, int] | None] = field(default_factory=dict)
    _found: dict[tuple[object, ...], tuple[Estimate, ...]] = field(default_factory=dict)

    def known(self, release: PlannedRelease, mixing: bool = False) -> tuple[tuple[Estimate, ...], ...]:
        """For each measure of a release the independent ways in which it follows from released integers.

        Args:
            release: of the question.
            mixing: whether its groups are put together above, as `mixes` says.
        """
        out = []
        used: frozenset[tuple[EarlierRelease, int]] = frozenset()
        for measure in release.measures:
            found = []
            for index, source in enumerate(self.sources):
                own = _number_of(measure, release, source.noisy.plan)
                if own is None or (source, own) in used:
                    continue  # measures of one question have independent noise
                if mixing and release.cells > 1 and windowed(source):
                    continue  # the groups that windows give have noise in common, which no law of a group tells
                placed = self._placed(index, release, measure.part, own)
                sums = None if placed is None else sums_of(source, own, *placed)
                found += [] if sums is None else [sums]
            found.sort(key=lambda sums: variance([sums.law]))
            ways = self._best(found[:MOST_SOURCES], release.cells, used)
            used = used.union(*(way.used for way in ways))
            out.append(ways)
        return tuple(out)

    def lacking(self, release: PlannedRelease) -> tuple[int, tuple[Key, ...]] | None:
        """The number of an earlier question that would make a release, but for rows that are in none of its groups.

        Returns:
            The latest such question, with the keys whose values such rows lack; None where there is none.
        """
        for source in reversed(self.sources):
            before = source.noisy.plan
            every = frozenset(key.expression for key in before.keys)
            for measure in release.measures:
                own = _number_of(measure, release, before)
                if own is None or windowed(source):
                    continue
                rows = release.parts[measure.part], before.parts[before.measures[own].part]

                def fits(given: frozenset[Expression], rows: Any = rows, before: Any = before) -> bool:
                    return places(release, rows[0], before, rows[1], given) is not None

                if fits(every) and not fits(frozenset()):
                    keys = tuple(key for key in before.keys if not fits(every - {key.expression}))
                    return source.number, keys
        return None

    def _best(
        self, ways: Sequence[Sums], groups: int, used: frozenset[tuple[EarlierRelease, int]]
    ) -> tuple[Estimate, ...]:
        """The same ways, or a better one from the cells of one of these tables and from sums of its cells.

        Tables that were estimated from windows are ways by themselves.
        """
        smooth = tuple(way for way in ways if windowed(way.source))
        ways = [way for way in ways if not windowed(way.source)]
        key = (tuple((way.source, way.measure, way.place.tobytes()) for way in ways), groups, used)
        if key not in self._found:
            tables = []
            for table in ways[:MOST_TABLES]:
                free = [
                    other
                    for other in self.sources
                    if not windowed(other) and not any(other is source for source, _ in used)
                ]
                cells = tuple(
                    filter(None, (self._sums(table.source, table.measure, other) for other in free))
                )
                rest = [other for other in free if not any(other is cell.source for cell in cells)]
                sums = tuple(filter(None, (self._above(table, other) for other in rest)))
                tables.append((table, cells, sums))
            self._found[key] = better(ways, tables, groups) if ways else ()
        return (*self._found[key], *smooth)

    def _sums(self, table: EarlierRelease, measure: int, source: EarlierRelease) -> Sums | None:
        """The cells of a table as sums of those of another one; None where they are not."""
        key = (table, measure, source)
        if key not in self.between:
            own, before = table.noisy.plan, source.noisy.plan
            index = _number_of(own.measures[measure], own, before)
            placed = None
            if index is not None and type(own.measures[measure]) is Moments:
                parts = own.parts[own.measures[measure].part], before.parts[before.measures[index].part]
                placed = places(own, parts[0], before, parts[1])
            self.between[key] = None if placed is None or index is None else Sums(source, index, *placed)
        return self.between[key]

    def _above(self, table: Sums, source: EarlierRelease) -> Sums | None:
        """A release whose groups are sums of the cells of a table, with the group that each cell is in."""
        own = table.source.noisy.plan
        index = _number_of(own.measures[table.measure], own, source.noisy.plan)
        found = None if index is None else self._sums(source, index, table.source)
        if index is None or found is None or found.measure != table.measure:
            return None
        return Sums(source, index, found.place, 1)

    def _placed(
        self, index: int, release: PlannedRelease, part: int, own: int
    ) -> tuple[Integers, int] | None:
        if (index, part) not in self._places:
            source = self.sources[index].noisy.plan
            self._places[index, part] = places(
                release, release.parts[part], source, source.parts[source.measures[own].part]
            )
        return self._places[index, part]


def _number_of(measure: Any, release: PlannedRelease, source: PlannedRelease) -> int | None:
    """The number of the same measure of an earlier release, over the same rows as far as the caps go."""
    part = release.parts[measure.part]
    for index, other in enumerate(source.measures):
        if type(other) is not Moments:
            continue
        there = other if other.part == measure.part else replace(other, part=measure.part)
        if there != measure:
            continue
        before = source.parts[other.part]
        same = (before.cap, before.rows.per_unit, before.rows.max_rows, before.rows.fixed)
        if same != (part.cap, part.rows.per_unit, part.rows.max_rows, part.rows.fixed):
            continue
        if not part.rows.fixed and _read_of(release, measure.part) != _read_of(source, other.part):
            continue  # of the rows of a unit others may be kept
        return index
    return None


def _read_of(release: PlannedRelease, part: int) -> list[Expression]:
    """The expressions that decide which rows of a unit are kept."""
    own = [argument for m in release.measures if m.part == part for argument in m.arguments]
    return [*release.parts[part].keys, *own]


def recalled(
    release: PlannedRelease,
    known: Sequence[Sequence[Estimate]],
    fresh: NoisyIntegers | None = None,
    more: bool = False,
) -> NoisyIntegers | PlannedRelease:
    """A release made of earlier ones, and of one more measurement of itself where that is there.

    Args:
        release: the plan of that measurement.
        known: by measure, the independent ways in which it follows from released integers.
        fresh: the measurement; None where there is none, or not yet.
        more: whether it is still to come: then the plan is returned, with the law that its noise will have.
    """
    laws = []
    for index, ways in enumerate(known):
        law = [sums.law for sums in ways]
        if fresh is not None or more:
            law.append(((float(release.scale(index)), 1),))
        laws.append(tuple(law))
    found = Recalled(tuple(laws))
    plan = replace(release, recalled=found)
    if more:
        return plan
    out = np.zeros((release.cells, sum(m.entries for m in release.measures)), np.int64, order="F")
    places = []
    for index, (ways, part) in enumerate(zip(known, release.entries, strict=True)):
        values = [sums.entries(release.cells) for sums in ways]
        if fresh is not None:
            values.append(fresh.entries[:, part])
        alone = len(values) == 1 and values[0].dtype == np.int64
        bits = 0 if alone else _bits(release.measures[index], found.variances[index])
        places.append(bits)
        if alone:
            out[:, part] = values[0]
        else:
            mean = sum(weight * value for weight, value in zip(found.weights[index], values, strict=True))
            out[:, part] = np.rint(mean * 2.0**bits).astype(np.int64)
    return NoisyIntegers(plan, out, places=tuple(places) if any(places) else ())


def _bits(measure: Any, own: float) -> int:
    """How many binary places a mean is kept to; a count is a whole number, and its interval reckons with that."""
    if measure.grid is None:
        return 0
    return max(0, min(MOST_BITS, FINE_BITS - int(np.floor(np.log2(np.sqrt(own))))))
