"""Text and policy -> plan. Nothing here touches data, so nothing here can leak it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import InvalidParameter
from discreet.release.noisy_schema import aggregate_name
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.keys import planned_cells
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.measures.all_rows import counts_every_row, of_all_rows
from discreet.sql.plan.generic.generic_plan import Planned, Released, planned_once
from discreet.sql.plan.limits import NO_LIMITS, Limits, measured_rows, with_row_limits
from discreet.sql.plan.measure_choice import BY_LEAF
from discreet.sql.plan.plan import (
    AnyMeasure,
    Discovery,
    JointWorkload,
    MeasuredRows,
    PlannedRelease,
    QueryPlan,
)
from discreet.sql.plan.reading import Reading, Readings, ReadingWay, within_conditions
from discreet.sql.plan.shares import shares_of
from discreet.sql.plan.strategies import Chosen, aggregate, measure
from discreet.sql.plan.unknown_groups import FINDING, answering
from discreet.sql.syntax.nodes import shown_as
from discreet.sql.syntax.once import once
from discreet.sql.syntax.post_processing.merged_subqueries import merged

Emphasis: TypeAlias = tuple[tuple[str, Fraction], ...]
"""By output column, how many times the share of epsilon that it would have otherwise."""


def plan(
    text: str,
    catalog: Catalog,
    epsilon: Fraction,
    limits: Limits = NO_LIMITS,
    delta: Fraction = Fraction(0),
    emphasis: Emphasis = (),
    known: Readings | None = None,
    intervals: bool = True,
    gaussian: bool = False,
    series: bool = True,
    narrowed: bool = True,
) -> QueryPlan:
    """Plan a question.

    Args:
        text: one SELECT in DuckDB's dialect.
        catalog: the tables and columns that it may refer to.
        epsilon: for the whole statement, however many releases and aggregates it has; `shares` says how they share
            it.
        limits: how much of one unit counts.
        delta: for the whole statement, to find groups whose keys are not public, or for Gaussian noise; 0 refuses
            groups that must be found.
        emphasis: which columns get more of epsilon, or less, than they would otherwise.
        known: of earlier statements with the same catalog, to be looked up and added to.
        intervals: whether quantiles chosen by rank spend a part of epsilon on theirs.
        gaussian: whether the delta may buy Gaussian noise, too, where all keys are public.
        series: whether groups whose running totals are asked for may be measured by sums of them.
        narrowed: whether columns are clamped to the bounds that conditions set; without, the measures are those of
            the same question without conditions, whose answers tell of them.

    Raises:
        QueryRefused: it cannot be answered with a guarantee.
        InvalidParameter: a column that is emphasised is not in the answer, or has no noise.
    """
    readings = Readings() if known is None else known
    canonical, reading = readings.reading(text, catalog, ReadingWay(delta > 0, intervals))

    def released(plain: Reading) -> Planned:
        reading = with_row_limits(plain, limits)
        weights = [list(of_sets) for of_sets in reading.weights]
        sets = [[selection.sets[index] for index in selection.answered_by] for selection in reading.chosen]
        _emphasise(weights, emphasis, reading.releases, sets, reading.post)
        own = _released(
            reading.releases, reading.chosen, weights, catalog.unit_factor, epsilon, limits, delta, gaussian,
            [reading.post] * len(reading.releases) if framed else [], ranges=catalog.personal is None,
        )  # fmt: skip
        return own, _layout(reading)

    def planned(plain: Reading) -> Planned:
        narrow = within_conditions(plain, intervals) if narrowed else plain
        if narrow is plain or len(plain.releases) > 1:
            found = released(plain)
            if narrow is plain or found[0][1]:  # where some are measured together, all keep the wider bounds
                return found
        return released(narrow)

    # How far a window reaches is a literal that the measures depend on.
    framed = series and _has_window(reading.post)
    key = (epsilon, limits, delta, emphasis, gaussian, narrowed)
    found, layout = planned(reading) if framed else planned_once(reading, key, planned)
    releases, workloads, spent = found
    statement = _statement(canonical, layout, limits, emphasis)
    return QueryPlan(text, statement, releases, merged(reading.post), workloads, gaussian=spent)


def plan_together(
    texts: Sequence[str],
    catalog: Catalog,
    epsilon: Fraction,
    limits: Limits = NO_LIMITS,
    delta: Fraction = Fraction(0),
    intervals: bool = True,
    gaussian: bool = False,
    known: Readings | None = None,
) -> tuple[QueryPlan, list[QueryPlan]]:
    """Plan several questions as one: one charge, and the measures of one of them answer the others, too.

    Args:
        texts: of the questions, each one SELECT in DuckDB's dialect.
        catalog: as for `plan`.
        epsilon: for all of them.
        limits: as for `plan`.
        delta: for all of them.
        intervals: as for `plan`.
        gaussian: as for `plan`.
        known: as for `plan`.

    Returns:
        The plan of all releases, and for each question the tables that it reads and its post-processing.

    Raises:
        QueryRefused: one of them cannot be answered with a guarantee.
    """
    readings = Readings() if known is None else known
    found: list[tuple[str, Reading]] = []
    before = 0
    for text in texts:
        found.append(readings.reading(text, catalog, ReadingWay(delta > 0, intervals, before)))
        before += len(found[-1][1].releases)
    plain = [reading for _, reading in found]

    def released(chosen: Sequence[Reading]) -> tuple[list[Reading], Released]:
        limited = [with_row_limits(reading, limits) for reading in chosen]
        made = _released(
            [release for reading in limited for release in reading.releases],
            [selection for reading in limited for selection in reading.chosen],
            [weight for reading in limited for weight in reading.weights],
            catalog.unit_factor, epsilon, limits, delta, gaussian,
            [reading.post for reading in limited for _ in reading.releases],
        )  # fmt: skip
        return limited, made

    limited, (releases, workloads, spent) = released(plain)
    # Where some are measured together, all keep the wider bounds.
    if not workloads:
        narrow = [within_conditions(reading, intervals) for reading in plain]
        if any(new is not old for new, old in zip(narrow, plain, strict=True)):
            limited, (releases, workloads, spent) = released(narrow)
    own = iter(releases)
    each = []
    for text, (canonical, _), reading in zip(texts, found, limited, strict=True):
        tables = tuple(itertools.islice(own, len(reading.releases)))
        named = {table.name for table in tables}
        inside = tuple(workload for workload in workloads if named.issuperset(workload.tables))
        each.append(
            QueryPlan(
                text, _statement(canonical, _layout(reading), limits), tables, merged(reading.post), inside
            )
        )
    statement = "; ".join(plan.statement for plan in each)
    whole = QueryPlan("; ".join(texts), statement, releases, exp.select("1"), workloads, gaussian=spent)
    return whole, each


@once
def _has_window(post: exp.Query) -> bool:
    return post.find(exp.Window) is not None


def _layout(reading: Reading) -> str:
    """The words for measures that the releases of a statement share."""
    return "".join(selection.layout for selection in reading.chosen)


def _statement(canonical: str, layout: str, limits: Limits, emphasis: Emphasis = ()) -> str:
    """The canonical spelling of a statement with all that decides its numbers beside epsilon."""
    return f"{canonical} {limits}{emphasis or ''}{layout}"


def _released(
    unplanned: Sequence[UnplannedRelease],
    chosen: Sequence[Chosen],
    weights: Sequence[Sequence[Fraction]],
    unit_factor: int,
    epsilon: Fraction,
    limits: Limits,
    delta: Fraction,
    gaussian: bool,
    posts: Sequence[exp.Query],
    ranges: bool = True,
) -> Released:
    """The releases with their shares of epsilon, those measured together, and the delta of Gaussian noise."""
    finding = sum(release.unknown for release in unplanned)
    shares = shares_of(epsilon, weights)

    def build(release: UnplannedRelease, index: int, own: tuple[Fraction, ...]) -> PlannedRelease:
        return _release(release, chosen[index], own, unit_factor, limits, delta / max(finding, 1))

    releases = [build(release, index, shares[index]) for index, release in enumerate(unplanned)]
    found: list[JointWorkload] = []
    if len(unplanned) > 1:
        from discreet.sql.plan.workloads.several import measured_together

        found += measured_together(unplanned, chosen, weights, shares, releases, build, ranges)
    if posts:
        from discreet.sql.plan.workloads.series import series_of
        from discreet.sql.plan.workloads.windows import families_of
    for index, post in enumerate(posts):
        asked, release = unplanned[index], releases[index]
        if release.estimated is None:
            series = series_of(
                asked, chosen[index], release, families_of(post, asked.name), shares[index],
                partial(build, asked, index),
            )  # fmt: skip
            if series is not None:
                found.append(series[0])
                releases[index] = series[1]
    workloads, spent = tuple(found), Fraction(0)
    if gaussian:
        from discreet.sql.plan.noise_choice import with_gaussian

        releases, workloads, spent = with_gaussian(releases, chosen, weights, shares, delta, workloads)
    return tuple(releases), workloads, spent


def _emphasise(
    weights: list[list[Fraction]],
    emphasis: Emphasis,
    unplanned: list[UnplannedRelease],
    answered_by: list[list[int]],
    post: exp.Query,
) -> None:
    """Multiply the weights of the sets of measures that the emphasised columns are estimated from, each once."""
    if not emphasis:
        return
    columns: dict[str, set[tuple[int, int]]] = {}
    for index, (release, measures) in enumerate(zip(unplanned, answered_by, strict=True)):
        for position, number in enumerate(measures):
            for name in shown_as(post, release.name, aggregate_name(position)):
                columns.setdefault(name.lower(), set()).add((index, number))
    for name, factor in emphasis:
        if name.lower() not in columns:
            raise InvalidParameter(
                f"{name} is not a column of the answer that has noise.",
                f"Name one of {', '.join(columns)}." if columns else "Leave the split out.",
            )
        for index, number in columns[name.lower()]:
            weights[index][number] *= factor


def _release(
    release: UnplannedRelease,
    chosen: Chosen,
    of_sets: tuple[Fraction, ...],
    unit_factor: int,
    limits: Limits,
    delta: Fraction,
) -> PlannedRelease:
    parts: list[MeasuredRows] = []
    # Quantiles are alone in their part: its query counts by leaf, not only by group.
    shared: dict[int, MeasuredRows] = {}
    measures: list[AnyMeasure] = []
    shares = tuple(of_sets[number] for number in chosen.sets)  # the counts that find groups may come behind
    for choice, share in zip(chosen.choices, shares, strict=True):
        part = measured_rows(release, choice, limits)
        number = next((number for number, known in shared.items() if known == part), len(parts))
        if choice.counts in BY_LEAF or number == len(parts):
            number = len(parts)
            parts.append(part)
            if choice.counts not in BY_LEAF:
                shared[number] = part
        contribution = Fraction(unit_factor * part.cap) / share
        measures.append(measure(choice, contribution, number, planned_cells(release.keys)))
    if unit_factor > 1 and not release.keys and counts_every_row(release.rows):
        measures = [
            of_all_rows(own) if chosen.sets.count(number) == 1 else own
            for own, number in zip(measures, chosen.sets, strict=True)
        ]
    discovery = None
    if release.unknown:
        answers = answering(chosen.choices, release.keys, release.rows.per_unit)
        share = of_sets[-1] if answers is None else shares[answers]
        discovery = Discovery(measured_rows(release, FINDING, limits), share, delta, answers)
    return PlannedRelease(
        name=release.name,
        parts=tuple(parts),
        keys=release.keys,
        measures=tuple(measures),
        shares=shares,
        aggregates=tuple(
            aggregate(r, index) for r, index in zip(chosen.requests, chosen.answered_by, strict=True)
        ),
        unit_factor=unit_factor,
        discovery=discovery,
        sets=chosen.sets,
    )
