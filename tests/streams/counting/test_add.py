"""Columns count as the rows that they hold, one by one, whichever way the rows are cut."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import StreamError
from discreet.policy import Policy
from discreet.streams import Stream
from discreet.streams.counting.seen import Seen
from tests.depth import examples, few
from tests.streams.invented import policy, row, silent, spec

TIMES: list[Any] = [
    "2026-01-01", " 2026-01-02", "2026-01-01T09:30Z", "20260103", "2026-02-30", "2026-01-04T24:00", "2026-W01-4",
    "2026-01-01T09:30:00.5", "2026-01-01 09:30:00.500", "2026-01-02T09:30:00.123456", "2026-01-02T23:59:59", "", "x",
    None, "2026-01-01t09:30", "2026-01-01T09:30+01:00", "2026-01-01T00:30+01:00", "0000-01-01", "2026-01-0\uff11",
    "2026-01-01T9:30:000", "2026-13-01", "9999-12-31T23:59:59.999999Z", "2024-02-29", "2025-12-31T23:59:59",
]  # fmt: skip
COSTS: list[Any] = [
    "7.5", "1_0", " 7 ", "nan", "inf", "-inf", "-1e999", "0x10", "1e5", "", "+3", "1.", "\u0663", None, "-0.0",
    "499.9999999999", "0.49999999999999994", "0.000244140625", "1e-320", "-7", "NaN(7)", "infinity", "TRUE",
]  # fmt: skip
PATIENTS: list[Any] = ["a", "b", "c", "1", "1.0", "", None, "\u00e9" * 40, " a", "a\0", "nan"]
WARDS: list[Any] = ["N", "S", "Mars", "", None, " N"]

texts = st.lists(
    st.fixed_dictionaries(
        {"time": st.sampled_from(TIMES), "patient": st.sampled_from(PATIENTS), "ward": st.sampled_from(WARDS),
         "cost": st.sampled_from(COSTS)}
    ), max_size=40,
)  # fmt: skip


def same(folder: Path, tables: list[pa.Table], unit: str = "patient", closed: int = 0, **more: Any) -> Stream:
    """Count tables as columns and as rows, and see that it comes to the same."""
    declared = spec(policy(unit), sums=("cost",), means=("cost",), **more)
    fast, slow = silent(declared, folder / "fast"), silent(declared, folder / "slow")
    slow.progress.key = fast.progress.key
    for stream in (fast, slow):
        stream.progress.closed = closed
    for table in tables:
        fast.add_all(table)
        slow.take(table.to_pylist())
    assert fast.progress.seen == slow.progress.seen
    for name, counts in slow.progress.counts.items():
        np.testing.assert_array_equal(fast.progress.counts[name], counts)
    return fast


@settings(max_examples=examples(20, 120), deadline=None)
@given(rows=texts, cut=st.integers(0, 40), unit=st.sampled_from(["patient", "row"]), closed=st.integers(0, 2))
def test_texts_count_as_their_rows(
    rows: list[dict[str, Any]], cut: int, unit: str, closed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "same"
    table = pa.Table.from_pylist(
        rows, pa.schema(dict.fromkeys(("time", "patient", "ward", "cost"), pa.string()))
    )
    same(folder, [table.slice(0, cut), table.slice(cut)], unit, closed)


DAY = 86400
START = 20454 * DAY
KINDS: list[tuple[str, pa.Array]] = [
    ("time", pa.array([START, START + DAY - 1, START - 1, 2**62, -(2**62), None], pa.int64())),
    ("time", pa.array([START, START + 0.9999999, START - 1e-7, math.nan, 1e300, -math.inf], pa.float64())),
    ("time", pa.array([START, START + DAY, 2**63, 0, None, 5], pa.uint64())),
    ("patient", pa.array([1, 1, 1, None, -1, 2**62], pa.int64())),
    ("patient", pa.array([0.0, -0.0, 0.0, math.nan, math.nan, 1.5], pa.float64())),
    ("patient", pa.array([True, False, None, True, False, None])),
    ("patient", pa.array(["a", "a", "a", None, "", "b"]).dictionary_encode()),
    ("patient", pa.array(["a", "a", "a", None, "", "b"], pa.large_string())),
    ("patient", pa.nulls(6)),
    ("ward", pa.array(["N", "S", "N", None, "x", "N"]).dictionary_encode()),
    ("cost", pa.array([1, 2**60, -(2**60), None, 7, 7], pa.int64())),
    ("cost", pa.array([1, 255, 3, None, 7, 7], pa.uint8())),
    ("cost", pa.array([0.1, math.inf, -math.inf, math.nan, None, 1e-310], pa.float64())),
    ("cost", pa.array([True, False, None, True, False, None])),
]


@pytest.mark.parametrize(("name", "column"), KINDS, ids=lambda one: str(getattr(one, "type", one)))
def test_every_type_counts_as_its_values(name: str, column: pa.Array, tmp_path: Path) -> None:
    columns = {
        "time": pa.array(["2026-01-01"] * 6), "patient": pa.array(list("abcdef")), "ward": pa.array(["N"] * 6),
        "cost": pa.array([1.0] * 6),
    }  # fmt: skip
    same(tmp_path, [pa.table({**columns, name: column})])
    if name == "time":
        same(tmp_path / "month", [pa.table({**columns, name: column})], every="month")


def test_times_of_arrow_have_any_unit(tmp_path: Path) -> None:
    days = np.array(["2025-12-31T23:59:59.999", "2026-01-01", "2026-01-02T00:00:00.001"], "M8[ms]")
    for unit in ("ms", "us", "ns"):
        for zone in (None, "Europe/Berlin"):
            column = (
                pa.array(days.astype(f"M8[{unit}]")).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
            )
            stream = silent(spec(policy("row"), group=None), tmp_path)
            stream.add_all(pa.table({"time": column}))
            assert stream.progress.counts["count"][:, 0].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    stream.add_all(pa.table({"time": pa.array(days.astype("M8[D]")).cast(pa.date32())}))
    assert stream.progress.counts["count"][:, 0].tolist() == [2, 2, 0, 0, 0, 0, 0, 0]


# A deep run asks two rows, too.
@pytest.mark.parametrize("most", few([1, 2, 3], 2))
def test_the_first_rows_of_a_unit_count_whichever_way_they_come(most: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(most)
    declared = spec(policy(rows=most))
    rows = [
        row(int(d), f"p{p}", "NS"[w])
        for d, p, w in zip(*rng.integers(0, [[9], [40], [2]], (3, 400)), strict=True)
    ]
    table = pa.Table.from_pylist(rows)
    found = []
    for size in (1, 7, 400):
        stream = silent(declared, tmp_path / str(size))
        for at in range(0, 400, size):
            stream.add_all(table.slice(at, size))
        found.append(stream.progress.counts["count"])
        assert max(stream.progress.seen.values()) == most
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert found[0].sum() <= 40 * most


def test_a_bound_that_is_not_enforced_for_columns_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    six = pa.Table.from_pylist([row(1, cost="5")] * 6)
    monkeypatch.setattr(Seen, "first", lambda seen, units, most: np.ones(len(units), bool))
    with pytest.raises(AssertionError):
        same(tmp_path, [six])


def test_a_bound_that_forgets_earlier_batches_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Seen.first
    monkeypatch.setattr(Seen, "first", lambda seen, units, most: first(Seen(), units, most))
    six = pa.Table.from_pylist([row(1, cost="5")] * 6)
    with pytest.raises(AssertionError):
        same(tmp_path, [six, six])


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"time": ["2026-01-01"]}),
        pa.table({"time": ["2026-01-01"], "patient": [["x"]], "ward": ["N"]}),
        pa.table([["2026-01-01"]] * 4, names=["time", "patient", "patient", "ward"]),
    ],
)
def test_columns_that_are_missing_or_of_other_types_are_refused(table: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="column"):
        silent(spec(), tmp_path).add_all(table)


def test_an_empty_key_is_one(tmp_path: Path) -> None:
    declared = Policy.for_table("visits", privacy_unit="row", budget=3, keys={"ward": ["", "N"]})
    table = pa.table({"time": ["2026-01-01"] * 3, "ward": ["", None, "N"]})
    stream = silent(spec(declared), tmp_path)
    stream.add_all(table)
    assert stream.progress.counts["count"][0].tolist() == [2, 1]
