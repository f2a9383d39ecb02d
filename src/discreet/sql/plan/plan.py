"""Plans: the steps, the cost and the accuracy of a question, before any data is touched.

A release is here one noisy table: a statement has as many as it has scopes in which private rows turn into numbers. The
gate releases all of them as one, and knows them as one `ReleasePlan` (`release.plan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.relation import PerUnit, PrivateRows
from discreet.sql.expressions.expression import Column, Expression
from discreet.sql.measures.measure import Moments, columns
from discreet.sql.measures.moments import JointMoments
from discreet.sql.measures.quantile_tree import QuantileTree
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.shaping import NO_SHAPING, Shaping

if TYPE_CHECKING:
    from discreet.mechanisms import ThresholdedCounts
    from discreet.planning.marginals import Keys
    from discreet.sql.plan.people.by_class import ByClass
    from discreet.sql.plan.recalled import Recalled
    from discreet.sql.plan.workloads.estimated import Estimated
    from discreet.sql.plan.workloads.pieced import Parted, Pieced
    from discreet.sql.plan.workloads.series_law import SeriesLaw

AnyMeasure: TypeAlias = Moments | QuantileTree | Ranks | JointMoments
"""Integers per group, by how much one row can move them, and their estimates."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function of a query.

    Attributes:
        measure: the number of the measure that it is estimated from.
        quantity: as the table of aggregates names it (`functions.aggregates`).
        whole: whether the answer is an integer.
        sql: as the analyst wrote it.
        counts: whether it would be whole if its table were measured by itself.
    """

    measure: int
    quantity: str
    whole: bool
    sql: str
    counts: bool = False


@dataclass(frozen=True)
class MeasuredRows:
    """Private rows that some measures of a release are taken over.

    Attributes:
        rows: the private rows.
        keys: the expressions over them that tell the groups apart.
        cap: how many rows of one unit are counted; 1 when each row is one unit.
        per_group: how many of those may be in one group; None for all of them.
        bounded_by: of how many of the first keys the groups are made that `per_group` speaks of; None for all keys.
        among: the rows of which that many are counted, where they are more than these: of several releases together.
    """

    rows: PrivateRows
    keys: tuple[Expression, ...]
    cap: int
    per_group: int | None = None
    bounded_by: int | None = None
    among: PrivateRows | None = None

    @property
    def groups(self) -> tuple[Expression, ...]:
        """The keys of the groups in which rows of a unit are bounded."""
        return self.keys[: self.bounded_by]

    @property
    def once_in_a_group(self) -> bool:
        """Whether a unit has one row in each of its groups, as its rows were grouped by all that the keys read."""
        relation = self.rows.relation
        carried = {key.name for key in self.groups if isinstance(key, Column)}
        return isinstance(relation, PerUnit) and {name for name, _ in relation.keys} <= carried

    @property
    def drops_in_groups(self) -> bool:
        """Whether rows of a unit are dropped that are too many for their group."""
        return self.per_group is not None and not self.once_in_a_group

    @property
    def square(self) -> int:
        """The most that the squares of the numbers of rows that one unit has in each group add up to.

        That is where as many groups as can be are full.
        """
        full, rest = divmod(self.cap, most := min(self.per_group or self.cap, self.cap))
        return full * most**2 + rest**2


@dataclass(frozen=True)
class Discovery:
    """How the groups of a release are found whose keys are not public.

    Attributes:
        part: the rows that are counted, each unit at most `cap` times, and once in a group where a column names it;
            its keys are the unknown ones.
        share: the epsilon of the counts.
        delta: the probability that a group is shown which a single unit made.
        measure: the number of the measure whose integers are those counts, so that they are drawn once; None when
            nobody asked for them.
    """

    part: MeasuredRows
    share: Fraction
    delta: Fraction
    measure: int | None

    def mechanism(self, release: PlannedRelease) -> ThresholdedCounts:
        """The part that chooses the groups."""
        from discreet.mechanisms import ThresholdedCounts  # a whole room, which few questions need

        neighbours = "add_remove" if release.unit_factor == 1 else "replace_one"
        # A unit that is a column is counted once in each of its groups. Where each row is one unit, nothing tells the
        # copies of a row that UNION ALL makes from each other, and all of them may lie in one group.
        together = 1 if self.part.rows.per_unit else self.part.cap
        return ThresholdedCounts(self.share, self.delta, self.part.cap, neighbours, together)


@dataclass(frozen=True)
class PlannedRelease:
    """The plan of one release scope, once its measures are chosen: the only place where private rows turn into numbers.

    Attributes:
        name: of the noisy table that post-processing reads.
        parts: the private rows; most releases have one part.
        keys: the public values of the groups, the same for all parts.
        measures: the integers that are summed per group, each over one part.
        shares: the epsilon of each measure. Those of one set of alternatives count once, as the largest of them, in the
            epsilon of the release. Of a table that is estimated, those of its whole workload.
        aggregates: the quantities estimated from the measures; column a0, a1, … of the noisy table.
        unit_factor: 1 when neighbours add or remove a unit, 2 when they replace one.
        discovery: how its groups are found; None when all keys are public.
        sets: for each measure the number of its set of alternatives, of which one row moves at most one; empty where
            each measure is alone.
        estimated: how it is estimated from the marginals of a workload, or from sums of its ordered groups; None where
            its integers get noise themselves.
        of_several: whether it has the noise of several groups, though it may have but one, as in a workload.
        rhos: for each measure the zCDP of its Gaussian noise, 0 where it has Laplace noise; empty where all have. The
            shares of the measures with Gaussian noise are spent together, with the delta of the plan.
        recalled: how it is made of integers that were released before; None where it is not.
        times: of weighted sums of groups, how much the sizes of the weights of one group add up to.
        length: of weighted sums of groups, how much the squares of the weights of one group add up to.
        people: how people who allow different epsilons are counted by class; None where all allow the same.
    """

    name: str
    parts: tuple[MeasuredRows, ...]
    keys: tuple[ks.Key, ...]
    measures: tuple[AnyMeasure, ...]
    shares: tuple[Fraction, ...]
    aggregates: tuple[Aggregate, ...]
    unit_factor: int
    discovery: Discovery | None = None
    sets: tuple[int, ...] = ()
    estimated: Estimated | SeriesLaw | Pieced | None = None
    of_several: bool = False
    rhos: tuple[Fraction, ...] = ()
    recalled: Recalled | None = None
    times: int = 1
    length: int = 1
    people: ByClass | None = None

    @cached_property
    def memo(self) -> dict[str, Any]:
        """Things that others have worked out of this release; a release that is made of it begins anew."""
        return {}

    @cached_property
    def entries(self) -> tuple[slice, ...]:
        """Where the entries of each measure stand in the row of integers of a group."""
        return tuple(columns(self.measures))

    @property
    def law(self) -> Estimated | SeriesLaw | Pieced | Recalled | None:
        """The law of the noise of an integer, where it is another one than that of a release by itself."""
        if self.people is not None:
            return self.people.law
        return self.recalled if self.recalled is not None else self.estimated

    @property
    def drawn_here(self) -> bool:
        """Whether its integers get noise themselves, for all people at once or for each class of them."""
        return self.law is None or self.people is not None

    @cached_property
    def cells(self) -> int:
        """The number of groups."""
        return ks.cells(self.keys)

    @cached_property
    def epsilon(self) -> Fraction:
        """The privacy loss: sets of alternatives compose by addition, and each costs its largest share."""
        own = self.discovery
        most: dict[int, Fraction] = {}
        for index, share in zip(self.sets or range(len(self.shares)), self.shares, strict=True):
            most[index] = max(most.get(index, share), share)
        return sum(most.values(), own.share if own is not None and own.measure is None else Fraction(0))

    def beside(self, measure: int) -> tuple[int, ...]:
        """The numbers of the measures of one set of alternatives, this one among them."""
        sets = self.sets or tuple(range(len(self.measures)))
        return tuple(index for index, alternatives in enumerate(sets) if alternatives == sets[measure])

    @property
    def delta(self) -> Fraction:
        """The delta of finding the groups; 0 when all keys are public."""
        return Fraction(0) if self.discovery is None else self.discovery.delta

    def sensitivity(self, measure: AnyMeasure) -> int:
        """By how much one neighbour step moves the integers of a measure over all groups, in L1.

        A unit that is replaced takes its rows from one group, or one of several alternatives, to another; where there
        is but one, its rows only take the places of others, as `measures.measure` says.
        """
        cap = self.parts[measure.part].cap * self.times
        if self.unit_factor == 1:
            return cap * measure.row_sensitivity
        index = next(index for index, own in enumerate(self.measures) if own is measure)
        alone = self.one_group and len(self.beside(index)) == 1
        return cap * (measure.replacing_sensitivity if alone else 2 * measure.row_sensitivity)

    def square(self, measure: AnyMeasure) -> int:
        """By how much one neighbour step moves the integers of a measure over all groups, in L2, squared.

        The n rows of a unit in a group move its integers by at most n times as much as one row, in L1 and so in L2, and
        different groups hold different integers. A unit that is replaced takes rows away and adds as many: vectors
        without negative integers are then no further apart than if they were at right angles, others twice as far;
        so are counts of values with so many rows, as a row that is taken away may add to them.
        """
        part = self.parts[measure.part]
        # Different weighted sums hold the same groups, but for the keys by which rows are bounded.
        square = part.square if self.times == 1 or part.bounded_by is not None else part.cap**2
        moved = square * self.length * measure.row_sensitivity**2
        if self.unit_factor > 1:
            sized = isinstance(measure, Moments) and measure.sizes is not None
            moved *= 4 if measure.degree < 0 or sized or self.times > 1 else 2
        return min(moved, self.sensitivity(measure) ** 2)

    def gaussian(self, measure: int) -> Fraction | None:
        """The parameter of the discrete Gaussian noise on each integer of a measure; None where it is Laplace noise."""
        if not self.rhos or not self.rhos[measure]:
            return None
        return Fraction(self.square(self.measures[measure])) / (2 * self.rhos[measure])

    @property
    def one_group(self) -> bool:
        """Whether all rows that count are in one group, for all data."""
        return self.discovery is None and not self.keys and not self.of_several

    def scale(self, measure: int) -> Fraction:
        """The scale of the Laplace noise on each integer of a measure; of ranks, the rows of a unit over epsilon."""
        return Fraction(self.sensitivity(self.measures[measure])) / self.shares[measure]

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """Those of all measures with Laplace noise, or of ranks."""
        own = tuple(self.scale(index) for index in range(len(self.measures)) if self.gaussian(index) is None)
        if self.people is None:
            return own
        return tuple(scale / share for scale in own for share in self.people.classes.shares)


@dataclass(frozen=True)
class CutOff:
    """A measurement of how much a cap or the bounds of a column cut off, beside a question.

    Attributes:
        kind: `rows`, `groups` of units that are counted once in each, or `values`.
        name: of the cap with its value, or of the column.
        plan: the release that measures it.
        counted: how many rows of a unit are looked at, at most.
    """

    kind: str
    name: str
    plan: PlannedRelease
    counted: int


@dataclass(frozen=True)
class JointWorkload:
    """Releases of the same rows by different keys, measured together.

    Attributes:
        finest: by all of their keys; the engine counts its integers, which are nowhere shown and get no noise.
        sizes: the number of values of each of its axes, as `workloads.axes` says.
        marginals: measured ones: sums of these integers over some keys, by the numbers of the axes that are left; of
            a series the one release of all its windows, and of pieces likewise.
        tables: the names of the releases that are estimated from the marginals.
        closed: whether a row is in all tables or in none; else its place may be missing in some of them.
        series: how its one table is made of sums over windows of ordered groups; None where it is not.
        pieces: which values make up the pieces that its tables are sums of; None where they are not.
    """

    finest: PlannedRelease
    sizes: tuple[int, ...]
    marginals: tuple[tuple[Keys, PlannedRelease], ...]
    tables: tuple[str, ...]
    closed: bool
    series: SeriesLaw | None = None
    pieces: Parted | None = None


@dataclass(frozen=True)
class QueryPlan:
    """A whole question.

    Attributes:
        text: as the analyst wrote it.
        statement: the same in one canonical spelling, so that the same question is recognised.
        releases: the noisy tables, in the order in which they are made.
        post: the SQL that runs over the noisy tables.
        workloads: those of them that are estimated together.
        cut_off: the measurements of the rows and values that caps and bounds cut off.
        gaussian: the delta of its Gaussian noise; 0 where it has none.
        shaping: how its numbers are shown.
    """

    text: str
    statement: str
    releases: tuple[PlannedRelease, ...]
    post: exp.Query
    workloads: tuple[JointWorkload, ...] = ()
    cut_off: tuple[CutOff, ...] = ()
    gaussian: Fraction = Fraction(0)
    shaping: Shaping = NO_SHAPING

    def with_releases(self, releases: Sequence[PlannedRelease]) -> QueryPlan:
        """The plan with other releases in the places of its own; itself, with all it knows, where they are these."""
        if list(map(id, releases)) == list(map(id, self.releases)):
            return self
        return replace(self, releases=tuple(releases))

    def shaped(self, how: Shaping) -> QueryPlan:
        """The same plan with its numbers shown in another shape: counts are whole for all tables then, or as here."""
        if not how:
            return self
        tables = self.releases
        if how.integers:
            tables = tuple(
                replace(t, aggregates=tuple(replace(a, whole=a.whole or a.counts) for a in t.aggregates))
                for t in tables
            )
        return replace(self, releases=tables, shaping=how)

    @cached_property
    def memo(self) -> dict[str, Any]:
        """Things that others have worked out of this plan."""
        return {}

    @property
    def whole(self) -> QueryPlan:
        """The same with all releases that are charged: of the question, and of how much is cut off."""
        return self._with_cut_off if self.cut_off else self  # a plan that kept itself would stay as garbage

    @cached_property
    def _with_cut_off(self) -> QueryPlan:
        return replace(self, releases=(*self.releases, *(cut.plan for cut in self.cut_off)), cut_off=())

    @cached_property
    def measured(self) -> tuple[PlannedRelease, ...]:
        """The releases whose integers get noise: the marginals of a workload stand in the place of its tables."""
        alone = tuple(release for release in self.releases if release.drawn_here)
        return alone + tuple(marginal for workload in self.workloads for _, marginal in workload.marginals)

    @cached_property
    def counted(self) -> tuple[PlannedRelease, ...]:
        """The releases whose integers the engine counts."""
        alone = tuple(release for release in self.releases if release.drawn_here)
        return alone + tuple(workload.finest for workload in self.workloads)

    @cached_property
    def epsilon(self) -> Fraction:
        """The privacy loss of the whole statement: a function of its text and the policy."""
        return sum((release.epsilon for release in self.whole.measured), Fraction(0))

    @cached_property
    def delta(self) -> Fraction:
        """The delta of the whole statement; 0 unless groups must be found, or noise is Gaussian."""
        return sum((release.delta for release in self.releases), self.gaussian)
