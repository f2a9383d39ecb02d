"""Runs compiled questions over every physical type of an engine, each column holding the worst values of its type.

A question is asked of many columns at once; where that fails, the columns and then the rows are halved until the one
is found that is at fault. `faults` is empty when no value can make a question fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from tests.depth import DEEP, few

from discreet.engines.engine import Engine
from discreet.engines.schema import ColumnSchema, Type
from discreet.errors import EngineError, QueryRefused
from discreet.policy import Policy
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.lower.compile import compile_discovery
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.plan.planner import plan

SALT = 11
TURN = 3
"""Of how many columns a question is asked of one, in a run that is not deep; of the others the next questions are."""
NARROW, WIDE, TOP, HUGE = "narrow", "wide", "top", "huge"
"""Bounds of a number: -100 to 100; as far as a measure takes them; the upper end of the type; as far as doubles are."""


@dataclass(frozen=True)
class Bench:
    """An engine whose table `t` has a column for each type; `id` numbers the rows, `u` has some each, `n` is small.

    Attributes:
        engine: holds `t`.
        types: the type of each column that is tried, by its name.
        rows: how many there are.
        together: of how many columns a question is asked at once.
    """

    engine: Engine
    types: Mapping[str, str]
    rows: int
    together: int = 100

    def of(self, *kinds: Type) -> list[str]:
        """The columns that queries see as one of these types."""
        schema = self.engine.schema()["t"]
        return [name for name in self.types if schema[name].type in kinds]

    def catalog(self, unit: str, ends: str | None, most: int = 3) -> Catalog:
        """What is known of the table, with bounds for the numbers."""
        schema = self.engine.schema()
        columns: dict[str, Any] = {"n": {"bounds": (0, 9)}}
        if ends is not None:
            for name in self.of(Type.INTEGER, Type.FLOAT):
                columns[name] = {"bounds": bounds(schema["t"][name], ends)}
        table: dict[str, Any] = {"privacy_unit": unit, "columns": columns}
        if unit != "row":
            table["max_rows"] = most
        return Catalog.build(Policy.model_validate({"budget": 1, "tables": {"t": table}}), schema, {})


def bounds(column: ColumnSchema, ends: str) -> tuple[float, float]:
    """Bounds of a number."""
    lo, hi = (-(10**299), 10**299) if column.lo is None or column.hi is None else (column.lo, column.hi)
    far = 17 * 10**307 if column.type is Type.FLOAT else hi
    near = hi - abs(hi) // 2**40 - 100
    return {NARROW: (-100 if lo < 0 else -50, 100), WIDE: (lo, hi), TOP: (near, hi), HUGE: (-far, far)}[ends]


@dataclass(frozen=True)
class Probe:
    """A question about some columns.

    Attributes:
        takes: the logical types of the columns that it is asked of.
        write: the question, from the names of the columns.
        unit: the privacy unit of the table.
        ends: which bounds the numbers have.
        most: rows kept of a unit.
        alone: whether it is asked of one column at a time.
        by_row: whether it is asked of every row by itself, too: an engine may look at the least and the greatest value
            of a column first, and compute otherwise.
    """

    takes: tuple[Type, ...]
    write: Callable[[Sequence[str]], str]
    unit: str = "row"
    ends: str | None = None
    most: int = 3
    alone: bool = False
    by_row: bool = False


def run(bench: Bench, sql: str, catalog: Catalog) -> None:
    """Plan and run a question, as far as exact integers; the groups that would be found are found first.

    Raises:
        QueryRefused: the question is not answered, which the text and the policy decide.
        EngineError: a value made it fail.
    """
    planned = plan(sql, catalog, Fraction(1), delta=Fraction(1, 100) if "GROUP BY 1" in sql else Fraction(0))
    for release in planned.releases:
        run_release(bench.engine, release)


def run_release(engine: Engine, release: PlannedRelease) -> None:
    """Run what a release asks of the engine."""
    if release.discovery is None:
        exact_integers(release, engine, SALT)
        return
    compiled = compile_discovery(release, engine.dialect, SALT)
    engine.keys(compiled.sql, compiled.tables, lambda counts: np.arange(0))


def faults(
    bench: Bench, probe: Probe, most: int = 10**9, turn: int | None = None, every: int = TURN
) -> list[str]:
    """The types that make a question fail, each with a row that does it; empty when none does; see `each_fault`."""
    return list(each_fault(bench, probe, most, turn, every))


def each_fault(
    bench: Bench, probe: Probe, most: int = 10**9, turn: int | None = None, every: int = TURN
) -> Iterator[str]:
    """The types that make a question fail, each with a row that does it, one by one as they are found.

    Args:
        bench: an engine.
        probe: a question.
        most: of how many columns it is asked in a run that is not deep; a deep run asks it of all. It is asked of ten
            rows by themselves then, of all in a deep run.
        turn: where it is a number and the run is not deep: of some columns only, from the one on whose turn it is.
        every: of each third column then, or of each second, fourth, …
    """
    catalog = bench.catalog(probe.unit, probe.ends, probe.most)
    columns = few(bench.of(*probe.takes), most)
    if turn is not None and not DEEP:
        columns = asked_of(columns, turn, every)
    size = 1 if probe.alone else bench.together
    for some in (columns[at : at + size] for at in range(0, len(columns), size)):
        yield from _faults(bench, probe, some, catalog)
        for row in few(range(bench.rows), 10) if probe.by_row else ():
            if not _runs(bench, _of_row(probe.write(some), row), catalog):
                yield f"row {row} alone: {probe.write(some)}"


def asked_of(columns: Sequence[str], turn: int, every: int = TURN) -> list[str]:
    """The columns of which a question is asked whose turn it is."""
    return list(columns[turn % every :: every])


def _faults(bench: Bench, probe: Probe, columns: Sequence[str], catalog: Catalog) -> Iterator[str]:
    if not columns or _runs(bench, probe.write(columns), catalog):
        return
    if len(columns) > 1:
        half, apart = len(columns) // 2, False
        for some in (columns[:half], columns[half:]):
            for fault in _faults(bench, probe, some, catalog):
                apart = True
                yield fault
        if not apart:
            yield f"{', '.join(bench.types[c] for c in columns)} together"
        return
    sql = probe.write(columns)
    where = next((row for row in range(bench.rows) if not _runs(bench, _of_row(sql, row), catalog)), None)
    yield f"{bench.types[columns[0]]}, row {where}: {sql}"


def _of_row(sql: str, row: int) -> str:
    if sql.endswith("FROM t"):  # a measure reads a column of a table that was only filtered in its own way
        return f"{sql} WHERE id = {row}"
    return sql.replace("FROM t", f"FROM (SELECT * FROM t WHERE id = {row})")


def _runs(bench: Bench, sql: str, catalog: Catalog) -> bool:
    try:
        run(bench, sql, catalog)
    except EngineError:
        return False
    return True


def refused(bench: Bench, sql: str, catalog: Catalog) -> QueryRefused | None:
    """Why a question is refused; None when it is answered."""
    try:
        plan(sql, catalog, Fraction(1), delta=Fraction(1, 100))
    except QueryRefused as error:
        return error
    return None
