"""A schema in front of a table is left out where it is that of every engine, and refused with the name to write."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryRefused


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return dp.protect({"visits": pa.table({"who": [1, 2]})}, policy=dp.Policy.model_validate(
        {"budget": 1, "tables": {"visits": {"privacy_unit": "who", "max_rows": 1}}}))  # fmt: skip


@pytest.mark.parametrize("schema", ["main", "public", "dbo", '"default"'])
def test_the_schema_of_every_engine_says_nothing(session: dp.Session, schema: str) -> None:
    assert session.preview(f"SELECT COUNT(*) AS n FROM {schema}.visits", 1).epsilon == 1


@pytest.mark.parametrize(("table", "written"), [
    ("sales.visits", "visits"), ("visits.csv", "visits"), ("Visits.parquet", "Visits"), ("sales.other", "other"),
])  # fmt: skip
def test_the_name_to_write_is_one_of_the_session_where_one_was_meant(
    session: dp.Session, table: str, written: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        session.preview(f"SELECT COUNT(*) AS n FROM {table}", 1)
    assert caught.value.fix == f"Write {written}."
