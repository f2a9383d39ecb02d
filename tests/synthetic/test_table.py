"""A synthetic table is written whole, with no formula in a CSV file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.errors import InvalidParameter
from discreet.synthetic.table import SyntheticTable
from tests.synthetic.test_report import REPORT

ROWS = pa.table({"county": ["=cmd()", None], "n": [1, 2]})
TABLE = SyntheticTable(
    ROWS, "people", Fraction(1), Fraction(0), {"name": "it has no keys and no bounds"}, REPORT
)


def test_files(tmp_path: Path) -> None:
    assert parquet.read_table(TABLE.save(tmp_path / "a.parquet")).equals(ROWS)
    assert TABLE.save(tmp_path / "a.csv").read_text().splitlines() == ['"county","n"', '"\'=cmd()",1', ",2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.parquet"]
    (tmp_path / "folder.csv").mkdir()
    for name in ("a.xlsx", "nowhere/a.csv", "folder.csv"):
        with pytest.raises(InvalidParameter):
            TABLE.save(tmp_path / name)


def test_words() -> None:
    assert repr(TABLE).splitlines()[:2] == [
        "2 synthetic rows of people, 2 columns · epsilon 1",
        "without name: it has no keys and no bounds",
    ]
    assert TABLE.to_dict()["rows"] == len(TABLE) == len(TABLE.to_pandas())
