"""The property harness on PostgreSQL: neighbouring tables move its integers by no more than the plan says.

There is no chance of a false alarm. Power: that of `test_sensitivity`, whose planted faults the same check finds, and
one of them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings
from tests import servers
from tests.depth import examples
from tests.sql import harness, neighbours

from discreet.engines.postgres import PostgresEngine

KINDS = ("bigint", "bigint", "float8", "text", "boolean", "float8", "date", "bigint")


class Versions(PostgresEngine):
    """A server that holds several versions of one table."""

    url = ""

    @classmethod
    def start(cls) -> Versions:
        """The engine over views of the version in use."""
        url = servers.postgres()
        columns = ", ".join(f"{field.name} {kind}" for field, kind in zip(harness.ARROW, KINDS, strict=True))
        names = ", ".join(field.name for field in harness.ARROW)
        here = "FROM harness.every WHERE version = (SELECT n FROM harness.used)"
        with servers.connect(url) as connection:
            connection.execute(
                f"DROP SCHEMA IF EXISTS harness CASCADE; CREATE SCHEMA harness; CREATE TABLE harness.used (n int); "
                f"CREATE TABLE harness.every (version int, {columns}); INSERT INTO harness.used VALUES (0); "
                f"CREATE VIEW harness.t AS SELECT {names} {here}; "
                f"CREATE VIEW harness.s AS SELECT u, a AS p, e AS q {here} AND d"
            )
        engine = cls.open_all([("t", f"{url}#harness.t"), ("s", f"{url}#harness.s")])
        assert isinstance(engine, Versions)
        engine.url = url
        return engine

    def load(self, versions: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        """Replace all versions."""
        with servers.connect(self.url) as connection:
            connection.execute("TRUNCATE harness.every")
            with connection.cursor() as cursor, cursor.copy("COPY harness.every FROM STDIN") as copy:
                for at, version in enumerate(versions):
                    for row in version:
                        copy.write_row((at, *row))

    def use(self, version: int) -> None:
        """Make a version the table `t`."""
        with servers.connect(self.url) as connection:
            connection.execute("UPDATE harness.used SET n = %s", (version,))


@pytest.fixture(scope="module")
def engine() -> Versions:
    return Versions.start()


def test_no_neighbour_moves_the_integers_further_than_the_plan_says(engine: Versions) -> None:
    neighbours.see_no_violation(engine, settings(neighbours.RELAXED, max_examples=examples(5, 100)))


def test_one_row_too_many_is_found(engine: Versions) -> None:
    neighbours.find_one_row_too_many(engine)
