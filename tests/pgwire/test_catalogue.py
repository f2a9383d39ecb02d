from __future__ import annotations

from pathlib import Path

from discreet.pgwire import catalogue
from discreet.server.dataset import open_dataset
from tests.server.conftest import make_hospital
from tests.servers import connect, postgres


def test_the_columns_are_those_of_a_real_server() -> None:
    with connect(postgres()) as connection:
        rows = connection.execute(
            "SELECT table_schema, table_name, column_name FROM information_schema.columns "
            "WHERE table_schema IN ('pg_catalog', 'information_schema')"
        ).fetchall()
    known = {
        (name if schema == "pg_catalog" else f"{schema}.{name}", column) for schema, name, column in rows
    }
    ours = {(table, column) for table, found in catalogue.columns().items() for column in found}
    older = {("pg_database", "daticulocale"), ("pg_collation", "colliculocale")}  # of the version that we say
    assert ours - known == older
    assert len(ours) > 800


def test_it_is_filled_from_the_policy_and_from_no_data(tmp_path: Path) -> None:
    dataset = open_dataset(make_hospital(tmp_path))
    (tmp_path / "visits.parquet").unlink()
    tables = catalogue.tables(dataset.schema(), "hospital", "ana")
    dataset.session.close()
    assert tables["of_pg_class"].column("relname").to_pylist() == ["visits"]
    assert tables["of_pg_attribute"].column("attname").to_pylist() == ["patient_id", "age", "county"]
    assert tables["of_information_schema_columns"].column("data_type").to_pylist() == [
        "bigint",
        "bigint",
        "text",
    ]
    assert "0 … 120" in tables["of_pg_description"].column("description").to_pylist()[1]
    assert set(tables["of_pg_attribute"].column("atttypid").to_pylist()) <= set(
        tables["of_pg_type"].column("oid").to_pylist()
    )
