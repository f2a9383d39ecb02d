"""Runs the releases of a statement one after the other: a later one may read the numbers of an earlier one.

The plan of every release is there before the first is drawn, and so is its charge. Between two releases nothing is
decided: the noisy numbers fill the tables that the SQL of the next one names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.engines.engine import NO_TABLES, Engine
from discreet.engines.sandbox import OUT_OF_MEMORY, QUOTED, Sandbox
from discreet.errors import EngineError, PostProcessingError
from discreet.release.draw import REPORT, Draw
from discreet.release.noisy_schema import is_table
from discreet.sql.algebra.lineage import read
from discreet.sql.algebra.released import ReleasedTable, reads_released, released_tables
from discreet.sql.lower.run import NoisyIntegers, run_release
from discreet.sql.lower.workloads import run_workload
from discreet.sql.plan.plan import Aggregate, PlannedRelease, QueryPlan
from discreet.sql.syntax.nodes import tables_in

if TYPE_CHECKING:
    import pyarrow as pa


def given_to(release: PlannedRelease) -> dict[str, ReleasedTable]:
    """The tables of released numbers that a release reads, by name."""
    if "given to" not in release.memo:
        parts = [*release.parts, *([] if release.discovery is None else [release.discovery.part])]
        release.memo["given to"] = released_tables(part.rows.relation for part in parts)
    found: dict[str, ReleasedTable] = release.memo["given to"]
    return found


def compared(release: PlannedRelease, aggregate: Aggregate) -> bool:
    """Whether a released number decides which rows an aggregate is of, or the numbers in it."""
    measure = release.measures[aggregate.measure]
    part = release.parts[measure.part]
    arguments = () if aggregate.quantity == "rows" else measure.arguments  # every row counts
    return reads_released(part.rows.relation, read([*part.keys, *arguments]))


def in_sequence(plan: QueryPlan) -> bool:
    """Whether a release of a plan reads the numbers of an earlier one."""
    return any(map(given_to, plan.releases))


def run_all(
    plan: QueryPlan, engine: Engine, salt: int, draw: Draw, public: Mapping[str, pa.Table] = NO_TABLES
) -> list[NoisyIntegers]:
    """Compute the integers of all releases, with noise.

    Privacy: as `run_release`, by adaptive composition; see `algebra.released`.

    Args:
        plan: of the question.
        engine: runs it.
        salt: decides which rows of a unit are kept.
        draw: the noise of all its uses.
        public: the public tables.

    Returns:
        Those of each of `plan.measured`, in order.

    Raises:
        EngineError: the engine failed; the charge stays.
        PostProcessingError: a statement over released numbers took too much time or memory; the charge stays.
    """
    noisy: list[NoisyIntegers] = []
    for release in (release for release in plan.releases if release.estimated is None):
        given = {name: _filled(table, noisy, public) for name, table in given_to(release).items()}
        if release.people is not None:
            from discreet.sql.lower.people.by_class import noisy_by_class

            noisy.append(noisy_by_class(release, release.people, engine, salt, draw, given))
        else:
            noisy.append(run_release(release, engine, salt, draw, given))
    for workload in plan.workloads:
        noisy += run_workload(workload, engine, salt, draw)
    return noisy


def see_given(plan: QueryPlan, noisy: Sequence[NoisyIntegers], public: Mapping[str, pa.Table]) -> None:
    """See that the tables of released numbers were made, which the numbers alone decide.

    Where one was not, the releases after it were of nothing. All of them are kept by then, so that the same question
    is not charged again.

    Raises:
        PostProcessingError: DuckDB refused the statement of one; its message speaks of released numbers only.
    """
    for release in plan.releases:
        for table in given_to(release).values():
            content(table, noisy, public)


def _filled(table: ReleasedTable, noisy: Sequence[NoisyIntegers], public: Mapping[str, pa.Table]) -> pa.Table:
    """A table of released numbers; its stand-in where DuckDB refuses its statement, of which `see_given` tells.

    Raises:
        PostProcessingError: it took too much time or memory, which it may not take the next time: then the answer
            would be one of the stand-in, and nothing would tell.
    """
    try:
        return content(table, noisy, public)
    except PostProcessingError as error:
        if not error.cause.startswith(QUOTED) or OUT_OF_MEMORY in error.cause:
            raise
        return table.data


def content(table: ReleasedTable, noisy: Sequence[NoisyIntegers], public: Mapping[str, pa.Table]) -> pa.Table:
    """A table of released numbers, made of the noisy tables of the releases so far.

    Raises:
        EngineError: it would read a release that was not drawn yet.
        PostProcessingError: DuckDB refused its statement.
    """
    drawn = {integers.plan.name: integers for integers in noisy}
    names = tables_in(table.query)
    if any(is_table(name) and name not in drawn for name in names):
        raise EngineError("A released number is read before it is drawn.", REPORT)
    tables = {name: drawn[name].table() if name in drawn else public[name]
              for name in names if name in drawn or name in public}  # fmt: skip
    with Sandbox(tables) as sandbox:
        found = sandbox.run(table.query.sql("duckdb")).cast(table.schema)
    if table.keys:
        return found
    return found.slice(0, 1) if len(found) else table.data  # of no row a scalar sub-query is NULL
