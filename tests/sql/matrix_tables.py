"""The tables of the matrix of types: on each engine a table and its neighbours, with a column of every type or of one.

`wide` has all types at once. Its people have one value all, or all values; the chosen person, who is in one of two
neighbours, has each value in turn, before all other rows or after them. `of_units` has the type as that of the unit;
its neighbours lack one person, who is a class of values that the engine itself holds equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import duckdb
import pyarrow as pa
from tests import servers, shared
from tests.depth import few as spread
from tests.sql import equal_pairs
from tests.sql.physical import types

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.engines.schema import TableSchema, Type

CHOSEN = 500
"""The id of the first row of the person who is in one of two neighbours."""
PEOPLE = 6
TYPES = {"duckdb": types.DUCKDB, "postgres": types.POSTGRES, "spark": types.SPARK}
NEAR: dict[str, dict[str, list[str]]] = {
    "duckdb": {
        "BIGINT": ["9007199254740992", "9007199254740993"],
        "UBIGINT": [str(10**18 + at) for at in range(4)],
        "HUGEINT": [str(10**18 + at) for at in range(4)],
        "DECIMAL(38,0)": [str(10**18 + at) for at in range(4)],
        "TIMESTAMP_NS": ["'2020-01-01 00:00:00.000000001'", "'2020-01-01 00:00:00.000000002'"],
        "TIMESTAMPTZ": ["'2020-01-01 00:00:00+00'", "'2020-01-01 02:00:00+02'", "'2020-01-01 00:00:00+02'"],
        "VARCHAR": ["'a'", "'A'", "'a '", "'012'", "'é'", "'e\u0301'"],
        "UUID": ["'00000000-0000-0000-0000-000000000001'"],
    },
    "postgres": {
        "int8": ["9007199254740992", "9007199254740993"],
        "numeric": [*(str(10**18 + at) for at in range(4)), "1000000000000000000.000"],
        "timestamptz": ["'2020-01-01 00:00+00'", "'2020-01-01 02:00+02'"],
        "text": ["'a'", "'A'", "'a '", "'012'", "'é'", "'e\u0301'"],
        "char(30)": ["'a'", "'a '", "'A'"],
        "uuid": ["'00000000-0000-0000-0000-000000000001'", "'{00000000000000000000000000000001}'"],
    },
    "spark": {
        "DECIMAL(38,0)": [str(10**18 + at) for at in range(4)],
        "STRING": ["'a'", "'A'", "'a '", "'012'"],
    },
}  # fmt: skip
"""Values that differ by so little that a unit read as another type would lose the difference, or gain one."""


@cache
def kinds(dialect: str) -> Mapping[str, Sequence[str]]:
    """The values of every type, as literals; those that are equal but not alike come first."""
    out: dict[str, list[str]] = {}
    for pair in equal_pairs.PAIRS:
        if pair.engine == dialect and not equal_pairs.lacking(pair):
            kind = {"REAL": "FLOAT"}.get(pair.kind, pair.kind)
            out.setdefault(kind, []).extend([pair.one, pair.other])
    for kind, values in [*NEAR[dialect].items(), *TYPES[dialect].items()]:
        out.setdefault(kind, []).extend(values)
    # A value that is drawn anew would be another person in each row.
    fixed = {kind: [value for value in values if "uuid()" not in value] for kind, values in out.items()}
    return {kind: list(dict.fromkeys(values)) for kind, values in fixed.items()}


def _cast(value: str, kind: str) -> str:
    return f"CAST({value} AS {kind.partition(' COLLATE')[0]})"


@dataclass
class Here:
    """Some of the versions, one of which is in use; as an engine it is the one in use.

    Attributes:
        engines: of each version; one and the same where a switch tells which it shows.
        switch: makes a version of that engine the one it shows.
        slices: into how many the units are split.
    """

    engines: Sequence[Engine]
    switch: Sequence[Callable[[], None]]
    slices: int = 1
    engine: Any = None

    def use(self, version: int) -> None:
        """Make a version the one in use."""
        self.switch[version]()
        self.engine = self.engines[version]
        if self.slices > 1:
            self.engine.__dict__["slices"] = self.slices
        else:
            self.engine.__dict__.pop("slices", None)

    @property
    def dialect(self) -> str:
        """Of the engine."""
        return str(self.engines[0].dialect)

    @property
    def lacks(self) -> Any:
        """What the engine cannot compute."""
        return getattr(self.engines[0], "lacks", frozenset())

    def integers(self, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Ask the version in use."""
        return self.engine.integers(sql, tables)

    def keys(self, sql: str, tables: Mapping[str, pa.Table], choose: Any) -> pa.Table:
        """Ask the version in use."""
        return self.engine.keys(sql, tables, choose)


