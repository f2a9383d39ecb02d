"""Frames of pandas: no value of one person decides the type of a column, so no free answer tells of one cell."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import itertools
import uuid
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests import inside
from tests.depth import DEEP, few

import discreet as dp
from discreet.engines.duckdb.connection import connect
from discreet.engines.duckdb.sources import frames, pandas_types
from discreet.engines.duckdb.sources.frames import to_arrow
from discreet.engines.duckdb.sources.pandas_types import text, to_table
from discreet.engines.schema import ColumnSchema, Type
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError, SourceError

ROWS = 40
PLAIN: dict[str, list[Any]] = {
    "id": [1000 + at for at in range(ROWS)],
    "age": [at % 90 for at in range(ROWS)],
    "pay": [at / 4 for at in range(ROWS)],
    "town": ["ab"[at % 2] for at in range(ROWS)],
    "well": [at % 2 == 0 for at in range(ROWS)],
    "born": [dt.date(1950 + at, 1, 1) for at in range(ROWS)],
    "seen": [dt.datetime(2020, 1, 1, at % 24) for at in range(ROWS)],
    "cost": [Decimal(at) / 100 for at in range(ROWS)],
    "none": [None] * ROWS,
    "free": [at % 7 for at in range(ROWS)],
}
ODD: list[Any] = [
    None, float("nan"), pd.NA, pd.NaT, "1015 EUR", "", "7", 7, 2.5, -0.0, 2**70, 10**400, float("inf"), True,
    Decimal("1.000000000000000000001"), Decimal("NaN"), dt.date(2020, 2, 2), dt.datetime(2020, 2, 2, 3),
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))), pd.Timestamp(2020, 2, 2, tz="UTC"),
    np.datetime64("2020-02-02"), b"\xff", "\ud800", [1, 2], {"a": 1}, {1}, (1, "x"), object(), 1j, dt.time(1),
]  # fmt: skip
HOW: dict[str, Any] = {
    "privacy_unit": "id", "max_rows": 1, "budget": 100,
    "bounds": {"age": (0, 120), "pay": (0, 10), "cost": (0, 1), "born": (dt.date(1900, 1, 1), dt.date(2020, 1, 1))},
    "keys": {"town": ["a", "b"], "well": [True, False]}, "types": {"seen": "timestamp"},
}  # fmt: skip
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM data", "SELECT AVG(age) AS a, SUM(pay) AS p, SUM(cost) AS c FROM data",
    "SELECT town, COUNT(*) AS n FROM data GROUP BY town", "SELECT well, COUNT(*) AS n FROM data GROUP BY well",
    "SELECT COUNT(*) AS n FROM data WHERE born > DATE '1970-01-01' OR extract(hour FROM seen) < 12",
    "SELECT COUNT(none) AS n FROM data WHERE free = '3'", "SELECT COUNT(*) AS n FROM data WHERE free = 3",
    "SELECT SUM(free) AS n FROM data", "SELECT COUNT(DISTINCT id) AS n FROM data WHERE id > 5",
)  # fmt: skip


WHOLE = [None, "1015 EUR"]
"""Those for which all that is free is compared; for the others it is the schema, on which all else depends."""
IN_WHICH = list(PLAIN) if DEEP else ["id", "age", "town", "seen", "free"]
"""In which columns: the unit, and one of bounds, of keys, of a declared type and of nothing declared."""


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({**PLAIN, **columns})


def odd_in(name: str, odd: Any) -> pd.DataFrame:
    values = [odd, *PLAIN[name][1:]]
    try:
        return frame(**{name: values})
    except UnicodeEncodeError:  # pandas itself cannot choose a type
        return frame(**{name: pd.Series(values, dtype=object)})


def schema(data: pd.DataFrame, alike: Iterable[str] = (), name: str = "") -> dict[str, ColumnSchema]:
    """The columns as they are opened; those that are alike are declared as the one of that name."""
    types = {
        "age": "float",
        "pay": "float",
        "cost": "float",
        "born": "date",
        "seen": "timestamp",
        "well": "boolean",
    }
    if name in types:
        types |= dict.fromkeys(alike, types[name])
    with contextlib.closing(open_source(data, types=types)) as engine:
        return dict(engine.schema()["data"])


def outcomes(data: pd.DataFrame) -> list[object]:
    """What anybody may see for nothing: whether it opens, the schema, and what each preview shows or says."""
    try:
        session = dp.protect(data, **HOW)
    except DiscreetError as error:
        return [str(error)]
    with session:
        out: list[object] = [dict(inside.engine_of(session).schema()["data"])]
        for question in QUESTIONS:
            try:
                out.append(repr(session.preview(question, epsilon=1)))
            except DiscreetError as error:
                out.append(str(error))
        out.append(repr(session.sql(QUESTIONS[1], epsilon=50).epsilon))  # no cell makes it fail, either
        return out


Plain = tuple[list[object], dict[str, ColumnSchema]]


def of_plain() -> Plain:
    """What is seen of a frame without an odd cell."""
    return outcomes(frame()), schema(frame())


@pytest.fixture(scope="module")
def seen() -> Plain:
    """The same, once for all tests without a planted fault."""
    return of_plain()


@pytest.mark.parametrize("name", PLAIN)
def test_no_cell_decides_what_is_shown_for_nothing(name: str, seen: Plain) -> None:
    see_no_cell_decides(name, *seen)


def see_no_cell_decides(name: str, wanted: list[object], plain: dict[str, ColumnSchema]) -> None:
    assert len(wanted) == len(QUESTIONS) + 2
    some = (
        ODD if DEEP else ODD[list(PLAIN).index(name) % 5 :: 5]
    )  # each in two columns, and in a deep run in all
    # Each in a column of its own beside the others: one frame for all.
    columns = {f"{name} {odd!r}": odd for odd in some}
    data = pd.concat(
        [frame(), *(odd_in(name, odd)[[name]].set_axis([key], axis=1) for key, odd in columns.items())],
        axis=1,
    )
    assert schema(data, columns, name) == plain | {
        key: dataclasses.replace(plain[name], name=key) for key in columns
    }
    for odd in (WHOLE if DEEP else WHOLE[1:]) if name in IN_WHICH else ():
        assert outcomes(odd_in(name, odd)) == wanted, repr(odd)


def test_no_row_decides_either(seen: Plain) -> None:
    assert schema(frame().iloc[1:]) == schema(frame().iloc[:0]) == seen[1]


# A deep run sees it in six columns.
@pytest.mark.parametrize("name", few(["age", "free", "well", "seen", "cost", "id"], 3))
def test_types_that_pandas_chose_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the types of pandas are taken."""
    monkeypatch.setattr(
        frames, "_typed", lambda _, name, source, types: (to_arrow(name, source), frozenset())
    )
    with pytest.raises((AssertionError, SourceError)):
        see_no_cell_decides(name, *of_plain())


