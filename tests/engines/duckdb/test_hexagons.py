"""The function of H3 in DuckDB: on every connection, never failing, and nothing left over at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import h3
import pyarrow as pa

from discreet.engines.duckdb.connection import connect, seal
from discreet.engines.duckdb.hexagons import provide
from discreet.engines.hexagons import NAME

ASKED = f"SELECT lower(hex({NAME}(lat, lng, 7))) AS cell FROM points"


def test_a_sealed_connection_and_its_cursors_have_it() -> None:
    connection = connect()
    seal(connection)
    points = pa.table({"lat": [52.1, None, float("nan"), 91.0], "lng": [5.1, 5.1, 5.1, None]})
    for one in (connection, connection, connection.cursor(), connection.cursor()):
        one.register("points", points)
        provide(one, ASKED)
        assert one.sql(ASKED).fetchall() == [(h3.latlng_to_cell(52.1, 5.1, 7),), (None,), (None,), (None,)]
    connection.close()


def test_a_database_that_is_only_read_has_it(tmp_path: Path) -> None:
    path = str(tmp_path / "points.duckdb")
    with duckdb.connect(path) as made:
        made.execute("CREATE TABLE points AS SELECT 52.1::DOUBLE AS lat, 5.1::DOUBLE AS lng FROM range(5000)")
    with duckdb.connect(path, read_only=True) as reader:
        provide(reader, ASKED)
        assert set(reader.sql(ASKED).fetchall()) == {(h3.latlng_to_cell(52.1, 5.1, 7),)}


def test_another_query_registers_nothing() -> None:
    connection = connect()
    provide(connection, "SELECT 1")
    listed = f"SELECT count(*) FROM duckdb_functions() WHERE function_name = '{NAME}'"
    assert connection.sql(listed).fetchall() == [(0,)]
    connection.close()


def test_a_process_that_ends_with_it_says_nothing() -> None:
    """DuckDB's binding complains at the end about functions that were not let go of."""
    code = (
        "from discreet.engines.duckdb.connection import connect; from discreet.engines.duckdb.hexagons import provide; "
        f"kept = connect(); provide(kept, '{NAME}'); kept.sql('SELECT {NAME}(1.0, 2.0, 3)').fetchall()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
