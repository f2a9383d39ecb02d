"""The whole function table over columns of every physical type: each line, at both ends of what its arguments are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from tests.depth import DEEP
from tests.sql.physical import benches, types
from tests.sql.physical.totality import SALT

from discreet.engines.clickhouse.tables import bare
from discreet.engines.engine import Engine
from discreet.engines.schema import Type
from discreet.errors import EngineError
from discreet.policy import Policy
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.relation import PrivateRows, scan, select
from discreet.sql.conformance.functions import expressions
from discreet.sql.expressions.expression import Expression
from discreet.sql.lower.capabilities import lacking
from discreet.sql.lower.run import exact_integers
from discreet.sql.measures.measure import Moments
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease

ROWS = {"spark": 64 if DEEP else 24}
"""How many rows a table has, where it is not 64: each value of each type, and pairs of them, of which Spark, which
takes seconds to read them, has all in a deep run."""
BATCH = {"clickhouse": 6}
"""How many expressions one query asks for, where it is not 24: many together take ClickHouse far longer than few."""
LETTERS = {
    Type.INTEGER: "ija", Type.FLOAT: "fgp", Type.TEXT: "cdh", Type.BOOLEAN: "be", Type.DATE: "nm", Type.TIMESTAMP: "yx",
}  # fmt: skip
"""The columns that the conformance corpus writes its expressions over, by logical type."""
BOUNDS: dict[str, tuple[object, object]] = {
    "a": (-5, 20), "p": (-2.5, 4), "m": (dt.date(1960, 1, 1), dt.date(2030, 12, 31)),
    "x": (dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1)),
}  # fmt: skip
_TYPES = {
    "duckdb": types.DUCKDB, "postgres": types.POSTGRES, "spark": types.SPARK, "clickhouse": types.CLICKHOUSE,
}  # fmt: skip
_NAMES = {
    "TIMESTAMPTZ": "timestamp with time zone",
    "mood": "enum",
    "char(30)": "bpchar",
    "small": "int2",
    "label": "text",
}


def _by_logical(dialect: str) -> dict[Type, list[str]]:
    """The physical types that queries can read, by the logical type."""
    found: dict[Type, list[str]] = {kind: [] for kind in LETTERS}
    for name in _TYPES[dialect]:
        if dialect == "clickhouse":
            plain, listed = name, bare(name)
        else:
            plain = _NAMES.get(name, name).lower()
            listed = plain if plain in (*_NAMES.values(),) else plain.partition("(")[0].partition(" ")[0]
        kind = benches.CAPABILITIES[dialect].physical(listed).type
        if kind is not Type.OTHER and not plain.endswith("]"):
            found[kind].append(name)
    return found


def count(dialect: str) -> int:
    """How many tables it takes until each type has stood in each place."""
    return max(map(len, _by_logical(dialect).values()))


@cache
def engine(dialect: str, number: int) -> Engine:
    """An engine whose table `t` has the columns of the corpus, in the types whose turn it is."""
    columns: dict[str, str] = {}
    cells: dict[str, list[str]] = {}
    for logical, names in _by_logical(dialect).items():
        for place, letter in enumerate(LETTERS[logical]):
            kind = names[
                (number + place // 2) % len(names)
            ]  # two of a type meet; the bounded column is of the next
            values = ["NULL", *_TYPES[dialect][kind]]
            size = len(values)
            # Two columns of one logical type meet in many pairs of their values.
            at = [
                (row // size + row * 5) % size if place else row % size
                for row in range(ROWS.get(dialect, 64))
            ]
            columns[letter] = kind
            cells[letter] = [
                benches.null(kind, dialect) if values[one] == "NULL" else f"CAST({values[one]} AS {kind})"
                for one in at
            ]
    rows = [", ".join(row) for row in zip(*cells.values(), strict=True)]
    if dialect == "duckdb":
        return benches.duckdb_of(columns, rows)
    if dialect == "postgres":
        return benches.postgres_of(columns, rows, f"functions_{number}")
    if dialect == "clickhouse":
        return benches.clickhouse_of(columns, rows, f"functions_{number}")
    return benches.spark_of(columns, rows)


def catalog(of: Engine) -> Catalog:
    """What is known of the table."""
    columns: dict[str, Any] = {name: {"bounds": ends} for name, ends in BOUNDS.items()}
    policy = Policy.model_validate(
        {"budget": 1, "tables": {"t": {"privacy_unit": "row", "columns": columns}}}
    )
    return Catalog.build(policy, of.schema(), {})


def faults(of: Engine, every: int = 1, first: int = 0, only: str = "") -> list[str]:
    """The expressions that a value makes fail; empty when none does.

    Args:
        of: holds the table.
        every: look at each second, third, … expression only.
        first: where to begin with that, modulo `every`.
        only: look at the expressions alone whose names begin so.
    """
    known = catalog(of)
    rows = scan(known.private["t"])
    asked = [(name, it) for name, it in expressions(known).items() if name.startswith(only)]
    listed = asked[first % every :: every]
    size = BATCH.get(of.dialect, 24)
    return [
        fault
        for at in range(0, len(listed), size)
        for fault in _faults(of, rows, dict(listed[at : at + size]))
    ]


def _faults(of: Engine, rows: PrivateRows, some: Mapping[str, Expression]) -> Iterator[str]:
    if not some or _runs(of, rows, list(some.values())):
        return
    if len(some) == 1:
        yield from some
        return
    names = list(some)
    for half in (names[: len(names) // 2], names[len(names) // 2 :]):
        yield from _faults(of, rows, {name: some[name] for name in half})


def _runs(of: Engine, rows: PrivateRows, some: Sequence[Expression]) -> bool:
    shown = select(rows, [(f"v{at}", expression) for at, expression in enumerate(some)], None)
    chosen = tuple(Moments(0, shown.columns[f"v{at}"], None, False) for at in range(len(some)))
    part = MeasuredRows(shown, (), 1)
    release = PlannedRelease("corpus", (part,), (), chosen, (Fraction(1),) * len(chosen), (), 1)
    if lacking(release, getattr(of, "lacks", frozenset())):
        halves = (some[: len(some) // 2], some[len(some) // 2 :])
        return len(some) == 1 or all(_runs(of, rows, half) for half in halves)
    try:
        exact_integers(release, of, SALT)
    except EngineError:
        return False
    return True
