"""The notes of an answer name the values that it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import discreet as dp

MISFIT = "values that do not fit the declared type of their column, which are NULL"


def notes(path: Path, **policy: Any) -> str:
    with dp.protect(
        path, table="t", privacy_unit="id", max_rows=1, budget=9, ledger=":memory:", **policy
    ) as session:
        return str(session.sql("SELECT COUNT(t) AS n FROM t", epsilon=1).card())


def test_texts_that_are_read_in_a_declared_type_may_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,t\n1,9:27AM\n2,3\n")
    assert MISFIT in notes(path, bounds={"t": (0, 24)})
    assert MISFIT not in notes(path)


def test_the_types_of_a_database_always_fit(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1, 2], "t": [3, 4]}), tmp_path / "t.parquet")
    assert MISFIT not in notes(tmp_path / "t.parquet", bounds={"t": (0, 24)})


def test_counts_of_the_rows_of_a_unit_as_a_key_are_clamped() -> None:
    """The last group holds all units with so many rows or more."""
    import pyarrow as pa

    visits = pa.table({"id": [1, 1, 1, 1, 2]})
    each = "(SELECT id, COUNT(*) AS visits FROM t GROUP BY id) AS each"
    with dp.protect(visits, table="t", privacy_unit="id", max_rows=3, budget=9, ledger=":memory:") as session:
        answers = [
            str(session.sql(f"SELECT {key} AS k, COUNT(*) AS n FROM {each} GROUP BY {key}", epsilon=1).card())
            for key in ("visits", "visits + 1", "clamp(visits, 1, 2)")
        ]
    assert ["clamped as if it had max_rows rows at most" in one for one in answers] == [True, True, False]
