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


def test_a_frame_keeps_its_types_beside_null() -> None:
    rows = pa.table({"n": [1, None], "yes": [True, None], "whole": [1, 2], "x": [0.5, None]})
    frame = SyntheticTable(rows, "people", Fraction(1), Fraction(0), {}, REPORT).to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "boolean", "int64", "float64"]
    assert (frame["n"][0], frame["yes"][0]) == (1, True)
    assert frame.isna().sum().tolist() == [1, 1, 0, 1]


def test_words() -> None:
    assert repr(TABLE).splitlines()[:2] == [
        "2 synthetic rows of people, 2 columns · epsilon 1",
        "without name: it has no keys and no bounds",
    ]
    assert TABLE.to_dict()["rows"] == len(TABLE) == len(TABLE.to_pandas())
