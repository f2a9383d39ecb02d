"""Warnings of parts of an answer that may mislead its reader, from the plan and from released numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from discreet import arrow
from discreet.release.noisy_schema import aggregate_name, aggregate_number
from discreet.sql.functions.aggregates import EXTREME
from discreet.sql.inspect.cut_joins import cut_joins
from discreet.sql.inspect.empty_groups import added_up
from discreet.sql.inspect.quoted_names import quoted_names
from discreet.sql.inspect.warnings import bounds_that_hurt
from discreet.sql.intervals.closed_form import linear_half_width
from discreet.sql.intervals.row_mapping import aggregate_columns, shared_with_cell
from discreet.sql.intervals.simultaneous import Level, each, noisy_names, ordering, selects
from discreet.sql.plan.plan import QueryPlan

if TYPE_CHECKING:
    import pyarrow as pa


def meanings_of(plan: QueryPlan) -> dict[str, str]:
    """The content of a column where its question says something else: MIN and MAX are quantiles here."""
    out: dict[str, str] = {}
    if not any(
        aggregate.quantity in EXTREME for release in plan.releases for aggregate in release.aggregates
    ):
        return out
    direct = {item.alias_or_name for item in plan.post.selects if isinstance(item.unalias(), exp.Column)}
    shown = {item.alias_or_name for item in plan.post.selects}
    for name, (release, index) in noisy_names(plan).items():
        quantity = plan.releases[release].aggregates[index].quantity
        if quantity in EXTREME and name in shown:
            words = f"{int(100 * EXTREME[quantity])} % quantile"
            out[name] = words if name in direct else f"from the {words}"
    return out


def misled(plan: QueryPlan, values: pa.Table, confidence: float, whole: bool) -> tuple[str, ...]:
    """Warnings that belong beside an answer.

    Args:
        plan: of the question, with the groups that were found.
        values: the answer.
        confidence: of its intervals.
        whole: whether these are all rows of the answer.
    """
    cut = (*bounds_that_hurt(plan), *cut_joins(plan), *added_up(plan), *quoted_names(plan))
    shown = selects(plan)
    if shown is None:
        return (*cut, *(_present(plan) or _passed(plan) or _left_out(plan, len(values) if whole else None)))
    groups = max(release.cells for release in plan.releases)
    drowned = _drowned(plan, values, confidence, groups) if whole else None
    if drowned is not None:
        name, width = drowned
        return (
            *cut,
            f"the noise alone could have made every {name} shown: among {groups:,} groups it reaches "
            f"± {width:,.4g}, and the order of the rows may say nothing",
        )
    return (
        *cut,
        f"noisy numbers decided which {shown:,} of {groups:,} rows are shown: chosen for being extreme, they are "
        "more extreme than the truth on average; their intervals are wider to allow for that",
    )


def chosen(plan: QueryPlan, level: Level, group_rows: int) -> tuple[str, ...]:
    """The warning of a preview: rows that noisy numbers will choose although groups of this size are all noise."""
    from discreet.sql.inspect.warnings import COUNTED

    shown = selects(plan)
    groups = max((release.cells for release in plan.releases), default=0)
    if shown is None:
        return _present(plan) or _passed(plan)
    if any(release.discovery is not None for release in plan.releases):
        return ()
    _, has_cell = shared_with_cell(plan)
    for name, index in aggregate_columns(plan).items() if has_cell else ():
        aggregate = plan.releases[0].aggregates[index]
        width = linear_half_width(plan.releases[0], aggregate, each(level.confidence, groups))
        if (
            aggregate.quantity in COUNTED
            and width is not None
            and width >= group_rows
            and _orders(plan, name, index)
        ):
            return (
                f"noise will choose which {shown:,} of {groups:,} rows are shown: among so many groups it reaches "
                f"± {width:,.4g} of {name}, as much as a group of {group_rows:,} rows",
            )
    return ()


def _present(plan: QueryPlan) -> tuple[str, ...]:
    """The warning of a list of groups without a number: SELECT DISTINCT keeps those whose noisy count is above 0."""
    tests = [test.this for part in ("where", "having") if (test := plan.post.args.get(part)) is not None]
    counts = [test for test in tests if isinstance(test, exp.GT) and test.expression == exp.Literal.number(0)]
    if (
        len(tests) != 1
        or not counts
        or not _tests(plan)
        or any(r.discovery is not None for r in plan.releases)
    ):
        return ()
    names = {name.lower() for name in noisy_names(plan)}
    for item in plan.post.selects:
        for column in item.find_all(exp.Column):
            if aggregate_number(column.name) is not None or column.name.lower() in names:
                return ()
    groups = max(release.cells for release in plan.releases)
    return (
        f"a noisy count above 0 decides which of {groups:,} groups are listed: up to half of those without any row are "
        "listed, too, and small ones may be missing; ask for COUNT(*) by the group to see how sure each is",
    )


def _passed(plan: QueryPlan) -> tuple[str, ...]:
    """The warning of LIMIT behind a noisy HAVING, where no noisy ORDER BY says it already."""
    limit, groups = plan.post.args.get("limit"), max((release.cells for release in plan.releases), default=0)
    most = None if limit is None else limit.expression
    if not isinstance(most, exp.Literal) or not most.is_int or int(most.name) >= groups or not _tests(plan):
        return ()
    return (
        f"noisy numbers decide which of {groups:,} rows meet the condition, and so which "
        f"{int(most.name):,} of them LIMIT shows: with other noise they may be others",
    )


def _left_out(plan: QueryPlan, rows: int | None) -> tuple[str, ...]:
    """The warning of a noisy condition that left rows out, beside an answer of so many rows; None is not known."""
    groups = max((release.cells for release in plan.releases), default=0)
    if plan.post.args.get("limit") is not None or rows is None or not rows < groups or not _tests(plan):
        return ()
    shown = ", and those shown are more extreme than the truth on average; their intervals are wider to allow for that"
    return (
        f"noisy numbers decided which {rows:,} of {groups:,} rows meet the condition: others near it may have missed "
        f"it for their noise alone{shown if rows else ''}",
    )


def _tests(plan: QueryPlan) -> bool:
    """Whether a condition on noisy numbers decides which rows an answer has."""
    names = {name.lower() for name in noisy_names(plan)}
    tests = (plan.post.args.get(part) for part in ("where", "having", "qualify"))
    columns = (column for test in tests if test is not None for column in test.find_all(exp.Column))
    return any(
        aggregate_number(column.name) is not None or column.name.lower() in names for column in columns
    )


def _orders(plan: QueryPlan, name: str, index: int) -> bool:
    """Whether an aggregate is among the columns that order the rows."""
    return any(column.name.lower() in (name.lower(), aggregate_name(index)) for column in ordering(plan))


def _drowned(plan: QueryPlan, values: pa.Table, confidence: float, groups: int) -> tuple[str, float] | None:
    """A count or a sum of which all shown lie within the largest noise of all groups, and how far that reaches."""
    _, has_cell = shared_with_cell(plan)
    if not has_cell or not len(values):
        return None
    (release,) = plan.releases
    for name, index in aggregate_columns(plan).items():
        width = linear_half_width(release, release.aggregates[index], each(confidence, groups))
        numbers = arrow.floats(values.column(name))
        if width is None or not _orders(plan, name, index):
            continue
        if (np.abs(numbers[~np.isnan(numbers)]) <= width).all():
            return name, width
    return None
