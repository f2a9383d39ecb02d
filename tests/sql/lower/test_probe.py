"""What can be known without reading a row is known before the charge, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import servers
from tests.depth import in_turn

import discreet as dp
from discreet.errors import EngineError, InvalidParameter, QueryRefused, SourceError
from discreet.session.queries import Queries
from discreet.session.session import Session

ROWS = pa.table(
    {"id": list(range(300)), "v": [float(i % 90) for i in range(300)], "c": ["a", "b", "b"] * 100}
)
QUESTION = "SELECT c, AVG(v) AS a FROM t GROUP BY c"


def protect(source: object) -> Session:
    return dp.protect(
        source, table="t", privacy_unit="id", max_rows=1, bounds={"v": (0, 100)}, keys={"c": ["a", "b"]}, budget=100,
        ledger=":memory:",
    )  # fmt: skip


def _removed(path: Path) -> None:
    path.unlink()


def _without(column: str) -> Callable[[Path], None]:
    return lambda path: pq.write_table(ROWS.drop_columns([column]), path)


def _spoiled(path: Path) -> None:
    path.write_bytes(b"no parquet" * 20)


def _retyped(path: Path) -> None:
    pq.write_table(ROWS.set_column(1, "v", ROWS["c"]), path)


DAMAGE = [_removed, _without("v"), _without("c"), _without("id"), _spoiled, _retyped]


# A deep run: each damage to a file and to one of a folder.
@pytest.mark.parametrize(("damage", "many"), in_turn(DAMAGE, [False, True]))
def test_a_file_that_has_gone_or_changed(tmp_path: Path, damage: Callable[[Path], None], many: bool) -> None:
    (tmp_path / "t").mkdir()
    for name in ("1.parquet", "2.parquet"):
        pq.write_table(ROWS, tmp_path / "t" / name)
    last = tmp_path / "t" / "2.parquet"
    with protect(tmp_path / "t" if many else last) as session:
        session.sql(QUESTION, epsilon=1)
        damage(last)
        with pytest.raises(SourceError, match="The table t cannot be read"):
            session.sql(QUESTION, epsilon=2)
        with pytest.raises(SourceError, match="nothing was charged"):
            session.write(QUESTION, 2, tmp_path / "a.csv")
        assert session.budget.spent == 1
        pq.write_table(ROWS, last)
        session.sql(QUESTION, epsilon=2)


def test_the_check_is_what_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: without the probe, the same question is charged and fails."""
    monkeypatch.setattr(Queries, "probe", lambda *_: None)
    pq.write_table(ROWS, tmp_path / "t.parquet")
    with protect(tmp_path / "t.parquet") as session:
        (tmp_path / "t.parquet").unlink()
        with pytest.raises(EngineError):
            session.sql(QUESTION, epsilon=2)
        assert session.budget.spent == 2


def test_a_file_of_another_schema_among_many(tmp_path: Path) -> None:
    for name in ("1.parquet", "2.parquet"):
        pq.write_table(ROWS, tmp_path / name)
    _retyped(tmp_path / "2.parquet")
    with pytest.raises(SourceError, match=r"2\.parquet has other columns than .*1\.parquet"):
        protect(str(tmp_path / "*.parquet"))
    pq.write_table(ROWS.set_column(0, "id", ROWS["id"].cast(pa.int16())), tmp_path / "2.parquet")
    with protect(str(tmp_path / "*.parquet")) as session:  # narrower, which is read without loss
        session.sql(QUESTION, epsilon=1)


@pytest.mark.parametrize(
    "change", ["DROP TABLE t", "ALTER TABLE t DROP v", "ALTER TABLE t ALTER c TYPE BLOB"]
)
def test_a_table_of_the_callers_connection(change: str) -> None:
    connection = duckdb.connect()
    connection.register("rows", ROWS)
    connection.execute("CREATE TABLE t AS FROM rows")
    with protect(connection) as session:
        session.sql(QUESTION, epsilon=1)
        connection.execute(change)
        with pytest.raises(SourceError, match="The table t cannot be read"):
            session.sql(QUESTION, epsilon=2)
        assert session.budget.spent == 1


