"""Runs a release: exact integers from the engine, then noise on all of them, by the mechanisms of its plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from discreet import arrow
from discreet.engines.engine import NO_TABLES, Engine
from discreet.records import dataclass
from discreet.release.draw import Draw
from discreet.release.noisy_schema import CELL, NoisySchema, aggregate_number
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.released import filled
from discreet.sql.expressions.dialect import SATURATE
from discreet.sql.lower.compile import adds_up, compile_part
from discreet.sql.lower.contribution_bounding import Units
from discreet.sql.lower.groups.group_numbers import word_name, words
from discreet.sql.lower.uses import near_leaves_of, noise_count, use_of
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.measures.measure import columns
from discreet.sql.measures.quantile_tree import QuantileTree
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.plan import Aggregate, PlannedRelease

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.mechanisms.ranks.sparse_counts import SparseCounts
    from discreet.sql.measures.near_leaves import NearLeaves

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

GroupSelection: TypeAlias = "slice | Integers"
"""Which groups: all of them, some that stand together, or their numbers in any order."""
EVERY: Final = slice(None)
LARGEST = 2.0**62
BLOCK = 1 << 16
"""How many groups are worked on at a time: the arrays in the making fit the cache, however many there are."""


def blocks(
    groups: GroupSelection, cells: int, size: int | None = None
) -> Iterator[tuple[slice, GroupSelection]]:
    """Some groups a block at a time: where a block stands among them, and which groups it has.

    Example:
        >>> list(blocks(slice(5), 9, 3))
        [(slice(0, 3, None), slice(0, 3, None)), (slice(3, 5, None), slice(3, 5, None))]
    """
    first, last, _ = groups.indices(cells) if isinstance(groups, slice) else (0, len(groups), 1)
    size = size or BLOCK
    for start in range(first, last, size):
        here = slice(start, min(start + size, last))
        yield (
            slice(here.start - first, here.stop - first),
            here if isinstance(groups, slice) else groups[here],
        )


@dataclass(frozen=True)
class NoisyIntegers:
    """The noisy integers of a release, or of some of its groups. Everything made of them is post-processing.

    Attributes:
        plan: of the release.
        entries: int64 array (groups, entries of all measures).
        first: the number of the first of these groups; group numbers here count from it.
        places: of each measure, how many binary places its entries have; none where they are whole.
    """

    plan: PlannedRelease
    entries: Integers
    first: int = 0
    places: tuple[int, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether these are all groups of the release."""
        return len(self.entries) == self.plan.cells

    def of(self, aggregate: Aggregate, groups: GroupSelection = EVERY) -> Floats:
        """The entries of the measure that an aggregate is estimated from, in some groups.

        Returns:
            float64 array (groups, entries).
        """
        own = self.plan.entries[aggregate.measure]
        return self._in_rows(self.entries[groups, own].astype(np.float64), aggregate.measure)

    def all(self, groups: GroupSelection = EVERY) -> Floats:
        """The entries of all measures in some groups: float64 array (groups, entries)."""
        out = self.entries[groups].astype(np.float64)
        for measure, own in enumerate(self.plan.entries):
            out[:, own] = self._in_rows(out[:, own], measure)
        return out

    def _in_rows(self, entries: Floats, measure: int) -> Floats:
        return entries * 2.0 ** -self.places[measure] if any(self.places) else entries

    def counted(self, aggregate: Aggregate) -> bool:
        """Whether an aggregate is exactly its one noisy integer."""
        return aggregate.whole and self.plan.measures[aggregate.measure].plain(aggregate.quantity)

    def values(self, aggregate: Aggregate, groups: GroupSelection = EVERY) -> Floats:
        """The estimate of an aggregate in some groups: float64 array (groups,), not to be changed."""
        every = isinstance(groups, slice) and groups in (EVERY, slice(0, len(self.entries)))
        if not every or len(self.entries) > BLOCK:
            return self._values(aggregate, groups)
        known = self._known.get(id(aggregate))
        if known is None:
            known = self._known[id(aggregate)] = aggregate, self._values(aggregate, groups)
        return known[1]

    @cached_property
    def _known(self) -> dict[int, tuple[Aggregate, Floats]]:
        """Estimates in all groups, which are shown and have an interval, by the number of an aggregate held here."""
        return {}

    def _values(self, aggregate: Aggregate, groups: GroupSelection) -> Floats:
        out = np.empty(len(self.entries[groups, :0]))
        for part, here in blocks(groups, len(self.entries)):
            out[part] = self._estimate(aggregate, here)
        return out

    def _estimate(self, aggregate: Aggregate, groups: GroupSelection) -> Floats:
        if self.counted(aggregate):
            return self.of(aggregate, groups)[:, 0]
        exact = self.plan.measures[aggregate.measure].estimate(aggregate.quantity, self.of(aggregate, groups))
        return np.rint(exact) if aggregate.whole else exact

    def table(self, names: Collection[str] | None = None) -> pa.Table:
        """The noisy table that post-processing reads: `__cell`, keys k0, k1 and so on, aggregates a0, a1 and so on.

        Args:
            names: the columns wanted; by default all of them.
        """
        import pyarrow as pa

        return pa.table(self.columns(names))

    def columns(self, names: Collection[str] | None = None) -> dict[str, pa.Array]:
        """The columns of that table, in its order."""
        schema = NoisySchema(len(self.plan.keys), len(self.plan.aggregates))
        keys = {name: index for index, name in enumerate(schema.key_names)}
        data: dict[str, pa.Array] = {}
        made = self.keys([index for name, index in keys.items() if names is None or name in names])
        for name in (
            schema.columns if names is None else [column for column in schema.columns if column in names]
        ):
            number = aggregate_number(name)
            if name == CELL:
                data[name] = arrow.column(np.arange(self.first, self.first + len(self.entries)))
            else:
                data[name] = made[name] if number is None else self.column(self.plan.aggregates[number])
        return data

    def keys(self, wanted: Collection[int], groups: GroupSelection = EVERY) -> dict[str, pa.Array]:
        """The columns of some keys in some groups, by the numbers of the keys."""
        if not isinstance(groups, slice) and 8 * len(groups) < len(self.entries):
            return ks.columns_of(self.plan.keys, groups + self.first, wanted)
        if self.whole:
            columns = ks.table(self.plan.keys, wanted)
        else:
            columns = ks.columns_of(
                self.plan.keys, np.arange(self.first, self.first + len(self.entries)), wanted
            )
        if isinstance(groups, slice):
            return columns
        return {name: arrow.taken(column, groups) for name, column in columns.items()}

    def column(self, aggregate: Aggregate) -> pa.Array:
        """The answer of an aggregate in every group. Its type depends on the question alone."""
        if self.counted(aggregate):
            place, most = self.plan.entries[aggregate.measure], int(LARGEST)
            counts = self.entries[:, place.start]
            inside = not len(counts) or (counts.min() >= -most and counts.max() <= most)
            return arrow.column(counts if inside else np.clip(counts, -most, most))
        values = self.values(aggregate)
        if not aggregate.whole:
            return arrow.column(values)
        # A number larger than any sum can be stays at the end.
        missing = np.isnan(values)
        whole = np.clip(np.where(missing, 0, values), -LARGEST, LARGEST).astype(np.int64)
        return arrow.column(whole, missing)


