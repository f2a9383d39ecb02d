"""Connections of Ibis are opened by the engine of what is inside, and answer as it does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests import servers
from tests.depth import DEEP

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.ibis import IbisEngine
from discreet.engines.postgres import PostgresEngine
from discreet.engines.sources import open_source
from discreet.errors import SourceError
from discreet.sql import conformance

PART = "questions by u, 100"


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Ibis warns of the versions of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def ibis() -> Any:
    return pytest.importorskip("ibis")


def test_duckdb() -> None:
    connection = ibis().duckdb.connect()
    for name, table in conformance.tables().items():
        connection.con.register("given", table)
        connection.con.execute(f"CREATE TABLE {name} AS FROM given")
    engine = open_source(connection)
    assert isinstance(engine, DuckDBEngine)
    # tests/sql/conformance asks the same engine all of them.
    assert conformance.check(engine, [PART], 1 if DEEP else 5) == []


def test_postgresql() -> None:
    url = servers.postgres()
    tables = conformance.tables()
    servers.load(url, "public", {"t": tables["t"], "s": tables["s"], "pub": tables["pub"]})
    connection = ibis().connect(url)
    engine = open_source(dict.fromkeys(("t", "s", "pub"), connection))
    assert isinstance(engine, PostgresEngine)
    assert conformance.check(engine, [PART], 1 if DEEP else 5) == []
    connection.disconnect()


def test_another_backend_is_refused() -> None:
    with pytest.raises(SourceError):
        IbisEngine.open_all([("t", SimpleNamespace(name="bigquery", con=object()))])
