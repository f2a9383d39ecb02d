"""Answers as bytes: every form holds the same rows, and an Arrow stream reads back as the same answer."""

from __future__ import annotations

import datetime as dt
import io
import json
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from discreet.errors import InvalidParameter
from discreet.far import shown
from discreet.release import documents
from discreet.release.answer import Release
from discreet.release.documents import FORMS, AnswerText, arrow_bytes, dump, from_arrow
from discreet.session.budget import BudgetState

VALUES = pa.table({"n": pa.array([3, None], pa.int64()), "n_low": ["=1", "b"], "x": [1.5, float("inf")]})
ENDS = {"n": pa.array([1.0, None]), "x": pa.array([0.5, None])}
RELEASE = Release(
    "SELECT n", VALUES, ENDS, ENDS, 0.9, Fraction(1, 3), ("hides one row",), dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    replayed=True, delta=Fraction(1, 10**9), without=("x",), meanings={"x": "a quantile"}, warnings=("few",),
    simultaneous=True,
)  # fmt: skip
BUDGET = BudgetState(Fraction(2), Fraction(1, 3))


def test_an_arrow_stream_reads_back_as_the_same_answer() -> None:
    back = from_arrow(arrow_bytes(RELEASE))
    assert back.values.equals(RELEASE.values)
    for ends, own in ((back.low, RELEASE.low), (back.high, RELEASE.high)):
        assert {name: column.to_pylist() for name, column in ends.items()} == {
            name: column.to_pylist() for name, column in own.items()
        }
    others = set(vars(RELEASE)) - {"values", "low", "high", "deployment"}
    assert back.deployment() == RELEASE.deployment()
    assert {name: getattr(back, name) for name in others} == {name: getattr(RELEASE, name) for name in others}


def test_every_form_has_the_same_columns_and_rows() -> None:
    forms = {name: write(RELEASE, BUDGET) for name, (_, write) in FORMS.items()}
    columns = RELEASE.to_arrow().column_names
    assert csv.read_csv(io.BytesIO(forms["csv"])).column_names == columns
    assert parquet.read_table(io.BytesIO(forms["parquet"])).column_names == columns
    said = json.loads(forms["json"])
    assert [list(row) for row in said["rows"]] == [columns] * 2
    assert said["rows"][1]["x"] is None  # JSON has no infinity
    assert said["budget"] == {"epsilon": "2", "spent": "1/3", "left": "5/3"}
    assert b"'=1" in forms["csv"]  # a spreadsheet runs nothing


@pytest.mark.parametrize("question", ["SELECT n", 'SELECT \'"replayed": false, \' AS "replayed": \u202e'])
@pytest.mark.parametrize("replayed", [True, False])
def test_a_text_that_is_kept_says_the_same_as_the_answer(question: str, replayed: bool) -> None:
    release = replace(RELEASE, question=question, replayed=replayed)
    for kept in (release, replace(release, replayed=not replayed)):
        assert AnswerText.of(kept).text(replayed, BUDGET).encode() == FORMS["json"][1](release, BUDGET)


@pytest.mark.parametrize("rows", [3, 1001])
def test_few_rows_and_many_are_written_alike(rows: int) -> None:
    document = {"question": "\u202e", "rows": [{"n": n, "day": dt.date(2026, 1, 2)} for n in range(rows)]}
    said = dump(document, None)
    assert "\u202e" not in said
    assert json.loads(said) == {**document, "rows": [{"n": n, "day": "2026-01-02"} for n in range(rows)]}
    with pytest.raises(ValueError, match="JSON compliant"):
        dump({"rows": [{"n": float("nan")}] * rows}, None)


@pytest.mark.parametrize("data", [b"", b"\x80\x04.", arrow_bytes(RELEASE)[:200]])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidParameter):
        from_arrow(data)


def test_a_table_without_notes_is_refused() -> None:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, VALUES.schema) as writer:
        writer.write_table(VALUES)
    with pytest.raises(InvalidParameter):
        from_arrow(sink.getvalue())


def test_rows_are_those_of_the_table_value_by_value() -> None:
    """Column by column, for every kind of column that an answer may have."""
    far = pa.array([2_932_897, None], pa.int32()).cast(pa.date32())  # a day beyond Python's last one
    values = pa.table({
        "i": pa.array([2**63 - 1, None], pa.int64()), "f": [float("nan"), -0.0], "t": ["NaN", None], "b": [True, None],
        "d": pa.array([dt.date(2026, 1, 2), None]), "m": pa.array([dt.datetime(2026, 1, 2, 3), None]), "far": far,
        "l": pa.array([[1.5, None], None]), "s": pa.array([{"x": 1.5}, None]), "nothing": pa.nulls(2),
        "h": pa.array([float("inf"), 1.5], pa.float32()),
    })  # fmt: skip
    release = replace(RELEASE, values=values, low={"f": ENDS["n"]}, high={"f": ENDS["x"]})
    said = [
        {name: documents._plain(value) for name, value in row.items()}
        for row in shown(release.to_arrow()).to_pylist()
    ]
    assert repr(documents.rows(release)) == repr(said)  # -0.0 is not 0.0, and 1 is not True