def exact_integers(
    release: PlannedRelease,
    engine: Engine,
    salt: int,
    known: Collection[int] = (),
    portable: bool = False,
    given: Mapping[str, pa.Table] = NO_TABLES,
) -> Integers:
    """The integers of a release before any noise. Never shown, logged or raised.

    Privacy: when one unit is added, removed or (with a unit factor of 2) replaced, the integers of measure i
    move by at most `release.sensitivity(measure i)` in L1; the modules of `sql.measures` have the arguments.

    Args:
        release: the plan; its keys are public or found.
        engine: runs it.
        salt: decides which rows of a unit are kept.
        known: the numbers of measures that are left at zero, because their integers are found elsewhere.
        portable: decide it in the same way on every engine.
        given: the tables of numbers that were released before, by name.

    Returns:
        int64 array (cells, entries of all measures), zero for a public group without rows. Of ranks, which are drawn
        from `exact_counts`, they are the rows by the remainder of their leaf, to be compared.

    Raises:
        EngineError: the engine failed.
    """
    # Column by column, the order in which they are filled, made noisy and read.
    out = np.zeros((release.cells, sum(m.entries for m in release.measures)), dtype=np.int64, order="F")
    places = columns(release.measures)
    for number in range(len(release.parts)):
        if not release.cells or all(
            index in known for index, m in enumerate(release.measures) if m.part == number
        ):
            continue
        for index, result in enumerate(_results(release, number, engine, salt, portable, given)):
            put(out, release, number, result, more=index > 0)
    for number in known:
        out[:, places[number]] = 0
    return out


