"""The warning of a question whose private rows are compared with released numbers: which, and how sure they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet import arrow, far
from discreet.arrow import is_number
from discreet.errors import PostProcessingError
from discreet.escaping import name as one_line
from discreet.sql.algebra.released import ReleasedTable
from discreet.sql.finish.postprocess import finish
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.lower.sequence import given_to, see_given
from discreet.sql.plan.plan import QueryPlan

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_SUBQUERY = 100
"""A sub-query is shown with no more characters than this."""


def released_first(plan: QueryPlan) -> dict[str, ReleasedTable]:
    """The tables of released numbers that private rows of a question are compared with, by name."""
    return {name: table for release in plan.releases for name, table in given_to(release).items()}


def compared_with(
    plan: QueryPlan,
    noisy: Sequence[NoisyIntegers] = (),
    public: Mapping[str, pa.Table] | None = None,
    confidence: float = 0.95,
) -> tuple[str, ...]:
    """The warning of such a question; none of any other.

    Args:
        plan: of the question, with the groups that were found.
        noisy: the noisy integers of its releases; none before it is asked.
        public: the public tables.
        confidence: of the intervals.

    Raises:
        PostProcessingError: DuckDB refused the statement over released numbers that rows were to be compared with.
    """
    tables = released_first(plan)
    if not tables:
        return ()
    if noisy:
        see_given(plan, noisy, public or {})
    words = [_words(table, plan, noisy, public or {}, confidence) for table in tables.values()]
    return (
        f"private rows are compared with {', '.join(words)}, released first: its noise decides which rows count, and "
        "numbers that depend on that have no interval",
    )


def _words(
    table: ReleasedTable,
    plan: QueryPlan,
    noisy: Sequence[NoisyIntegers],
    public: Mapping[str, pa.Table],
    confidence: float,
) -> str:
    text = one_line(" ".join(table.sql.split()))
    text = text if len(text) <= LONGEST_SUBQUERY else f"{text[:LONGEST_SUBQUERY]}…"
    if table.keys or not noisy or any(item.alias.startswith("__") for item in table.source.selects):
        return text  # not one row, or no numbers of the question: how many values IN lists
    before = noisy[: _first(plan, table.name)]
    sooner = dataclasses.replace(
        plan, releases=tuple(integers.plan for integers in before), post=table.source
    )
    try:
        found = finish(sooner, before, public, confidence)
    except PostProcessingError:
        return text
    return f"{text} = {', '.join(_figure(found.values, found.intervals, name) for name in found.values.column_names)}"


def _first(plan: QueryPlan, name: str) -> int:
    """The number of the first release that reads a table."""
    return next(index for index, release in enumerate(plan.releases) if name in given_to(release))


def _figure(values: pa.Table, intervals: Mapping[str, tuple[object, object]], name: str) -> str:
    column = values.column(name)
    first = far.values(column.slice(0, 1))
    if first in ([], [None]):
        return "NULL"
    if not is_number(values, name):
        return one_line(str(first[0]))
    shown = f"{float(arrow.floats(column)[0]):,.6g}"
    if name not in intervals:
        return shown
    low, high = (float(np.asarray(end)[0]) for end in intervals[name])
    return f"{shown} ± {(high - low) / 2:,.2g}" if np.isfinite(high - low) else shown
