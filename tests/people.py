"""People, their visits and the counties: the tables that tests of questions share, with their policy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import discreet as dp
from tests import shared

_RNG = np.random.default_rng(5)
_ROWS, UNITS = 3000, 700
VISITS = pa.table(
    {
        "patient": _RNG.integers(0, UNITS, _ROWS),
        "age": _RNG.integers(0, 100, _ROWS),
        "cost": np.round(_RNG.lognormal(6, 1, _ROWS), 2).clip(0, 9000),
        "county": _RNG.choice(["A", "B", "C", "D"], _ROWS),
        "day": pa.array([dt.date(2024, 1, 1) + dt.timedelta(int(d)) for d in _RNG.integers(0, 366, _ROWS)]),
    }
)
PEOPLE = pa.table(
    {"id": np.arange(UNITS), "sex": _RNG.choice(["f", "m"], UNITS), "height": _RNG.integers(150, 200, UNITS)}
)
COUNTIES = pa.table({"county": ["A", "B", "C", "D"], "region": ["N", "N", "S", "S"], "pop": [10, 20, 30, 40]})
TABLES = {"visits": VISITS, "people": PEOPLE, "counties": COUNTIES}
DECLARED: dict[str, Any] = {
    "budget": 10,
    "tables": {
        "visits": {
            "privacy_unit": "patient",
            "max_rows": 100_000,
            "columns": {
                "age": {"bounds": [0, 120]},
                "cost": {"bounds": [0, 10_000]},
                "county": {"keys": "counties.county"},
                "day": {"bounds": [dt.date(2024, 1, 1), dt.date(2024, 12, 31)]},
            },
        },
        "people": {
            "privacy_unit": "id",
            "max_rows": 1,
            "columns": {"sex": {"keys": ["f", "m"]}, "height": {"bounds": [100, 220]}},
        },
        "counties": {"public": True},
    },
}
"""Their policy; max_rows is so large that no row is dropped."""


def protected(tables: Mapping[str, pa.Table] = TABLES) -> dp.Session:
    """A session over the tables."""
    return shared.protect(dict(tables), policy=dp.Policy(**DECLARED))


def plain_duckdb(tables: Mapping[str, pa.Table] = TABLES) -> duckdb.DuckDBPyConnection:
    """Plain DuckDB over the same tables."""
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    return connection
