"""Units at the end of a path, on every engine: each row has the owner that plain Python finds, whatever the key is."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests import servers
from tests.depth import DEEP, few
from tests.sql import paths

import discreet as dp
from discreet.mechanisms import LaplaceVector

KINDS = {
    "BIGINT": "{}", "VARCHAR": "k{}", "UUID": "00000000-0000-0000-0000-0000000000{:02d}", "DECIMAL(30, 1)": "{}.5",
    "DOUBLE": "{}.25", "HUGEINT": "10{:02d}", "DATE": "2020-01-{:02d}",
}  # fmt: skip
"""The types of keys and units, and how the numbers of the data are spelled in each."""
LOOKED_AT = [
    "SELECT c, COUNT(*) AS n, SUM(v) AS s FROM lines GROUP BY c ORDER BY c",
    "SELECT kind, COUNT(*) AS n FROM lines JOIN orders ON lines.oid = orders.oid GROUP BY kind ORDER BY kind",
    "SELECT kind, COUNT(*) AS n FROM people, lines, orders WHERE lines.oid = orders.oid AND people.pid = orders.pid "
    "GROUP BY kind ORDER BY kind",
    "SELECT kind, COUNT(*) AS n FROM orders WHERE NOT EXISTS (SELECT 1 FROM lines WHERE lines.oid = orders.oid "
    "AND lines.c = orders.kind) GROUP BY kind ORDER BY kind",
]
ROOMY = paths.policy(caps=(1_000, 1_000, 10_000)).model_copy(update={"budget": dp.Budget(epsilon=10**6)})


def owners(data: paths.Data) -> dict[str, list[tuple[paths.Row, int]]]:
    """The rows of each table that have an owner, with that."""
    out = {"people": [(row, row[1]) for row in data["people"]]}
    for parent, child, at in (("people", "orders", 1), ("orders", "lines", 0)):
        held: dict[int | None, set[int | None]] = {}
        for row, owner in out[parent]:
            held.setdefault(row[0], set()).add(owner)
        sure = {key: next(iter(found)) for key, found in held.items() if key is not None and len(found) == 1}
        out[child] = [(row, sure.get(row[at])) for row in data[child]]
    return {name: [(row, owner) for row, owner in rows if owner is not None] for name, rows in out.items()}


def expected(data: paths.Data) -> list[list[tuple[Any, ...]]]:
    """The answers to `LOOKED_AT` without noise."""
    rows = owners(data)
    lines, orders, people = rows["lines"], rows["orders"], rows["people"]
    pairs = [(o, p) for line, p in lines for o, q in orders if line[0] == o[0] and p == q]
    threes = [o for o, p in pairs for person, q in people if person[0] == o[1] and p == q]
    alone = [o for o, p in orders if not any(n[0] == o[0] and n[2] == o[2] and q == p for n, q in lines)]
    values = {c: [min(max(n[1], 0), 5) for n, _ in lines if n[2] == c and n[1] is not None] for c in "xy"}
    return [
        [(c, sum(n[2] == c for n, _ in lines), sum(values[c])) for c in "xy"],
        *([(k, sum(o[2] == k for o in some)) for k in "xy"] for some in ([o for o, _ in pairs], threes, alone)),
    ]  # fmt: skip


@contextmanager
def silence() -> Iterator[None]:
    """Leave the noise out."""
    with mock.patch.object(LaplaceVector, "release", lambda self, exact: exact):
        yield


EVERY = range(len(LOOKED_AT))


def answers(session: dp.Session, asked: Sequence[int] = EVERY) -> list[list[tuple[Any, ...]]]:
    """The answers of a session to all questions or to some."""
    with silence():
        found = [session.sql(LOOKED_AT[at], epsilon=100).to_arrow() for at in asked]
    names = [("c", "n", "s") if at == 0 else ("kind", "n") for at in asked]
    return [
        [
            tuple(round(v) if isinstance(v, float) else v for v in row)
            for row in zip(*(t[n].to_pylist() for n in own), strict=True)
        ]
        for t, own in zip(found, names, strict=True)
    ]


def in_turn(at: int) -> Sequence[int]:
    """The questions that a source is asked: each second, the next source those between them; in a deep run all."""
    return EVERY if DEEP else EVERY[at % 2 :: 2]


def see_owners(session: dp.Session, data: paths.Data, asked: Sequence[int]) -> None:
    """The answers are those about the rows of each owner."""
    assert answers(session, asked) == [expected(data)[at] for at in asked]


def data_of(seed: int) -> dict[str, list[paths.Row]]:
    return paths.random_data(random.Random(seed))


@cache
def _database_of_tables() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": "1"})


def tables_of(data: paths.Data, kind: str = "BIGINT") -> dict[str, pa.Table]:
    """The rows as Arrow tables, with keys and units of a type of DuckDB."""
    spelling = KINDS[kind]
    connection = _database_of_tables()
    out = {}
    for name, columns in paths.COLUMNS.items():
        kinds = [
            kind if c in ("pid", "oid", "home") else "VARCHAR" if c in ("kind", "c") else "BIGINT"
            for c in columns
        ]
        connection.execute(
            f"CREATE OR REPLACE TABLE {name} ({', '.join(map(' '.join, zip(columns, kinds, strict=True)))})"
        )
        for row in data[name]:
            values = [
                v if v is None or c not in ("pid", "oid", "home") else spelling.format(v + 1)
                for c, v in zip(columns, row, strict=True)
            ]
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", values)
        out[name] = connection.table(name).to_arrow_table()
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_key_finds_the_owner(kind: str) -> None:
    seeds = (0, 4, 5)  # each of them with two of the types; a deep run: with all
    for seed in seeds if DEEP else seeds[list(KINDS).index(kind) % 3 :][:1]:
        data = data_of(seed)
        session = dp.protect(tables_of(data, kind), policy=ROOMY)
        see_owners(session, data, in_turn(list(KINDS).index(kind)))


def test_keys_that_queries_see_as_one_double_lead_to_owners_of_their_own() -> None:
    data = data_of(5)
    with mock.patch.dict(KINDS, HUGEINT="1000000000000000000000{:02d}"):
        session = dp.protect(tables_of(data, "HUGEINT"), policy=ROOMY)
    see_owners(session, data, EVERY[:1])


def _parquet(tables: dict[str, pa.Table], folder: Path) -> Any:
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return {name: str(folder / f"{name}.parquet") for name in tables}


def _csv(tables: dict[str, pa.Table], folder: Path) -> Any:
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return {name: str(folder / f"{name}.csv") for name in tables}


def _frames(tables: dict[str, pa.Table], folder: Path) -> Any:
    return {name: table.to_pandas(types_mapper=pd.ArrowDtype) for name, table in tables.items()}


def _database(tables: dict[str, pa.Table], folder: Path) -> Any:
    connection = duckdb.connect(folder / "data.duckdb")
    for name, table in tables.items():
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    connection.close()
    return f"duckdb:{folder / 'data.duckdb'}"


SOURCES = [_parquet, _csv, _frames, _database]


@pytest.mark.parametrize("made", SOURCES)
def test_files_and_frames_find_the_owner(made: Callable[..., Any], tmp_path: Path) -> None:
    data = data_of(5)
    session = dp.protect(made(tables_of(data), tmp_path), policy=ROOMY)
    see_owners(session, data, in_turn(SOURCES.index(made)))


KEYS = (("people", "home"), ("people", "pid"), ("orders", "pid"), ("orders", "oid"), ("lines", "oid"))


NATIVE = [("BIGINT", "numeric"), ("VARCHAR", "text"), ("UUID", "uuid"), ("DOUBLE", "float4")]


@pytest.mark.parametrize(("kind", "native"), NATIVE)
def test_postgres_finds_the_owner(kind: str, native: str) -> None:
    data = data_of(5)
    tables = tables_of(data, kind)
    stored = {n: _spelled(t) for n, t in tables.items()} if kind == "UUID" else tables
    places = servers.load(servers.postgres(), "key_paths", stored)
    with servers.connect(servers.postgres()) as connection:
        for table, key in KEYS:
            connection.execute(
                f"ALTER TABLE key_paths.{table} ALTER {key} TYPE {native} USING {key}::{native}"
            )
    with dp.protect(places, policy=ROOMY, ledger=":memory:") as session:
        see_owners(session, data, in_turn(NATIVE.index((kind, native))))


def _spelled(table: pa.Table) -> pa.Table:
    """A table whose UUIDs are texts."""
    kinds = [pa.string() if field.name in ("pid", "oid", "home") else field.type for field in table.schema]
    lists = [[None if v is None else str(v) for v in c.to_pylist()] if k == pa.string() else c.to_pylist()
             for c, k in zip(table.columns, kinds, strict=True)]  # fmt: skip
    return pa.table([pa.array(v, k) for v, k in zip(lists, kinds, strict=True)], table.column_names)


def test_spark_finds_the_owner() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = servers.spark()
        data = data_of(5)
        frames = {
            name: session.createDataFrame([tuple(row) for row in data[name]], _SPARK[name]).coalesce(1)
            for name in data
        }
        asked = few(EVERY, 2)  # a deep run: every question
        see_owners(dp.protect(frames, policy=ROOMY), data, asked)


_SPARK = {
    "people": "pid BIGINT, home BIGINT, age INT", "orders": "oid BIGINT, pid BIGINT, kind STRING",
    "lines": "oid BIGINT, v BIGINT, c STRING",
}  # fmt: skip