def counted_cells(release: PlannedRelease, engine: Engine, salt: int) -> tuple[list[Integers], Integers]:
    """The numbers of the groups that have rows, and the rows of each, of a count. Never shown, logged or raised.

    For more groups than an array could hold, with a number for each of the `words` of the keys. A group comes once for
    each slice of the units. Nothing is shown of which groups there are: only sums over public groups of all of them may
    get noise.

    Privacy: as for `exact_integers`.
    """
    found = list(_results(release, 0, engine, salt))
    names = [word_name(index) for index in range(len(words(release.keys)))]
    *cells, rows = (
        np.concatenate([arrow.numbers(result.column(name)) for result in found]) for name in (*names, "m0")
    )
    return cells, rows


def exact_counts(
    release: PlannedRelease,
    measure: Ranks,
    engine: Engine,
    salt: int,
    given: Mapping[str, pa.Table] = NO_TABLES,
) -> SparseCounts:
    """The rows of each group and leaf, from which leaves are chosen by rank. Never shown, logged or raised.

    Where one group has many leaves, those far from the ranks are counted together; the engine is asked for them one by
    one when one of them is drawn, which hardly ever happens.

    Privacy: as for `exact_integers`; one row counts in one leaf.
    """
    near = near_leaves_of(release, measure.part)
    if near is not None and release.cells and slices_of(release, measure.part, engine) == 1:
        from discreet.mechanisms.ranks.sparse_counts import SparseCounts

        (result,) = _results(release, measure.part, engine, salt, given=given, near=near)
        leaf, count, width = (arrow.numbers(result.column(name)) for name in ("leaf", "m0", "wide"))
        rest = partial(_counts_by_leaf, release, measure, engine, salt, given)
        return SparseCounts.wide(measure.grid.levels, leaf, count, width, rest)
    return _counts_by_leaf(release, measure, engine, salt, given)


def _counts_by_leaf(
    release: PlannedRelease, measure: Ranks, engine: Engine, salt: int, given: Mapping[str, pa.Table]
) -> SparseCounts:
    """The rows of each group and leaf, none of them counted together."""
    from discreet.mechanisms.ranks.sparse_counts import SparseCounts

    found = (
        [_by_leaf(result) for result in _results(release, measure.part, engine, salt, given=given)]
        if release.cells
        else []
    )
    if len(found) == 1:
        return SparseCounts.of(release.cells, measure.grid.levels, *found.pop())
    columns_ = [np.concatenate(parts) for parts in zip(*found, strict=True)] or [np.zeros(0, np.int64)] * 3
    return SparseCounts.of(release.cells, measure.grid.levels, *columns_)


def _results(
    release: PlannedRelease,
    number: int,
    engine: Engine,
    salt: int,
    portable: bool = False,
    given: Mapping[str, pa.Table] = NO_TABLES,
    near: NearLeaves | None = None,
) -> Iterator[pa.Table]:
    """The integers of a part from the engine, for one slice of the units after the other."""
    slices = slices_of(release, number, engine)
    for index in range(slices):
        compiled = compile_part(
            release, number, engine.dialect, salt, portable, Units(index, slices), near, not portable
        )
        tables = filled(compiled.tables, release.parts[number].rows.relation, given)
        yield engine.integers(compiled.sql, tables)


