"""The releases of a plan that are measured together: by ranges of their keys, or as tables of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.plan.plan import JointWorkload, PlannedRelease
from discreet.sql.plan.strategies import Chosen
from discreet.sql.plan.workloads.differing import ReleasesApart
from discreet.sql.plan.workloads.ranges import ranges_of
from discreet.sql.plan.workloads.together import groups_of, together


def measured_together(
    unplanned: Sequence[UnplannedRelease],
    chosen: Sequence[Chosen],
    weights: Sequence[Sequence[Fraction]],
    shares: Sequence[tuple[Fraction, ...]],
    releases: list[PlannedRelease],
    build: Callable[[UnplannedRelease, int, tuple[Fraction, ...]], PlannedRelease],
    ranges: bool,
) -> Iterator[JointWorkload]:
    """The workloads of several releases.

    Args:
        unplanned: the releases, before their measures are chosen.
        chosen: how each is measured.
        weights: of the sets of alternatives of each.
        shares: their epsilon.
        releases: as each would be measured by itself; those of a workload become tables that are estimated.
        build: plans a release; its number says which measures it has.
        ranges: whether those that differ in conditions on public keys are measured together.
    """
    apart = ReleasesApart(unplanned, chosen, releases, shares, build)
    for workload, tables in ranges_of(apart, weights) if ranges else ():
        yield workload
        _put(tables, releases)
    for group in groups_of(unplanned, chosen, weights):
        alone = [index for index in group if releases[index].estimated is None]
        joined = together(alone, unplanned, releases, shares, build) if len(alone) > 1 else None
        if joined is not None:
            yield joined[0]
            _put(joined[1], releases)


def _put(tables: dict[int, PlannedRelease], releases: list[PlannedRelease]) -> None:
    for index, table in tables.items():
        releases[index] = table
