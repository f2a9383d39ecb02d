"""Tables of PostgreSQL are found in its catalogue, whatever else has the catalogue's names."""

from __future__ import annotations

import pyarrow as pa
from tests.servers import connect, load, postgres

from discreet.engines.postgres.tables import find


def test_a_temporary_table_does_not_stand_before_the_catalogue() -> None:
    load(postgres(), "hidden", {"visits": pa.table({"a": [1, 2, 3]})})
    with connect(postgres()) as connection:
        connection.execute("CREATE TEMPORARY TABLE pg_class (oid oid, relname name)")
        assert list(find(connection, None, "hidden.visits")["visits"].schema) == ["a"]