def slices_of(release: PlannedRelease, number: int, engine: Engine) -> int:
    """In how many slices of the units a part is counted."""
    return getattr(engine, "slices", 1) if adds_up(release, number) else 1


def _by_leaf(result: pa.Table) -> tuple[Integers, Integers, Integers]:
    """Groups, leaves and counts."""
    cell, leaf, count = (arrow.numbers(result.column(name)) for name in ("cell", "leaf", "m0"))
    return cell, leaf, count


def put(out: Integers, release: PlannedRelease, number: int, result: pa.Table, more: bool) -> None:
    """Put the counts of the engine for a part in its place, or add its counts of one more slice of the units.

    Privacy: a unit is in one slice, whose integers it moves by as much as it would move those of all units; adding and
    saturating are 1-Lipschitz in each integer, so the sensitivity stands.
    """
    places = columns(release.measures)
    cell = arrow.numbers(result.column("cell"))
    for measure, place in zip(release.measures, places, strict=True):
        if measure.part == number and isinstance(measure, QuantileTree | Ranks):  # alone in its part
            out[:, place] += measure.from_leaves(release.cells, *_by_leaf(result))
            return
    own = [
        index
        for measure, place in zip(release.measures, places, strict=True)
        if measure.part == number
        for index in range(place.start, place.stop)
    ]
    for index, place_of_entry in enumerate(own):
        found = arrow.numbers(result.column(f"m{index}"))
        if more:
            # All are within 2^62, and with one less the sum of two does not wrap.
            before = np.minimum(out[cell, place_of_entry], SATURATE - 1)
            found = np.clip(before + found, -SATURATE, SATURATE)
        out[cell, place_of_entry] = found


def run_release(
    release: PlannedRelease, engine: Engine, salt: int, draw: Draw, given: Mapping[str, pa.Table] = NO_TABLES
) -> NoisyIntegers:
    """Compute the integers of a release, and have noise drawn on them.

    Privacy: that of the mechanisms which `uses.uses_of` names, composed. Measure i is released by
    `mechanisms.LaplaceVector` with scale sensitivity_i / epsilon_i, which is epsilon_i-DP, or chosen by rank
    (`mechanisms.ranks.quantiles_with_ends`) at epsilon_i: together epsilon-DP with epsilon = `release.epsilon`, the sum
    over sets of alternatives of the largest epsilon_i of each. Or by `mechanisms.GaussianVector`, whose loss has a
    delta that the plan states. Where groups must be found, that is a release before it, with a delta of its own; after
    it the found groups are public.

    Args:
        release: the plan; its keys are public or to be found.
        engine: runs it.
        salt: decides which rows of a unit are kept.
        draw: the noise of its uses, as `uses.uses_of` names them.
        given: the tables of numbers that were released before, by name.

    Raises:
        EngineError: the engine failed; the charge stays.
    """
    known, units = None, np.empty(0, np.int64)
    if release.discovery is not None:
        from discreet.sql.lower.discovery import discover

        known = release.discovery.measure
        release, units = discover(release, engine, salt, draw, given)
        for index in range(len(release.measures)):
            if index != known:
                draw.settle_size(use_of(release, index), noise_count(release, index))
    elsewhere = [
        index
        for index, measured in enumerate(release.measures)
        if index == known or isinstance(measured, Ranks)
    ]
    entries = exact_integers(release, engine, salt, elsewhere, given=given)
    for index, (measure, part) in enumerate(zip(release.measures, columns(release.measures), strict=True)):
        if index == known:
            entries[:, part] = units[:, np.newaxis]
            continue
        if isinstance(measure, AllRows):
            part = slice(part.start + measure.noiseless, part.stop)
        counts = exact_counts(release, measure, engine, salt, given) if isinstance(measure, Ranks) else None
        for here, _ in blocks(EVERY, release.cells):
            exact = entries[here, part] if counts is None else counts[here]
            entries[here, part] = draw(use_of(release, index), exact)
    return NoisyIntegers(release, entries)
