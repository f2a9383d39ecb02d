"""Tables of the values that engines disagree on, as far as every engine can hold them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from discreet.policy import Policy

if TYPE_CHECKING:
    import pyarrow as pa

NAN, INF = float("nan"), float("inf")
INTEGERS = [None, 0, 1, -1, 2, 3, 7, -40, 255, 2**31, -(2**31) - 1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [
    None, NAN, INF, -INF, 0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 0.1, 0.5, -0.5, 1.0, 1.5, 2.5, -2.5, 3.7, 8.0, -40.25,
    1234.5678, 1e15, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e300, 1e308, -1e308, 0.49999999999999994,
]  # fmt: skip
TEXTS = [
    None, "", " ", "x", "X", "z", "kent", "Kent ", " Kent", "nan", "inf", "-Infinity", "1e400", "-1e400", "12", "-0",
    "1e3", " 7 ", "0x10", "1_000", "1,5", "2.5", "-2.5", "+3", ".5", "5.", "99999999999999999999", "9223372036854775807",
    "9223372036854775808", "true", "NO", "2020-02-29", "2020-02-30", "2020-2-9", "0000-01-01", "2020-02-29 10:00:00.5",
    "2020-02-29T23:59:59", "2020-02-29 24:00:00", "2020-02-29 10:00:00+02", "infinity", "10:00", "e\u0301te\u0301",
    "\u00df\u00c9", "\u0130I", "\u01c5\u01c6", "\u03a3\u03c2\u03c3", "\u202e", "\U0001f600-\U0001f468\u200d\U0001f469",
    "\u0661", "%", "_", "\\", "a\\%b", "'", '"', "a\nb", "a\r\n", "a-b-c", "${x}", "{0}", "x' OR 1=1 --", "xyz" * 500,
]  # fmt: skip
DATES = [
    None, dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2020, 2, 29), dt.date(2019, 12, 30), dt.date(2021, 1, 3),
    dt.date(2000, 2, 29), dt.date(1900, 2, 28), dt.date(1900, 3, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31),
    dt.date(1582, 10, 10), dt.date(44, 3, 15), dt.date(2020, 1, 31), dt.date(2100, 2, 28), dt.date(2020, 7, 5),
]  # fmt: skip
MOMENTS = [
    None, dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2020, 2, 29, 12, 30),
    dt.datetime(2016, 12, 31, 23, 59, 59, 999_999), dt.datetime(2017, 1, 1), dt.datetime(2020, 10, 25, 2, 30),
    dt.datetime(2020, 3, 29, 2, 30), dt.datetime(2020, 11, 1, 1, 30), dt.datetime(1, 1, 1), dt.datetime(2020, 1, 31, 10),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), dt.datetime(1582, 10, 10, 0, 0, 1), dt.datetime(1900, 3, 1, 12),
    dt.datetime(2011, 12, 30, 5), dt.datetime(1969, 7, 20, 20, 17, 40, 123_456), dt.datetime(2021, 6, 30, 23, 59, 59),
]  # fmt: skip
BOOLEANS = [None, True, False]
ROWS = 400


def tables() -> dict[str, pa.Table]:
    """The tables: `t` and `s` are private, with the unit `u`; `pub` is public.

    `t` has two columns of each type, whose values meet in many pairs: i, j (integers), f, g (numbers), c, d (texts),
    b, e (booleans), m, n (dates), x, y (time stamps); `k` numbers the rows, `a`, `p` and `h` are ordinary.
    """
    import pyarrow as pa

    def pair(values: list[Any], kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
        size = len(values)
        first = [values[row % size] for row in range(ROWS)]
        second = [values[(row // size + row * 5) % size] for row in range(ROWS)]
        return pa.array(first, kind, from_pandas=False), pa.array(second, kind, from_pandas=False)

    columns: dict[str, pa.Array] = {
        "k": pa.array(range(ROWS), pa.int64()),
        "u": pa.array([None if row % 50 == 49 else row * row % 97 for row in range(ROWS)], pa.int64()),
        "a": pa.array([None if row % 11 == 0 else row % 30 - 6 for row in range(ROWS)], pa.int32()),
        "p": pa.array([row % 41 / 8 - 2.625 for row in range(ROWS)], pa.float64()),
        "h": pa.array([("x", "y", "z", "w", None)[row % 5] for row in range(ROWS)], pa.string()),
    }
    for names, values, kind in (
        ("ij", INTEGERS, pa.int64()), ("fg", FLOATS, pa.float64()), ("cd", TEXTS, pa.string()), ("be", BOOLEANS, pa.bool_()),
        ("mn", DATES, pa.date32()), ("xy", MOMENTS, pa.timestamp("us")),
    ):  # fmt: skip
        columns[names[0]], columns[names[1]] = pair(values, kind)
    s = {
        "u": pa.array([row * 3 % 101 for row in range(150)], pa.int64()),
        "q": pa.array([row % 13 - 1 for row in range(150)], pa.int64()),
        "r": pa.array([FLOATS[row % len(FLOATS)] for row in range(150)], pa.float64(), from_pandas=False),
    }
    public = {
        "name": ["x", "y", "z"],
        "region": ["n", "n", "s"],
        "weight": pa.array([1, 2, None], pa.int64()),
    }
    return {"t": pa.table(columns), "s": pa.table(s), "pub": pa.table(public)}


def policy(unit: str, max_rows: int | None) -> Policy:
    """The policy of the corpus."""
    bounds: dict[str, tuple[object, object]] = {
        "k": (0, ROWS - 1), "a": (-5, 20), "p": (-2.5, 4), "m": (dt.date(1960, 1, 1), dt.date(2030, 12, 31)),
        "x": (dt.datetime(1990, 1, 1), dt.datetime(2030, 1, 1)),
    }  # fmt: skip
    columns: dict[str, object] = {name: {"bounds": ends} for name, ends in bounds.items()}
    columns["h"] = {"keys": ["x", "y", "z", "none"]}
    table = {"privacy_unit": unit, **({} if max_rows is None else {"max_rows": max_rows})}
    return Policy.model_validate({
        "budget": 1,
        "tables": {"t": {**table, "columns": columns}, "s": {**table, "columns": {"q": {"bounds": (0, 9)}}},
                   "pub": {"public": True}},
    })  # fmt: skip