@dataclass
class Tables:
    """A table and its neighbours.

    Attributes:
        names: of the versions.
        groups: versions whose first is a neighbour of all the others, by adding or removing a unit.
        replacing: the same, where a unit was replaced by another.
        same: versions with the same rows as the first of their group, in another order.
        engines: by version.
        switch: by version, what makes it the one in use.
        columns: the type of each column that is tried.
    """

    names: list[str]
    groups: list[list[int]]
    replacing: list[list[int]]
    same: set[int]
    engines: list[Engine] = field(default_factory=list)
    switch: list[Callable[[], None]] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)

    def at(self, versions: Sequence[int], slices: int = 1) -> Here:
        """Some of the versions."""
        return Here([self.engines[at] for at in versions], [self.switch[at] for at in versions], slices)

    def neighbours(self, replaced: bool) -> list[list[int]]:
        """Versions, the first of which is a neighbour of each other."""
        return self.replacing if replaced else self.groups

    @property
    def schema(self) -> Mapping[str, TableSchema]:
        """Of all versions."""
        return self.engines[0].schema()

    @property
    def logical(self) -> dict[str, Type]:
        """How queries see each column."""
        return {name: self.schema["t"][name].type for name in self.columns}


Row = tuple[int, int, int, int]
"""The id, the unit, the small number n, and which of its values each column has."""


