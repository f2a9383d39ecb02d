"""Joins behind which rows of a unit may be dropped, told from the plan alone, with the parameter that keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.multiplicity import unbounded_joins
from discreet.sql.plan.plan import MeasuredRows, QueryPlan


def cut_joins(plan: QueryPlan) -> tuple[str, ...]:
    """The warnings about joins that may give a unit more rows than are kept.

    Nothing where the question says how many rows of a unit are kept: then somebody decided.
    """
    parts = (part for release in plan.releases for part in release.parts)
    return tuple(dict.fromkeys(said for part in parts for said in _of_part(part)))


def _of_part(part: MeasuredRows) -> Iterator[str]:
    if not part.rows.per_unit or part.rows.fixed or part.cap != part.rows.max_rows:
        return
    joins = list(unbounded_joins(part.rows.relation))
    if not joins:
        return
    most = part.cap * prod(join.partners for join in joins)
    public = any(isinstance(join, rel.PublicJoin) for join in joins)
    subject = "several rows of a public table" if public else "several rows of its unit"
    yield (
        f"a row can find {subject} in a join, so that a unit can have up to {most:,} rows, of which {part.cap:,} are "
        f"kept: the rest is dropped, and no interval covers that; ask with max_rows={most}, or with as many "
        "as one unit has at most"
    )
