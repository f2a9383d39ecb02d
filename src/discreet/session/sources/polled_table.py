"""A table of any engine that is read when periods of a stream have ended.

One statement for each poll, whose periods are public: a row of one of them has its time there, so no row is read twice.
Without a column that tells units apart the engine counts and adds up; else it hands over the first rows of each unit in
these periods, ordered by time, with a keyed hash for the unit. Either way nothing but integers leaves it, and which
rows of a unit those are is a function of its rows alone. `streams.counting.integers` bounds all polls together.

The hash has 120 bits of MD5 of a secret key of 128 bits and the unit. Two units of one hash would share a bound; of n
units some have with a chance of n^2/2^121, and without the key nobody can look for them.

The time of a row decides that it is new, and no number of the rows does: a mark such as the greatest serial number so
far would be a function of one person's row, by which the rows of all others could be lost.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from discreet.engines.engine import in_batches
from discreet.engines.schema import Type
from discreet.errors import SourceError, StreamError
from discreet.records import dataclass
from discreet.sql.algebra.catalog import Catalog, PrivateColumn, PrivateTable
from discreet.sql.dialects import named
from discreet.sql.expressions.dialect import SATURATE, Dialect, divided, quote, total, typed
from discreet.sql.expressions.expression import Expression, Literal, spell
from discreet.sql.functions.apply import must
from discreet.sql.lower.owners import unit_item
from discreet.sql.measures.measure import Moments, ValueGrid, scaled_sql
from discreet.streams.periods import EVERY, NO_TIME

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.engines.engine import Engine
    from discreet.policy import Policy
    from discreet.streams import StreamSpec

KEYS: Final = "discreet_keys"
_EXACT: Final = (Type.INTEGER, Type.TEXT)


@dataclass(frozen=True)
class PolledTable:
    """A private table of a policy.

    Attributes:
        policy: of the steward.
        opening: opens the engine, anew for each poll: a file may be locked meanwhile, or replaced.
    """

    policy: Policy
    opening: Callable[[], Engine]

    def see(self, spec: StreamSpec) -> None:
        """See, before a charge and by metadata alone, that the table could be polled.

        Raises:
            StreamError: a column is missing, or has another type.
            SourceError: the table cannot be opened or read.
        """
        with closing(self.opening()) as engine:
            sql, tables = self._query(engine, spec, 1, 1, bytes(32))
            look = getattr(engine, "probe", None)
            if look is not None and not look(sql, tables):
                raise SourceError(
                    "The engine cannot count in this table.", "Check that it is still in place."
                )

    def read(self, spec: StreamSpec, first: int, last: int, key: bytes) -> Iterator[pa.Table]:
        """The rows of some periods; see `streams.stream.Table`."""
        with closing(self.opening()) as engine:
            sql, tables = self._query(engine, spec, first, last, key)
            if spec.unit is None:
                yield engine.integers(sql, tables)
            else:
                yield from in_batches(engine, sql, "n", tables)

    def _query(
        self, engine: Engine, spec: StreamSpec, first: int, last: int, key: bytes
    ) -> tuple[str, dict[str, pa.Table]]:
        schemas = engine.schema()
        self.policy.check(schemas, getattr(engine, "csv_tables", ()))
        public = {name: engine.public(name) for name, table in self.policy.tables.items() if table.public}
        table = Catalog.build(self.policy, schemas, public).private[spec.table.lower()]
        return _Writer(table, spec, named(engine.dialect)).query(first, last, key)


@dataclass(frozen=True)
class _Writer:
    """Writes the statement of a poll."""

    table: PrivateTable
    spec: StreamSpec
    dialect: Dialect

    def query(self, first: int, last: int, key: bytes) -> tuple[str, dict[str, pa.Table]]:
        """The statement and the list of keys."""
        spec, dialect, tables = self.spec, self.dialect, {}
        sums = {f"s{index}": measure.ends for index, measure in enumerate(spec.measures) if measure.column}
        of_rows = [f"{self._period()} AS t"]
        of_rows += [f"{self._steps(int(name[1:]))} AS {name}" for name in sums]
        passed = ["r.t AS t"]
        passed += [
            f"CASE WHEN r.{name} < {lo} THEN {lo} WHEN r.{name} > {hi} THEN {hi} ELSE r.{name} END AS {name}"
            for name, (lo, hi) in sums.items()
        ]
        if spec.unit is not None:
            of_rows += [f"{self._unit()} AS u", f"{spell(self._time(), dialect)} AS w"]
            passed += ["r.u AS u", "r.w AS w"]
        source = quote(self.table.source or self.table.name, dialect)
        inside = self._inside(first, last)
        if spec.group is None:
            passed.append("CAST(0 AS BIGINT) AS slot")
            keys = ""
        else:
            column = self._column(spec.group, _EXACT, "a whole number or a text")
            of_rows.append(f"{spell(column.read, dialect)} AS k")
            passed.append("d.slot AS slot")
            tables[KEYS] = self._keys(column)
            keys = f" JOIN {KEYS} AS d ON r.k = d.name"
        rows = f"SELECT {', '.join(of_rows)} FROM {source} AS p WHERE {inside}"
        rows = f"SELECT {', '.join(passed)} FROM ({rows}) AS r{keys}"
        return typed(
            self._listed(rows, sums, key) if spec.unit else self._counted(rows, sums), dialect
        ), tables

    def _counted(self, rows: str, sums: Iterable[str]) -> str:
        items = ["t", "slot", "CAST(COUNT(*) AS BIGINT) AS n"]
        for name in sums:
            items.append(f"{self.dialect.saturate.format(total(name, self.dialect), SATURATE)} AS {name}")
            items.append(f"CAST(COUNT({name}) AS BIGINT) AS c{name[1:]}")
        return f"SELECT {', '.join(items)} FROM ({rows}) AS g GROUP BY t, slot"

    def _listed(self, rows: str, sums: Iterable[str], key: bytes) -> str:
        """The first rows of each unit, alike ones in any order, and `n`, their place."""
        order = ", ".join(f"{name} ASC NULLS LAST" for name in ("w", "slot", *sums))
        place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS n"
        ranked = f"SELECT g.*, {place} FROM ({rows}) AS g WHERE u IS NOT NULL"
        text = f"concat_ws('|', '{key[:16].hex()}', CAST(u AS VARCHAR))"
        items = ["t", "slot", "CAST(n AS BIGINT) AS n"]
        items += [
            f"{sql.format(text)} AS {name}" for name, sql in zip("uv", self.dialect.numbers, strict=True)
        ]
        for name in sums:
            items.append(f"COALESCE({name}, 0) AS {name}")
            items.append(f"CAST(CASE WHEN {name} IS NULL THEN 0 ELSE 1 END AS BIGINT) AS c{name[1:]}")
        return f"SELECT {', '.join(items)} FROM ({ranked}) AS l WHERE n <= {self.spec.rows}"

    def _column(self, name: str, kinds: tuple[Type, ...], words: str) -> PrivateColumn:
        found = self.table.columns.get(name.lower())
        if found is None:
            fix = NO_TIME if name == self.spec.time else "Name a column as the policy does."
            raise StreamError(f"The table has no column {name}.", fix)
        if found.type not in kinds:
            raise StreamError(
                f"The column {name} is not {words}.",
                "Declare its type in the policy, or show it through a view.",
            )
        return found

    def _time(self) -> Expression:
        wanted = (Type.TIMESTAMP, Type.DATE)
        return self._column(self.spec.time, wanted, "a date or a time stamp").read

    def _inside(self, first: int, last: int) -> str:
        time, periods = self._time(), self.spec.periods
        ends = [spell(_literal(periods.begin(t), time.type), self.dialect) for t in (first, last + 1)]
        column = spell(time, self.dialect)
        return f"{column} >= {ends[0]} AND {column} < {ends[1]}"

    def _period(self) -> str:
        """The number of the period of a time that is not before the first."""
        periods, time = self.spec.periods, self._time()
        if periods.every == "month":
            year, month = (spell(must(name, time), self.dialect) for name in ("year", "month"))
            months = periods.start.year * 12 + periods.start.month
            return f"CAST({year} * 12 + {month} - {months} + 1 AS BIGINT)"
        start = spell(must("epoch_ms", _literal(periods.start, Type.TIMESTAMP)), self.dialect)
        passed = f"({spell(must('epoch_ms', time), self.dialect)} - {start})"
        number = divided(passed, str(1000 * EVERY[periods.every]), self.dialect)
        return f"CAST({number} + 1 AS BIGINT)"

    def _steps(self, index: int) -> str:
        """A value in steps of its grid, clamped; NULL for none."""
        measure = self.spec.measures[index]
        column = self._column(measure.column, (Type.INTEGER, Type.FLOAT), "a number")
        grid = ValueGrid(float(measure.lo), float(measure.hi), measure.grid, measure.most)
        steps = scaled_sql(Moments(-1, column.read, grid, False), self.dialect)
        return f"CAST({steps} AS BIGINT)"

    def _unit(self) -> str:
        unit = self.table.unit
        if (
            unit is None
            or unit.type not in _EXACT
            or (unit.identity and unit.identity.kind != unit.type.name)
        ):
            raise StreamError(
                "The privacy unit of this table is not a whole number or a text.",
                "Show it as a text through a view.",
            )
        own = unit_item(self.table, self.dialect)
        return f"NULLIF({own}, '')" if unit.type is Type.TEXT else own

    def _keys(self, column: PrivateColumn) -> pa.Table:
        import pyarrow as pa

        whole = column.type is Type.INTEGER
        listed = [
            (int(key) if whole else key, slot)
            for slot, key in enumerate(self.spec.keys)
            if not whole or _whole(key)
        ]
        kind = pa.int64() if whole else pa.string()
        names, places = zip(*listed, strict=True) if listed else ((), ())
        return pa.table({"name": pa.array(names, kind), "slot": pa.array(places, pa.int64())})


def _whole(key: str) -> bool:
    """Whether a key is the text of an integer of 64 bits."""
    try:
        return str(int(key)) == key and -(1 << 63) <= int(key) < 1 << 63
    except ValueError:
        return False


def _literal(when: dt.datetime, kind: Type) -> Literal:
    """The first moment of a period; where the column holds dates the first day that begins in it."""
    if kind is Type.TIMESTAMP:
        return Literal(when, Type.TIMESTAMP)
    later = when.time() != dt.time() and when.date() < dt.date.max
    return Literal(when.date() + dt.timedelta(days=1) * later, Type.DATE)