@pytest.mark.parametrize("change", [
    "DROP TABLE gone.t", "ALTER TABLE gone.t DROP v", "REVOKE SELECT ON gone.t FROM reader",
    "REVOKE USAGE ON SCHEMA gone FROM reader",
])  # fmt: skip
def test_a_table_of_postgresql(change: str) -> None:
    url = servers.postgres()
    servers.load(url, "gone", {"t": ROWS})
    with servers.connect(url) as owner:
        owner.execute("DROP ROLE IF EXISTS reader")
        owner.execute("CREATE ROLE reader LOGIN")
        owner.execute("GRANT USAGE ON SCHEMA gone TO reader; GRANT SELECT ON gone.t TO reader")
        try:
            with protect(f"{url.replace('//postgres', '//reader')}#gone.t") as session:
                session.sql(QUESTION, epsilon=1)
                owner.execute(change)
                with pytest.raises(SourceError, match="The table t cannot be read"):
                    session.sql(QUESTION, epsilon=2)
                assert session.budget.spent == 1
        finally:
            owner.execute("DROP SCHEMA gone CASCADE; DROP ROLE reader")


def test_more_columns_than_postgresql_takes() -> None:
    url = servers.postgres()
    servers.load(url, "wide", {"t": ROWS})
    moments = ", ".join(
        f"KURTOSIS(v) FILTER (WHERE c > '{i}') AS n{i}" for i in range(400)
    )  # of five integers each
    with protect(f"{url}#wide.t") as session:
        with pytest.raises(QueryRefused, match="cannot run this question"):
            session.sql(f"SELECT {moments} FROM t", epsilon=1)
        assert session.budget.spent == 0


def test_a_file_that_has_gone_from_spark(tmp_path: Path) -> None:
    spark = servers.spark()
    pq.write_table(ROWS, tmp_path / "t.parquet")
    with protect(spark.read.parquet(str(tmp_path / "t.parquet"))) as session:
        session.sql(QUESTION, epsilon=1)
        (tmp_path / "t.parquet").unlink()
        with pytest.raises(SourceError, match="The table t cannot be read"):
            session.sql(QUESTION, epsilon=2)
        assert session.budget.spent == 1


ODD: list[Any] = [
    "SELECT COUNT(*) AS n\0 FROM t",
    'SELECT COUNT(*) AS "n\ud800" FROM t',
    "SELECT 1 -- \udcff",
]


@pytest.mark.parametrize("question", ODD, ids=range(len(ODD)))
def test_a_text_that_no_database_reads(question: str) -> None:
    with protect(ROWS) as session:
        for ask in (session.sql, session.preview):
            with pytest.raises(QueryRefused, match="none that a database can read"):
                ask(question, epsilon=1)
        assert session.budget.spent == 0


@pytest.mark.parametrize("item", ["[COUNT(*)]", "{'n': COUNT(*)}", "MAP {'n': COUNT(*)}"])
def test_a_list_does_not_go_into_a_csv_file(tmp_path: Path, item: str) -> None:
    with protect(ROWS) as session:
        with pytest.raises(InvalidParameter, match="cannot hold the column n"):
            session.write(f"SELECT {item} AS n FROM t", 1, tmp_path / "a.csv")
        assert session.budget.spent == 0
        session.write(f"SELECT {item} AS n FROM t", 1, tmp_path / "a.parquet")


def test_a_pattern_that_only_rows_would_show_to_be_too_complex() -> None:
    """PostgreSQL compiles a pattern when the first row needs it: its failure would tell that there is such a row."""
    url = servers.postgres()
    pattern = "(" * 90 + "." + ")" * 90 + "{255}"
    question = f"SELECT COUNT(*) AS n FROM t WHERE CASE WHEN id = 7 THEN regexp_matches(c, '{pattern}') END"
    for ids in ([7, 8], [8]):
        servers.load(url, "complex", {"t": pa.table({"id": ids, "c": ["a"] * len(ids)})})
        with dp.protect(
            f"{url}#complex.t", privacy_unit="id", max_rows=1, budget=9, ledger=":memory:"
        ) as session:
            with pytest.raises(QueryRefused, match="too complex"):
                session.sql(question, epsilon=1)
            assert session.budget.spent == 0
            session.sql("SELECT COUNT(*) AS n FROM t WHERE regexp_matches(c, '^[a-z]{1,9}$')", epsilon=1)