def _wide(size: int, by_row: bool, few: bool) -> tuple[Tables, list[list[Row]]]:
    """The versions, as rows; of the wide table."""
    rows = 1 if by_row else 2

    def people(value: Callable[[int], int], without: int = -1) -> list[Row]:
        return [(at, at // rows, at % 10, value(at)) for at in range(PEOPLE * rows) if at // rows != without]

    def chosen(first: int) -> list[Row]:
        # One row, or three, two of them alike, so that max_rows 2 has to choose.
        picked = [first] if by_row else [first, (first + 1) % size, first]
        return [(CHOSEN + at, CHOSEN, 7, value) for at, value in enumerate(picked)]

    everything = [(at, at // rows, at % 10, at) for at in range(size + 1)]
    names, versions = ["one value"], [people(lambda at: 0)]
    placed = [(first, bool(first % 2)) for first in range(size)]
    # Of the first two values, which are equal but not alike where there are such, each at either end. A deep run: of
    # all values; that each value of each type can be asked is seen in `physical/test_physical_types.py` in every run.
    placed = [(0, True), (1, True)] if few else [*spread(placed, 5), (0, True), (1, False)]
    for first, before in placed:
        names.append(f"and the chosen with value {first}")
        versions.append(chosen(first) + versions[0] if before else versions[0] + chosen(first))
    added = list(range(1, len(versions)))
    start = len(versions)
    names += ["all values", "in another order", "without one person", "with the chosen"]
    versions += [
        everything,
        everything[::-1],
        [row for row in everything if row[1] != 1],
        chosen(1) + everything,
    ]
    groups = [[0, *added], [start, *range(start + 1, len(versions))]]
    return Tables(names, groups, [added, added[::-1]], {start + 1}), versions


_FIRST = {"duckdb": "BIGINT", "postgres": "bigint", "spark": "BIGINT"}


@lru_cache(maxsize=6)
def wide(dialect: str, by_row: bool) -> Tables:
    """A column for each type."""
    every = kinds(dialect)
    size = max(map(len, every.values()))
    tables, versions = _wide(size, by_row, dialect == "spark")
    tables.columns = {f"c{at}": kind for at, kind in enumerate(every)}
    cells = [
        ", ".join(_cast(values[at % len(values)], kind) for kind, values in every.items())
        for at in range(size)
    ]
    cells.append(", ".join(_cast("NULL", kind) for kind in every))
    columns = {"id": _FIRST[dialect], "u": _FIRST[dialect], "n": _FIRST[dialect], **tables.columns}
    lines: Lines = [[(row[:3], row[3]) for row in version] for version in versions]
    _MAKE[dialect](tables, columns, cells, lines, None, f"wide_{int(by_row)}")
    return tables


@cache
def _classes(dialect: str, kind: str) -> list[list[str]]:
    """The values of a type, those together that the engine groups together; each by itself where it cannot."""
    values = list(kinds(dialect)[kind])
    listed = " UNION ALL ".join(
        f"SELECT {at} AS place, {_cast(value, kind)}{_collated(kind)} AS x" for at, value in enumerate(values)
    )
    gathered = {"duckdb": "list(place)", "postgres": "array_agg(place)", "spark": "collect_list(place)"}[
        dialect
    ]
    sql = f"SELECT {gathered} FROM ({listed}) AS v GROUP BY x"
    try:
        if dialect == "duckdb":
            groups = shared.plain().execute(sql).fetchall()
        elif dialect == "spark":
            groups = servers.spark().sql(sql).collect()
        else:
            with servers.connect(_postgres()) as server:
                groups = server.execute(sql).fetchall()
    except Exception:  # of any driver: the type has no equality
        return [[value] for value in values]
    return [[values[at] for at in one] for one in sorted(sorted(group) for (group,) in groups)]


def _collated(kind: str) -> str:
    return " COLLATE" + kind.partition(" COLLATE")[2] if " COLLATE" in kind else ""


MOST_PEOPLE = {"duckdb": 6, "postgres": 6, "spark": 3}


@lru_cache(maxsize=3)
def of_units(dialect: str, kind: str, other: str) -> Tables:
    """Tables t whose unit `id` is of a type, each without one person, and one table s with units of another type."""
    classes = _classes(dialect, kind)
    missing = range(min(len(classes), MOST_PEOPLE[dialect]))
    cells: list[str] = []
    lines: Lines = []
    for at, one in enumerate(classes):
        cells += [
            f"{_cast(one[place % len(one)], kind)}, 1, {(at * 5 + place) % 100}, {at % 3}"
            for place in range(5)
        ]
    whole = list(range(len(cells)))
    orders = [[*whole[1::2], *whole[::2]], whole]
    for version in (None, *missing):
        order = orders[0 if version is None else version % 2]
        lines.append([((), at) for at in order if version is None or at // 5 != version])
    lines.append([((), at) for at in reversed(orders[0])])
    names = ["everybody", *(f"without person {at}" for at in missing), "in another order"]
    near = list(range(1, 1 + len(missing)))
    # Who is missing in one is there in the other: one person was replaced.
    tables = Tables(names, [[0, *near, len(lines) - 1]], [near] if len(near) > 1 else [], {len(lines) - 1})
    tables.columns = {"id": kind}
    whole_number = _FIRST[dialect]
    columns = {"id": kind, "v": whole_number, "n": whole_number, "m": whole_number}
    second = [values[-1] for values in _classes(dialect, other)[::2]]
    s = [f"{_cast(value, other)}, 1, {at % 10}, 0" for at, value in enumerate(second)]
    _MAKE[dialect](tables, columns, cells, lines, ({**columns, "id": other}, s), "units")
    return tables


Lines = list[list[tuple[tuple[int, ...], int]]]
"""By version its rows: the numbers in front, and which line of cells follows them."""
Second = tuple[dict[str, str], list[str]] | None


def _listed(line: list[tuple[tuple[int, ...], int]], cells: Sequence[str]) -> list[str]:
    return [", ".join([*map(str, front), cells[at]]) for front, at in line]


def _ddl(name: str, columns: Mapping[str, str]) -> str:
    return f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})"


def _units_on_duckdb(
    tables: Tables, columns: dict[str, str], cells: list[str], lines: Lines, second: Second, name: str
) -> None:
    """One database, in which a number tells which version is the table: opening one takes longer than a question."""
    assert second is not None
    connection, schema = _duckdb()
    own = ", ".join(columns)
    values = ", ".join(f"({at}, {line})" for at, line in enumerate(cells))
    places = ", ".join(f"({version}, {place}, {at})" for version, line in enumerate(lines)
                       for place, (_, at) in enumerate(line))  # fmt: skip
    for sql in (
        _ddl("cells", {"at_": "INTEGER", **columns}),
        f"INSERT INTO cells VALUES {values}",
        _ddl("every", {"version_": "INTEGER", **columns}),
        f"INSERT INTO every SELECT version_, {own} FROM (VALUES {places}) AS f(version_, place, at_) "
        "JOIN cells USING (at_) ORDER BY version_, place",
        "DROP TABLE cells",
        "CREATE TABLE used AS SELECT 0 AS at_",
        f"CREATE VIEW t AS SELECT {own} FROM {schema}.every WHERE version_ = (SELECT at_ FROM {schema}.used)",
        _ddl("s", second[0]),
        f"INSERT INTO s VALUES {', '.join(f'({row})' for row in second[1])}",
    ):
        connection.execute(sql)
    engine = DuckDBEngine.open_all([(f"{schema}.{table}", connection, {}) for table in "ts"])

    def using(version: int) -> Callable[[], None]:
        return lambda: _nothing(connection.execute(f"UPDATE {schema}.used SET at_ = {version}"))

    for version in range(len(lines)):
        tables.engines.append(engine)
        tables.switch.append(using(version))


def _on_duckdb(
    tables: Tables, columns: dict[str, str], cells: list[str], lines: Lines, second: Second, name: str
) -> None:
    if second is not None:
        _units_on_duckdb(tables, columns, cells, lines, second, name)
        return
    own = ", ".join(columns)
    front = [column for column in columns if column in ("id", "u", "n")]
    kept = [column for column in columns if column not in front]
    values = ", ".join(f"({at}, {line})" for at, line in enumerate(cells))
    connection, source = _duckdb()
    connection.execute(_ddl("cells", {"at_": "INTEGER", **{column: columns[column] for column in kept}}))
    connection.execute(f"INSERT INTO cells VALUES {values}")
    for line in lines:  # each version is a table of its own, whose statistics are those of its own rows
        _, schema = _duckdb()
        connection.execute(_ddl("t", columns))
        fronts = ", ".join(f"({place}, {', '.join(map(str, (*numbers, at)))})"
                           for place, (numbers, at) in enumerate(line))  # fmt: skip
        if line:
            named = ", ".join(["place", *front, "at_"])
            connection.execute(
                f"INSERT INTO t SELECT {own} FROM (VALUES {fronts}) AS f({named}) JOIN {source}.cells USING (at_) "
                "ORDER BY place"
            )
        connection.execute(f"CREATE VIEW s AS SELECT * FROM {schema}.t WHERE n < 4")
        tables.engines.append(
            DuckDBEngine.open_all([(f"{schema}.{table}", connection, {}) for table in "ts"])
        )
        tables.switch.append(_nothing)
    connection.execute(f"DROP TABLE {source}.cells")


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": "1"})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


_SCHEMAS = itertools.count()


def _duckdb() -> tuple[duckdb.DuckDBPyConnection, str]:
    """The database of this process, and a new schema that it now uses: a new database takes longer than a question."""
    schema = f"tables_{next(_SCHEMAS)}"
    _connection().execute(f"CREATE SCHEMA {schema}; SET schema = '{schema}'")
    return _connection(), schema


def _nothing(*_: object) -> None:
    """Each version has its own engine."""


@cache
def _postgres() -> str:
    url, _ = equal_pairs._postgres()
    with servers.connect(url) as connection:
        connection.execute(
            "DROP SCHEMA IF EXISTS matrix CASCADE; CREATE SCHEMA matrix; SET search_path = matrix, public; "
            "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS int2; CREATE DOMAIN label AS text; "
            "CREATE TYPE pair AS (a int, b text)"
        )
        name = connection.execute("SELECT quote_ident(current_database())").fetchall()[0][0]
        connection.execute(f"ALTER DATABASE {name} SET search_path = public, matrix")
    return url


def make_on_postgres(
    tables: Tables, columns: dict[str, str], cells: list[str], lines: Lines, second: Second, name: str
) -> None:
    from discreet.engines.postgres import PostgresEngine

    url = _postgres()
    own = ", ".join(columns)
    here = f"WHERE version_ = (SELECT at FROM matrix.{name}_used)"
    front = [column for column in columns if column in ("id", "u", "n")] if second is None else []
    kept = {column: kind for column, kind in columns.items() if column not in front}
    with servers.connect(url) as connection:
        connection.execute("SET search_path = matrix, public")
        for made in ("used", "cells", "every", "s"):
            connection.execute(f"DROP TABLE IF EXISTS {name}_{made} CASCADE")
        connection.execute(f"DROP VIEW IF EXISTS {name}_s")
        connection.execute(f"CREATE TABLE {name}_used (at int); INSERT INTO {name}_used VALUES (0)")
        connection.execute(_ddl(f"{name}_cells", {"at_": "int", **kept}))
        connection.execute(
            f"INSERT INTO {name}_cells VALUES {', '.join(f'({at}, {line})' for at, line in enumerate(cells))}"
        )
        connection.execute(_ddl(f"{name}_every", {"version_": "int", **columns}))
        fronts = ", ".join(
            f"({', '.join(map(str, (version, place, *numbers, at)))})"
            for version, line in enumerate(lines)
            for place, (numbers, at) in enumerate(line)
        )
        named = ", ".join(["version_", "place", *front, "at_"])
        connection.execute(
            f"INSERT INTO {name}_every SELECT version_, {own} FROM (VALUES {fronts}) AS f({named}) "
            f"JOIN {name}_cells USING (at_) ORDER BY version_, place"
        )
        connection.execute(f"CREATE VIEW {name}_t AS SELECT {own} FROM {name}_every {here}")
        if second is None:
            connection.execute(f"CREATE VIEW {name}_s AS SELECT {own} FROM {name}_every {here} AND n < 4")
        else:
            connection.execute(_ddl(f"{name}_s", second[0]))
            connection.execute(f"INSERT INTO {name}_s VALUES {', '.join(f'({row})' for row in second[1])}")
    engine = PostgresEngine.open_all([("t", f"{url}#matrix.{name}_t"), ("s", f"{url}#matrix.{name}_s")])

    def using(version: int) -> Callable[[], None]:
        return lambda: _say(f"UPDATE matrix.{name}_used SET at = {version}")

    for version in range(len(lines)):
        tables.engines.append(engine)
        tables.switch.append(using(version))


@cache
def _speaker() -> Any:
    return servers.connect(_postgres())


def _say(sql: str) -> None:
    _speaker().execute(sql)


def _on_spark(
    tables: Tables, columns: dict[str, str], cells: list[str], lines: Lines, second: Second, name: str
) -> None:
    from discreet.engines.spark import SparkEngine

    spark = servers.spark()

    def frame(rows: Sequence[str], kinds_: Mapping[str, str]) -> Any:
        made = spark.sql(f"SELECT * FROM VALUES {', '.join(f'({row})' for row in rows)}").toDF(*kinds_)
        typed = [f"`{column}`{_collated(kind)} AS `{column}`" for column, kind in kinds_.items()]
        return made.selectExpr(*typed).coalesce(1).localCheckpoint()

    fixed = frame(second[1], second[0]) if second is not None else None
    for line in lines:
        t = frame(_listed(line or lines[0], cells), columns)
        t = t if line else t.where("false")  # the one person of a type with one value is missing
        tables.engines.append(SparkEngine.open_all([("t", t), ("s", fixed or t.where("n < 4"))]))
        tables.switch.append(_nothing)


_MAKE: dict[str, Callable[[Tables, dict[str, str], list[str], Lines, Second, str], None]] = {
    "duckdb": _on_duckdb,
    "postgres": make_on_postgres,
    "spark": _on_spark,
}
