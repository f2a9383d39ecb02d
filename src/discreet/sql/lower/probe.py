"""Asks the engine, before the charge, whether it could run the queries of a plan; no row is read.

So a table that was dropped, a column or a file that is gone, a permission that was taken back and a limit of the engine
are found while the question is still free. Metadata alone decide: names, types, permissions, and whether files are
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from discreet.engines.engine import NO_TABLES, Engine
from discreet.engines.hexagons import NAME
from discreet.errors import QueryRefused, SourceError
from discreet.sql.algebra.relation import scans
from discreet.sql.dialects import named
from discreet.sql.expressions.dialect import quote
from discreet.sql.lower.compile import Compiled, compile_discovery, compile_part
from discreet.sql.lower.uses import near_leaves_of
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.plan.unknown_groups import imagined

if TYPE_CHECKING:
    import pyarrow as pa

Look: TypeAlias = "Callable[[str, Mapping[str, pa.Table]], bool]"
SALT = 0
"""In place of the secret one: a query that an engine refuses may stand in its log."""


def probe(plan: QueryPlan, engine: Engine) -> None:
    """See that the engine could run every query of a plan.

    Raises:
        SourceError: a table cannot be read, or has changed since it was opened.
        QueryRefused: the tables are there, but the engine cannot run the question.
    """
    look: Look | None = getattr(engine, "probe", None)
    if look is None or all(look(query.sql, query.tables) for query in _queries(plan, engine)):
        return
    tables = {
        table.name
        for release in plan.counted for part in release.parts for scan in scans(part.rows.relation)
        for table in scan.table.path
    }  # fmt: skip
    for name in sorted(tables):
        if not look(f"SELECT * FROM {quote(name, named(engine.dialect))}", NO_TABLES):
            known = getattr(engine, "unreadable", None)
            raise SourceError(*((known and known(name)) or _gone(name)))
    if any(NAME in query.sql for query in _queries(plan, engine)):
        raise QueryRefused(
            "The engine cannot compute h3_cell.",
            "On Spark, every machine of the cluster needs the library h3; or write grid(lng, lat, 0.05).",
        )
    raise QueryRefused(
        "The engine cannot run this question.",
        "It may have more columns than the engine takes at once, some 1,600 on PostgreSQL: ask for fewer in one "
        "question. Or a regular expression is too complex for it: write a shorter one, with fewer repetitions.",
    )


def _gone(name: str) -> tuple[str, str]:
    """Cause and fix where an engine knows no better."""
    return (
        f"The table {name} cannot be read as it could when it was opened.",
        "Check that it is still in place with the same columns and that it may be read, and open it again; "
        "nothing was charged.",
    )


def _queries(plan: QueryPlan, engine: Engine) -> Iterator[Compiled]:
    """The queries of a plan; where groups must be found first, with invented ones."""
    for release, known in zip(plan.counted, imagined(plan).counted, strict=True):
        if release.discovery is not None:
            yield compile_discovery(release, engine.dialect, SALT)
        if known.cells and known.people is not None:
            from discreet.sql.lower.people.by_class import all_queries

            yield from (Compiled(*query) for query in all_queries(known, known.people, engine.dialect, SALT))
        elif known.cells:
            for number in range(len(known.parts)):
                near = near_leaves_of(known, number)
                yield compile_part(known, number, engine.dialect, SALT, near=near, quick=True)
