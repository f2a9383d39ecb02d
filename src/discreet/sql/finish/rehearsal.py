"""The statement above the noise run on invented numbers, so that its faults show before anything is charged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet import arrow
from discreet.engines.sandbox import Sandbox, uncharged
from discreet.engines.schema import arrow_type
from discreet.errors import PostProcessingError, QueryRefused
from discreet.policy.naming import distinct
from discreet.release.noisy_schema import CELL, aggregate_name, key_name
from discreet.sql.functions.names import misspelt
from discreet.sql.intervals.row_mapping import names_of, picks_all, shared_with_cell
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.plan.unknown_groups import imagined
from discreet.sql.syntax.nodes import used
from discreet.sql.syntax.parse import TWINS

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp


def rehearse(plan: QueryPlan, public: Mapping[str, pa.Table]) -> pa.Schema | None:
    """Run the post-processing on invented noisy tables: its faults show before anything is charged.

    They have one row each, with a public key and ones, so that a statement that fails on any row fails here.

    Returns:
        The columns of the answer; None where they are unchanged keys and aggregates.

    Raises:
        QueryRefused: DuckDB cannot run the statement.
    """
    post, has_cell = shared_with_cell(plan)
    if has_cell and picks_all(post) and distinct(names_of(post)):
        return None  # DuckDB has nothing to do then
    return schema_of(plan, public)


def schema_of(plan: QueryPlan, public: Mapping[str, pa.Table]) -> pa.Schema:
    """The columns of the answer, from invented noisy tables of one row each.

    Raises:
        QueryRefused: DuckDB cannot run the statement.
    """
    import pyarrow as pa

    tables = {}
    for release in imagined(plan).releases:
        row: dict[str, pa.Array] = {CELL: arrow.listed([0], pa.int64())}
        for index, key in enumerate(release.keys):
            row[key_name(index)] = arrow.listed(key.values[:1], arrow_type(key.expression.type))
        for index, aggregate in enumerate(release.aggregates):
            row[aggregate_name(index)] = arrow.listed([1], pa.int64() if aggregate.whole else pa.float64())
        tables[release.name] = pa.table(row)
    try:
        with uncharged(), Sandbox(tables | used(public, plan.post)) as sandbox:
            result = sandbox.run(plan.post.sql("duckdb"))
    except PostProcessingError as error:
        raise _refused(error, plan.post) from None
    if not distinct(result.column_names):
        raise QueryRefused(*TWINS)
    return result.schema


def _refused(error: PostProcessingError, post: exp.Query) -> QueryRefused:
    """The refusal of a statement that DuckDB cannot run; of a misspelt aggregate, with its name."""
    for node, cause, fix in misspelt(post):
        if f"Function with name {node.name.lower()} does not exist" in error.cause:
            return QueryRefused(cause, f"{fix.partition('(')[0]}?")  # its arguments are other ones by now
    return QueryRefused(error.cause, error.fix)