def test_a_type_that_looks_at_one_column_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: whole numbers without a missing one stay whole numbers."""
    told = pandas_types._was_told
    monkeypatch.setattr(pandas_types, "_was_told", lambda dtype: dtype == np.int64 or told(dtype))
    with pytest.raises(AssertionError):
        see_no_cell_decides("free", *of_plain())


SERIES = [
    pd.Series([1, -5, 2**53, 0]), pd.Series([2**63, 2**64 - 1, 0, 7], dtype="uint64"), pd.Series([1, 2], dtype="int8"),
    pd.Series([1.0, -0.0, float("nan"), 2.0**60]), pd.Series([1.5, 1e300, float("inf"), -(2.0**63), 2.0**63, 1e-7]),
    pd.Series([0.1, 2.5], dtype="float32"), pd.Series([1, float("nan")], dtype="float16"), pd.Series([True, False]),
    pd.Series(np.array(["2020-01-01T10:00:00.123456789", "NaT", "1700-01-01"], "datetime64[ns]")),
    pd.Series(np.array(["2020-01-01T10", "NaT", "-0001-01-01"], dtype="datetime64[s]")),
    pd.Series(np.array(["0001-01-01", "NaT", "9999-12-31T23:59:59.999999"], dtype="datetime64[us]")),
    pd.Series(["1", "x", None, "2020-01-01", " 7 ", "true"]), pd.Series([1, 2, None], dtype="category"),
]  # fmt: skip


@cache
def reading() -> Any:
    """One connection for all: it holds nothing between two tables."""
    return connect()


# A deep run reads each series as every type.
@pytest.mark.parametrize(
    ("at", "kind"), few(itertools.product(range(len(SERIES)), [kind for kind in Type if kind.single]), 12)
)
def test_the_short_way_leads_to_the_same(at: int, kind: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    short, _ = to_table(reading(), pd.DataFrame({"x": SERIES[at]}), {"x": kind})
    with monkeypatch.context() as patched:
        patched.setattr(pandas_types, "_short_way", lambda *_: None)
        long, _ = to_table(reading(), pd.DataFrame({"x": SERIES[at]}), {"x": kind})
    assert long.column("x").to_pylist() == short.column("x").to_pylist()
    assert long.column("x").type == short.column("x").type


def test_a_short_way_that_rounds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: numbers with a fraction are cut off where whole ones are wanted."""
    short = pandas_types._short_way

    def cut(series: Any, kind: Type) -> Any:
        return pa.array(series.to_numpy().astype(np.int64)) if kind is Type.INTEGER else short(series, kind)

    monkeypatch.setattr(pandas_types, "_short_way", cut)
    with pytest.raises(AssertionError):
        test_the_short_way_leads_to_the_same(5, Type.INTEGER, monkeypatch)


