"""Contribution bounding of a question: how many rows of a unit, and groups, its measures are taken over."""

from __future__ import annotations

from discreet.records import dataclass
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.keys import planned_cells
from discreet.sql.algebra.lineage import read
from discreet.sql.algebra.multiplicity import most_groups
from discreet.sql.algebra.relation import PrivateRows
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.expressions.expression import Column
from discreet.sql.functions import must
from discreet.sql.plan.measure_choice import MeasureChoice
from discreet.sql.plan.plan import MeasuredRows
from discreet.sql.plan.reading import Reading, with_limits
from discreet.sql.plan.unknown_groups import FINDING


@dataclass(frozen=True)
class Limits:
    """How much of one unit counts in this question; None leaves it to the policy.

    Attributes:
        max_rows: rows of a unit that are kept.
        max_groups: groups of a unit in which it is counted by COUNT(DISTINCT unit); with a limit of rows in one group,
            times that as many rows are kept, if that is less.
        max_rows_per_group: rows of a unit that are kept in one group.
    """

    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None


NO_LIMITS = Limits()


def measured_rows(release: UnplannedRelease, choice: MeasureChoice, limits: Limits) -> MeasuredRows:
    """The rows that a measure is taken over, and how many of one unit count."""
    rows = release.rows
    finding = choice.counts == FINDING.counts
    keys = tuple(key.expression for key in release.keys if not (finding and key.public))
    cap = rows.max_rows
    if limits.max_rows is not None and rows.per_unit and not rows.fixed:
        cap = limits.max_rows
    if not (choice.counts == "units" or (finding and rows.per_unit)):
        within = _per_group(rows, limits) if keys and rows.per_unit else None
        if within is not None and limits.max_groups is not None:
            cap = min(cap, within * limits.max_groups)
        if within is not None and not release.unknown:
            cap = min(cap, within * planned_cells(release.keys))
        return MeasuredRows(rows, keys, cap, within if within is not None and within < cap else None)
    # Each unit once in each of its groups; it has no more groups than rows.
    some = choice.argument
    where = None if some is None else must("not", must("is_null", some))
    items = tuple((key_name(index), key) for index, key in enumerate(keys))
    once = rel.PerUnit(rel.Select(rows.relation, items, where) if items or where else rows.relation,
                       tuple((name, Column(name, key.type, key.span)) for name, key in items), ())  # fmt: skip
    columns = {name: Column(name, key.type, key.span) for name, key in items}
    groups = 1 if not keys else limits.max_groups or (1 if rows.fixed and rows.max_rows == 1 else cap)
    if limits.max_groups is None and limits.max_rows is None:
        # A join multiplies rows, not groups.
        groups = min(groups, most_groups(rows.relation, read(keys)) or groups)
    if not finding and not release.unknown:
        groups = min(groups, planned_cells(release.keys))  # nobody is in more groups than there are
    counted = PrivateRows(once, columns, tuple(columns), True, groups, frozenset(), not keys)
    return MeasuredRows(counted, tuple(columns.values()), groups, 1)


def with_row_limits(reading: Reading, limits: Limits) -> Reading:
    """A reading whose releases know how many rows of a unit count in one group."""

    def per_group(release: UnplannedRelease) -> int | None:
        rows = release.rows
        cap = rows.max_rows if limits.max_rows is None else limits.max_rows
        return _per_group(rows, limits) if release.keys and (limits.max_groups or cap) <= cap else None

    return with_limits(reading, per_group)


def _per_group(rows: PrivateRows, limits: Limits) -> int | None:
    """How many rows of a unit are kept in one group; None where nobody says."""
    if limits.max_rows_per_group is not None:
        return limits.max_rows_per_group
    declared = [scan.table.per_group for scan in rel.scans(rows.relation)]
    return None if None in declared else max(cap for cap in declared if cap is not None)
