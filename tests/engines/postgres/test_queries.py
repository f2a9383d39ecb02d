"""The settings of a query on PostgreSQL: ours for its length, and those that somebody has set stay."""

from __future__ import annotations

import pytest
from tests.servers import connect, postgres

from discreet.engines.postgres.queries import run_quietly

PER_GATHER, LEAST_SIZE = "max_parallel_workers_per_gather", "min_parallel_table_scan_size"
SHOWN = f"SELECT current_setting('{PER_GATHER}'), current_setting('{LEAST_SIZE}')"


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (("2", "8MB"), ("4", "2MB")),
        (("0", "8MB"), ("0", "2MB")),
        (("7", "64MB"), ("7", "64MB")),
    ],
)
def test_more_workers_scan_where_nobody_has_set_how_many(
    own: tuple[str, str], expected: tuple[str, str]
) -> None:
    with connect(postgres()) as connection:
        for name, value in zip((PER_GATHER, LEAST_SIZE), own, strict=True):
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        found = run_quietly(connection, SHOWN, [])
        assert found is not None
        assert found[2] == [expected]
        assert connection.execute(SHOWN).fetchone() == own