def test_a_type_that_somebody_gave_stays() -> None:
    data = pd.DataFrame(
        {
            "a": pd.array([1, None], "Int64"), "b": pd.array(["x", None], "string[pyarrow]"),
            "c": pd.Series([1, None], dtype=pd.ArrowDtype(pa.int32())), "d": pd.array([1.5, None], "Float64"),
            "e": pd.array([True, None], "boolean"), "f": ["x", "y"], "g": [1, 2],
        }
    )  # fmt: skip
    kinds = {name: column.type for name, column in open_source(data).schema()["data"].items()}
    whole, text = Type.INTEGER, Type.TEXT
    assert kinds == dict(
        zip("abcdefg", (whole, text, whole, Type.FLOAT, Type.BOOLEAN, text, text), strict=True)
    )


def test_the_types_of_a_public_frame_are_its_own() -> None:
    engine = open_source({"a": frame(), "b": frame()}, public=["b"])
    assert engine.schema()["a"]["free"].type is Type.TEXT
    assert engine.schema()["b"]["free"].type is Type.INTEGER
    with pytest.raises(SourceError, match="one type"):
        open_source({"b": pd.DataFrame({"x": ["a", 1]})}, public=["b"])


def test_values_keep_their_rows_and_units_apart() -> None:
    ids = [2**60 + at for at in range(50)]
    data = pd.DataFrame({"id": ids, "x": [str(at) for at in range(50)], "y": range(50)})
    table, _ = to_table(connect(), data, {"x": Type.INTEGER, "y": Type.FLOAT})
    assert table.to_pydict() == {
        "id": list(map(str, ids)),
        "x": list(range(50)),
        "y": list(map(float, range(50))),
    }


