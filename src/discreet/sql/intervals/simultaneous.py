"""Intervals that hold all together: each gets so high a confidence that the chance of any one failing stays small.

With m numbers, each interval has the confidence 1 - (1 - confidence)/m. By the union bound all of them hold together
with the confidence asked for, however the numbers depend on each other (Bonferroni 1936; Dunn 1961). As the noise has
exponential tails, a thousand numbers make the intervals 3.3 times as wide at 95 %, not a thousand times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from discreet.release.noisy_schema import aggregate_number
from discreet.sql.intervals.row_mapping import key_columns, shared_with_cell
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.syntax.once import once

CHOOSING = ("limit", "where", "having", "qualify", "joins", "distinct")
"""Nodes of a statement that may leave rows out, and so may let noise decide which are shown."""

_SEVERAL = (exp.Array, exp.Map, exp.Struct)


class Level(NamedTuple):
    """How sure intervals are.

    Attributes:
        confidence: strictly between 0 and 1.
        together: whether all of an answer have it together, instead of each by itself.
    """

    confidence: float
    together: bool = False


def each(confidence: float, numbers: int) -> float:
    """The confidence of each of some intervals that together have one.

    Example:
        >>> round(each(0.95, 10), 6)
        0.995
    """
    return 1 - (1 - confidence) / max(1, numbers)


def numbers(plan: QueryPlan, columns: int, rows: int = 0) -> int:
    """How many numbers an answer has; where it may leave rows out, those of groups that it does not show, too.

    Args:
        plan: of the question, with the groups that were found.
        columns: how many columns the answer has.
        rows: how many rows it has.
    """
    _, has_cell = shared_with_cell(plan)
    groups = sum(release.cells for release in plan.releases)
    noisy = columns - (len(key_columns(plan)) if has_cell else 0)
    # Their numbers are columns.
    noisy -= sum(isinstance(item.unalias(), _SEVERAL) for item in plan.post.selects)
    if not has_cell:
        chooses = any(query.args.get(word) for query in plan.post.find_all(exp.Query) for word in CHOOSING)
        groups = max(groups, rows) if chooses else rows
    return max(1, noisy) * groups


def selects(plan: QueryPlan) -> int | None:
    """How many rows a statement shows when noisy numbers decide which: its LIMIT after an ORDER BY; else None."""
    post = plan.post
    limit = post.args.get("limit")
    if not isinstance(limit, exp.Limit) or not isinstance(limit.expression, exp.Literal):
        return None
    if not limit.expression.is_int:
        return None
    most = int(limit.expression.name)
    groups = max((release.cells for release in plan.releases), default=0)
    names = {name.lower() for name in noisy_names(plan)}
    by = ordering(plan)
    releases = [release.name for release in plan.releases]
    noisy = any(_noisy(column, releases) or column.name.lower() in names | {"all"} for column in by)
    return most if noisy and most < groups else None


def ordering(plan: QueryPlan) -> list[exp.Column]:
    """The columns that a statement orders its rows by, also those behind a name or a place of its answer."""
    order = plan.post.args.get("order")
    items = {item.alias_or_name.lower(): item for item in plan.post.selects}
    out = []
    for ordered in order.expressions if order is not None else ():
        by = ordered.this
        if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(plan.post.selects):
            by = plan.post.selects[int(by.name) - 1]
        elif isinstance(by, exp.Column) and not by.table and by.name.lower() in items:
            by = items[by.name.lower()]
        out += list(by.find_all(exp.Column))
    return out


def noisy_names(plan: QueryPlan) -> Mapping[str, tuple[int, int]]:
    """The names under which a statement and its CTEs show aggregates, with the release and the aggregate behind."""
    return names_of(plan.post, tuple(release.name for release in plan.releases))


@once
def names_of(post: exp.Query, releases: tuple[str, ...]) -> Mapping[str, tuple[int, int]]:
    """The same for a statement over the noisy tables of some releases."""
    out: dict[str, tuple[int, int]] = {}
    for select in post.find_all(exp.Select):
        for item in select.expressions:
            for column in item.find_all(exp.Column):
                found = _noisy(column, releases)
                if found is not None:
                    out.setdefault(item.alias_or_name, found)
    return out


def _noisy(column: exp.Column, releases: Sequence[str]) -> tuple[int, int] | None:
    aggregate = aggregate_number(column.name)
    if aggregate is None or column.table not in releases:
        return None
    return releases.index(column.table), aggregate
