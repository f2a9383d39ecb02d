"""The notes for readers of an answer, beside its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from discreet.engines.schema import Type
from discreet.policy import Policy
from discreet.sql.algebra.lineage import origins
from discreet.sql.algebra.relation import PrivateRows, Relation, Select, scans
from discreet.sql.analyze.aggregates.implied_bounds import following
from discreet.sql.analyze.aggregates.reached import Reached
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.functions.aggregates import EXTREME
from discreet.sql.lower.sequence import in_sequence
from discreet.sql.lower.uses import ranks, uses_of
from discreet.sql.measures.leaf_counts import LeafCounts
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.generic.generic_plan import for_all_arguments
from discreet.sql.plan.plan import AnyMeasure, QueryPlan

INVENTED = ("the data is invented: nothing private was read, and no number means anything",)
CHOSEN = "that the earlier answers may be why the question was asked: without reuse its noise is independent of them"
"""Of an answer that is made of earlier ones."""


def facts_of(policy: Policy, plan: QueryPlan) -> dict[str, Any]:
    """The facts for the card of an answer, and its mechanisms."""
    from discreet.release.cards.deployment import facts, mechanisms

    return {**facts(policy), "mechanisms": mechanisms(uses_of(plan.measured))}


def notes_of(
    plan: QueryPlan, without: tuple[str, ...], unit_factor: int, texts: Set[str] = frozenset()
) -> tuple[str, ...]:
    """Notes: the guarantee of an answer, then the errors that its intervals leave out.

    Args:
        plan: of the question, with the groups that were found.
        without: the columns that have no interval.
        unit_factor: 1 when neighbours add or remove a unit, 2 when they replace one.
        texts: the names, in lower case, of the tables whose columns have the types that the policy declares.
    """
    at_bounds = _counts_bounds(plan)  # conditions are read for this alone, with their literals
    if len(plan.releases) != 1 or plan.workloads or plan.cut_off or plan.shaping:
        return _notes_of(plan, without, unit_factor, texts, at_bounds)
    return for_all_arguments(
        plan.releases[0],
        f"notes {unit_factor} {without!r} {sorted(texts)!r} {at_bounds}",
        lambda release: _notes_of(plan.with_releases([release]), without, unit_factor, texts, at_bounds),
    )


def _notes_of(
    plan: QueryPlan, without: tuple[str, ...], unit_factor: int, texts: Set[str], at_bounds: bool
) -> tuple[str, ...]:
    if not plan.releases:
        return ("nothing private was read",)
    change = "adding or removing" if unit_factor == 1 else "replacing"
    units, notes, capped = [], [], False
    for part in (part for release in plan.releases for part in release.parts):
        if not part.rows.per_unit:
            units.append(f"hides {change} one row")
            continue
        units.append(f"hides {change} all rows of one unit")
        notes.append("rows whose privacy unit is NULL, which are dropped")
        if not part.rows.fixed or part.drops_in_groups:
            capped = True
            kept = f"{part.cap} row{'s' * (part.cap != 1)}"
            kept += f", or beyond {part.per_group} in one group" if part.drops_in_groups else ""
            kept += " that any of the questions measured together counts" if part.among is not None else ""
            notes.append(f"rows of a unit beyond its first {kept}, which are dropped before counting")
    if any(_has_types(part.rows, texts) for release in plan.releases for part in release.parts):
        notes.append("values that do not fit the declared type of their column, which are NULL")
    bounded = _bounded(plan)
    clamped = bool(bounded)
    adds_up = any(not isinstance(m, LeafCounts) for m in bounded)
    if adds_up:
        notes.append("values outside their bounds, which are clamped before adding up")
    if (clamped and not adds_up) or at_bounds:
        notes.append("values outside their bounds, which count as the bound")
    if (capped or clamped) and not plan.cut_off:
        shares = any(release.people is not None for release in plan.releases)
        told = (
            "which nothing tells"
            if shares
            else "which only a part of epsilon can tell: ask with diagnose 0.05"
        )
        notes.append(f"how much that cut off, {told}")
    if any(a.quantity in EXTREME for release in plan.releases for a in release.aggregates):
        notes.append("values beyond the 1 % and the 99 % quantile, for MIN and MAX are these quantiles here")
    by_class = any(release.people is not None for release in plan.releases)
    classes, of_people = _of_people(plan) if by_class else ("", [])
    notes += of_people
    notes += _of_ranks(plan)
    notes += _of_groups(plan)
    notes += plan.shaping.notes(any(release.estimated is not None for release in plan.releases))
    notes += _of_found(plan)
    if without and in_sequence(plan):
        notes.append(
            f"{', '.join(without)}: of rows that a released number decided, which no interval covers"
        )
    elif without:
        notes.append(f"{', '.join(without)}: no interval could be derived")
    return (" and ".join(dict.fromkeys(units)) + classes, *dict.fromkeys(notes))


def _bounded(plan: QueryPlan) -> list[AnyMeasure]:
    """The measures of values that may be outside their bounds."""
    return [
        measure
        for release in plan.releases
        for measure in release.measures
        if measure.grid is not None
        and not all(
            _of_conditions(release.parts[measure.part].rows.relation, value) for value in measure.arguments
        )
    ]


def _of_conditions(relation: Relation, value: Expression) -> bool:
    """Whether a value comes from literals and conditions alone, as that of CASE … THEN 1 ELSE 0 END does.

    Its bounds follow from the literals, so that it is never outside them.
    """
    if isinstance(value, Literal) or value.type is Type.BOOLEAN:
        return True
    if isinstance(value, Call):
        return value.name != "clamp" and all(_of_conditions(relation, arg) for arg in value.args)
    if not isinstance(relation, Select) or not isinstance(value, Column):
        return False
    if relation.items is None:
        return _of_conditions(relation.source, value)
    return any(name == value.name and _of_conditions(relation.source, item) for name, item in relation.items)


def _of_people(plan: QueryPlan) -> tuple[str, list[str]]:
    """The guarantee for each class of people, and the notes of an answer that counts each class by itself."""
    from discreet.sql.plan.people.wording import guarantee_of_people, notes_of_people

    return guarantee_of_people(plan), notes_of_people(plan)


def _of_found(plan: QueryPlan) -> Iterator[str]:
    """The groups that are not shown, where groups are found."""
    for release in (release for release in plan.releases if release.discovery is not None):
        assert release.discovery is not None
        chance = release.discovery.mechanism(release)
        yield (
            f"groups that are not shown: there may be any number of them, most with fewer than "
            f"{chance.threshold:,} units; one of {chance.surely(0.95):,} or more is shown with a chance of 95 %"
        )
        if release.discovery.measure is not None:
            yield (
                f"counts not far above {chance.threshold:,}, where groups begin to be shown: they are too high on "
                "average, as lower ones are not shown"
            )


def _of_groups(plan: QueryPlan) -> Iterator[str]:
    """Which rows are in no group."""
    keys = [key for release in plan.releases for key in release.keys]
    if any(key.public and None in key.values for key in keys):
        yield "rows whose group is not among the public keys, which are dropped"
    if any(key.public and None not in key.values for key in keys):
        yield "rows whose group is NULL or not among the public keys, which are dropped"
    parts = [part for release in plan.releases for part in release.parts]
    if any(
        made(part.rows.relation, key)
        for part in parts
        for key in part.keys
        for made in (_of_clamped, Reached().tells)
    ):
        yield "values outside their bounds, which are in the group of the bound"
    if any(_to_cap(part.rows.relation, key) for part in parts for key in part.keys):
        yield "keys that count or add up the rows of a unit, which are clamped as if it had no more rows than may count"
    if any(workload.closed for workload in plan.workloads):
        yield "rows that are in none of the parts of a total, which are not in the total either"
    if any(not key.public for key in keys):
        yield "rows whose group is NULL, which are dropped"


def _counts_bounds(plan: QueryPlan) -> bool:
    """Whether a clamped value is told from others: by histograms, distinct values, WHERE and other conditions."""
    relations = (part.rows.relation for release in plan.releases for part in release.parts)
    reached = Reached()
    return any(map(reached.selects, relations)) or any(
        _of_clamped(release.parts[measure.part].rows.relation, argument)
        if getattr(measure, "distinct", False)
        else reached.tells(release.parts[measure.part].rows.relation, argument)
        for release in plan.releases
        for measure in release.measures
        for argument in measure.arguments
    )


def _of_clamped(relation: Relation, key: Expression) -> bool:
    """Whether a key is computed from a column that the scan clamps, other than by comparing it, as CASE does."""
    if isinstance(key, Column):
        return any(own is not None and own.clamped for _, _, own in origins(relation, key.name))
    if not isinstance(key, Call) or key.type is Type.BOOLEAN:
        return False
    return any(_of_clamped(relation, arg) for arg in key.args)


def _to_cap(relation: Relation, key: Expression) -> bool:
    """Whether a key is clamped to the bounds that follow from how many rows of a unit count."""
    if not isinstance(key, Call):
        return False
    own = key.args[0] if key.name == "clamp" else None
    bounds = following(relation, own.name) if isinstance(own, Column) else None
    return (bounds is not None and key.span.hi == bounds[1]) or any(
        _to_cap(relation, arg) for arg in key.args
    )


def _of_ranks(plan: QueryPlan) -> list[str]:
    """Notes on the errors of quantiles that are chosen by rank which their intervals leave out."""
    chosen = [
        (release, index, measure)
        for release in plan.releases
        for index, measure in enumerate(release.measures)
        if isinstance(measure, Ranks)
    ]
    notes = [
        f"how far quantiles err, as all of epsilon went into them: where values lie densely their ranks are within "
        f"about {rows:,.3g} rows at 95 %"
        for rows in sorted({ranks(*choice).half_width() for choice in chosen if not choice[2].ends})
    ]
    if any(measure.ends for _, _, measure in chosen):
        notes.append(
            "long gaps without any value beside a quantile: its interval holds as often as it says where values lie "
            "densely, and no law promises that for all data"
        )
    return notes


def _has_types(rows: PrivateRows, texts: Set[str]) -> bool:
    """Whether the rows come from a table of texts that have been read in declared types."""
    return any(
        column.type is not Type.TEXT
        for scan in scans(rows.relation)
        if scan.table.name.lower() in texts
        for column in scan.table.columns.values()
    )