def test_no_error_quotes_a_value() -> None:
    class Hostile:
        def __eq__(self, other: object) -> bool:
            raise ValueError("secret")

        __hash__ = None  # type: ignore[assignment]

    assert open_source(pd.DataFrame({"x": [Hostile(), 1]})).schema()["data"]["x"].type is Type.TEXT
    with pytest.raises(SourceError, match="two columns of one name"):
        open_source(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    for empty in (pd.DataFrame(), pa.table({})):
        with pytest.raises(SourceError, match="has no columns"):
            open_source(empty)


@pytest.mark.parametrize("kind", [Type.INTEGER, Type.FLOAT, Type.TEXT])
def test_a_complex_number_takes_none_of_the_others_with_it(kind: Type) -> None:
    def read(values: list[Any]) -> list[Any]:
        table, _ = to_table(connect(), pd.DataFrame({"x": values}), {"x": kind})
        return list(table.column("x").to_pylist())

    shown = "1+2j" if kind is Type.TEXT else None
    assert read([3, 2.5, None, 1 + 2j]) == [*read([3, 2.5, None]), shown]
    assert read([3, 2, 4 + 0j]) == read([3, 2, 4])


@pytest.mark.parametrize("kind", [Type.TIMESTAMP, Type.DATE, Type.TEXT])
@pytest.mark.parametrize(("year", "month", "day", "zone"), [(1, 1, 1, 14), (9999, 12, 31, -14)])
def test_a_moment_outside_the_calendar_is_read_alike_beside_an_odd_value(
    kind: Type, year: int, month: int, day: int, zone: int
) -> None:
    moment = dt.datetime(year, month, day, 12 - zone // 2, tzinfo=dt.timezone(dt.timedelta(hours=zone)))
    read = [
        to_table(connect(), pd.DataFrame({"x": [moment, *odd]}), {"x": kind})[0].column("x")[0].is_valid
        for odd in ([], ["1015 EUR"])
    ]
    assert read == [False, False]


EXOTIC: dict[str, pd.Series[Any]] = {
    "durations": pd.Series(pd.to_timedelta([1, 2, None], unit="D")),
    "categories of durations": pd.Series(pd.to_timedelta([1, 2, None], unit="D")).astype("category"),
    "objects that are durations": pd.Series([dt.timedelta(1), np.timedelta64(2, "Y"), None], dtype=object),
    "times": pd.Series([dt.time(1), dt.time(2), None]),
    "identifiers": pd.Series([uuid.UUID(int=1), uuid.UUID(int=2), None]),
    "periods": pd.Series(pd.PeriodIndex(["2024-01", "2024-02", None], freq="M")),
    "intervals": pd.cut(pd.Series([1, 5, None]), [0, 2, 6]),
    "categories of numbers": pd.Series([1, 2, None], dtype="category"),
    "bytes": pd.Series([b"\xff", b"a", None]),
    "decimals": pd.Series([Decimal("1." + "3" * 60), Decimal(2), None]),
    "lists": pd.Series([[1], [], None]),
    "mappings": pd.Series([{"a": 1}, {}, None]),
    "complex numbers": pd.Series([1 + 2j, 3j, np.nan]),
    "durations of Arrow": pd.Series([1, 2, None], dtype=pd.ArrowDtype(pa.duration("s"))),
}
"""Two values that are there, and one that is not."""


@pytest.mark.parametrize("name", EXOTIC)
def test_a_value_of_any_kind_is_there_and_a_missing_one_is_not(name: str) -> None:
    # With epsilon 200 on three counts, another number than the true one has a chance below 1e-20.
    data = pd.DataFrame({"x": EXOTIC[name]})
    question = """SELECT COUNT(x) AS there, COUNT(*) FILTER (WHERE x IS NULL) AS gone,
                  COUNT(*) FILTER (WHERE x IS NOT NULL) AS too FROM data"""
    with dp.protect(data, privacy_unit="row", budget=200) as session:
        found = session.sql(question, epsilon=200).to_dict()
    assert [round(found[column][0]) for column in ("there", "gone", "too")] == [2, 1, 2]


@pytest.mark.parametrize(
    "alike",
    [
        [dt.timedelta(hours=36), pd.Timedelta("1 days 12:00:00"), np.timedelta64(36, "h"), np.timedelta64(2160, "m")],
        [pd.Timedelta(-1, "ns"), np.timedelta64(-1, "ns"), np.timedelta64(-1000, "ps")],
        [np.timedelta64(2, "Y"), np.timedelta64(24, "M")],
        [pd.Interval(0, 2), pd.Interval(0.0, 2.0)],
        [[1, "a"], (1.0, "a"), np.array([1, "a"], dtype=object)],
        [{1, 2}, frozenset([2, 1])],
        [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}],
        [b"\xff", bytearray(b"\xff")],
        [1 + 2j, np.complex64(1 + 2j)],
    ],
)  # fmt: skip
def test_equal_values_have_one_text_that_no_other_type_reads(alike: list[Any]) -> None:
    assert len({text(value) for value in alike} | {None}) == 2
    for kind in set(Type) - {Type.TEXT}:
        assert {text(value, kind) for value in alike} == {None}


def test_other_values_have_other_texts() -> None:
    units: list[Any] = list("hmsMY")
    spans = [pd.Timedelta(at, "ns") for at in (-1, 0, 1, 999, 1000)] + [np.timedelta64(1, at) for at in units]
    intervals = [pd.Interval(0, 2, closed=ends) for ends in ("left", "right", "both", "neither")]
    values: list[Any] = [
        *spans,
        *intervals,
        dt.time(1),
        dt.time(1, 0, 1),
        [1],
        [[1]],
        ["1, 2"],
        [1, 2],
        {},
        {"1": 2},
    ]
    assert len({text(value) for value in values} | {None}) == len(values) + 1


def test_an_object_of_an_unknown_class_is_no_value() -> None:
    assert [text(value) for value in (object(), pd.NaT, pd.NA, np.timedelta64("NaT"), complex("nan"))] == [
        None
    ] * 5
