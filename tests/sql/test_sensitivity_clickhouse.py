"""The property harness on ClickHouse: neighbouring tables move its integers by no more than the plan says.

There is no chance of a false alarm. Power: that of `test_sensitivity`, whose planted faults the same check finds, and
one of them here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from pyarrow import parquet
from tests import servers
from tests.depth import examples
from tests.sql import harness, neighbours

from discreet.engines.clickhouse import ClickHouseEngine

LACKING = "LEFT JOIN pub ON t.a > pub.weight"
"""The engine cannot join so, which the probe says before a charge: `tests/engines/clickhouse`."""


class Versions(ClickHouseEngine):
    """The embedded ClickHouse with several versions of one table."""

    @classmethod
    def start(cls) -> Versions:
        """The engine over views of the version in use."""
        session = servers.clickhouse()
        columns = ", ".join(
            f"`{field.name}` Nullable({servers.CLICKHOUSE[field.type]})" for field in harness.ARROW
        )
        names = ", ".join(field.name for field in harness.ARROW)
        here = "FROM harness.every WHERE version = (SELECT max(n) FROM harness.used)"
        for sql in (
            "DROP DATABASE IF EXISTS harness", "CREATE DATABASE harness",
            "CREATE TABLE harness.used (n Int64) ENGINE = Memory", "INSERT INTO harness.used VALUES (0)",
            f"CREATE TABLE harness.every (version Int64, {columns}) ENGINE = Memory",
            f"CREATE VIEW harness.t AS SELECT {names} {here}",
            f"CREATE VIEW harness.s AS SELECT u, a AS p, e AS q {here} AND d",
        ):  # fmt: skip
            session.query(sql)
        engine = cls.open_all([("harness.t", session), ("harness.s", session)])
        assert isinstance(engine, Versions)
        return engine

    def load(self, versions: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        """Replace all versions."""
        session = servers.clickhouse()
        session.query("TRUNCATE TABLE harness.every")
        rows = [(at, *row) for at, version in enumerate(versions) for row in version]
        lists = zip(*rows, strict=True) if rows else [()] * (1 + len(harness.ARROW))
        fields = [pa.field("version", pa.int64()), *harness.ARROW]
        arrays = [
            pa.array(list(one), field.type, from_pandas=False)
            for one, field in zip(lists, fields, strict=True)
        ]
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            parquet.write_table(pa.table(dict(zip((f.name for f in fields), arrays, strict=True))), file.name)
            session.query(f"INSERT INTO harness.every SELECT * FROM file('{file.name}', Parquet)")

    def use(self, version: int) -> None:
        """Make a version the table `t`."""
        servers.clickhouse().query("TRUNCATE TABLE harness.used")
        servers.clickhouse().query(f"INSERT INTO harness.used VALUES ({version})")


@pytest.fixture(scope="module")
def engine() -> Versions:
    return Versions.start()


def test_no_neighbour_moves_the_integers_further_than_the_plan_says(engine: Versions) -> None:
    neighbours.see_no_violation(engine, settings(neighbours.RELAXED, max_examples=examples(2, 100)), LACKING)


def test_one_row_too_many_is_found(engine: Versions) -> None:
    neighbours.find_one_row_too_many(engine, LACKING)
