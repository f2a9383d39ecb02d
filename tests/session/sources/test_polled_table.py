"""A table of any engine is polled: the counts are those of its rows one by one, and no unit adds more than it may."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import os
import random
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from duckdb import DuckDBPyConnection, connect
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import servers
from tests.depth import DEEP, in_turn
from tests.streams.invented import charges, laplace, opened, silent, spec

import discreet as dp
from discreet.engines.sources import open_source
from discreet.errors import DiscreetError, EngineError, StreamError
from discreet.ledger import open_ledger
from discreet.policy import Policy
from discreet.session.sources import polled_table
from discreet.session.sources.polled_table import PolledTable
from discreet.streams import Stream
from discreet.streams.counting import integers
from discreet.streams.counting.seen import Seen
from discreet.streams.state import StreamFolder

START = dt.datetime(2026, 1, 1)
Row = tuple[Any, Any, Any, Any]
"""Patient, time, ward, cost."""


def rows_of(seed: int, texts: bool) -> list[Row]:
    made = random.Random(seed)
    moments = made.sample(range(-50_000, 900_000), 400)  # no two at once
    wards = ["N", "S", "Mars", "n", "N ", "", None]
    costs = [
        None,
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        0.1,
        5e-324,
        1e300,
        -11.0,
        499.99999,
        *range(0, 700, 60),
    ]
    units: list[Any] = [*(f"p{n}" for n in range(90)), "", "é", "'"] if texts else [*range(90), -1, 2**63 - 1]
    rows: list[Row] = [
        (made.choice([*units, None]), START + dt.timedelta(seconds=s, microseconds=s % 7), made.choice(wards),
         made.choice(costs))
        for s in moments
    ]  # fmt: skip
    edges = [
        START - dt.timedelta(microseconds=1),
        START,
        START + dt.timedelta(days=1),
        dt.datetime(9999, 12, 31),
    ]
    return [*rows, *(("p1" if texts else 1, when, "N", 1.0) for when in edges), (units[0], None, "N", 2.0)]


def table_of(rows: Sequence[Row]) -> pa.Table:
    patients = [row[0] for row in rows]
    whole = all(one is None or isinstance(one, int) for one in patients)
    return pa.table({
        "patient": pa.array(patients, pa.int64() if whole else pa.string()),
        "seen": pa.array([row[1] for row in rows], pa.timestamp("us")),
        "ward": pa.array([row[2] for row in rows], pa.string()),
        "cost": pa.array([row[3] for row in rows], pa.float64()),
    })  # fmt: skip


def policy(unit: str) -> Policy:
    return Policy.for_table(
        "visits", privacy_unit=unit, max_rows=None if unit == "row" else 2, budget=3, keys={"ward": ["N", "S"]},
        bounds={"cost": (-10, 500)},
    )  # fmt: skip


@contextmanager
def duckdb(table: pa.Table) -> Iterator[Any]:
    yield {"visits": table}


@contextmanager
def postgres(table: pa.Table) -> Iterator[Any]:
    servers.load(servers.postgres(), "polled", {"visits": table})
    yield {"visits": f"{servers.postgres()}#polled.visits"}


@contextmanager
def clickhouse(table: pa.Table) -> Iterator[Any]:
    servers.load_clickhouse("polled", {"visits": table})
    yield {"polled.visits": servers.clickhouse()}


@contextmanager
def spark(table: pa.Table) -> Iterator[Any]:
    rows = [tuple(row.values()) for row in table.to_pylist()]
    yield {"visits": servers.spark().createDataFrame(rows, _SPARK)}


_SPARK = "patient string, seen timestamp_ntz, ward string, cost double"


def polled(declared: Any, source: Any, folder: Path) -> Stream:
    """A stream without noise over a table."""
    stream = silent(declared, folder)
    stream.table = PolledTable(policy(declared.unit or "row"), partial(open_source, source))
    return stream


def added(declared: Any, rows: Sequence[Row], until: int, folder: Path) -> Stream:
    """The same from rows that are added one by one, in the order of time."""
    stream = silent(declared, folder)
    for patient, when, ward, cost in sorted((r for r in rows if r[1] is not None), key=lambda row: row[1]):
        if when < START + dt.timedelta(days=until):
            stream.add({"patient": patient, "seen": when.isoformat(), "ward": ward, "cost": cost})
    return stream


def asked(unit: str, **more: Any) -> Any:
    given: dict[str, Any] = {
        "time": "seen",
        "sums": ("cost",),
        "means": ("cost",),
        "method": "period",
        **more,
    }
    return spec(policy(unit), **given)


def see_alike(
    source: Any,
    rows: Sequence[Row],
    unit: str,
    folder: Path,
    polls: Sequence[int] = (1, 1, 3, 8),
    **more: Any,
) -> None:
    whole = added(asked(unit, **more), rows, 8, folder / "added")
    stream = polled(asked(unit, polled=True, **more), source, folder / "polled")
    stream.table.see(stream.spec)  # type: ignore[union-attr]
    for day in polls:
        stream.poll(START + dt.timedelta(days=day))
    for name, counts in whole.progress.counts.items():
        np.testing.assert_array_equal(stream.progress.counts[name], counts)
    assert sorted(stream.progress.seen.values()) == sorted(whole.progress.seen.values())
    # Every engine has the same hash of a unit, so that a stream may follow its table to another one.
    units = {_digest(stream.progress.key, row[0]) for row in rows}
    assert set(stream.progress.seen) <= units
    assert int(whole.progress.counts["count"].sum()) > 60


def _digest(key: bytes, unit: object) -> bytes:
    digits = hashlib.md5(f"{key[:16].hex()}|{unit}".encode()).hexdigest()
    return struct.pack("<qq", int(digits[:15], 16), int(digits[15:30], 16))


# A deep run asks each engine with both units.
@pytest.mark.parametrize(
    ("engine", "unit"),
    in_turn([(duckdb, False), (duckdb, True), (postgres, True), (clickhouse, True)], ["patient", "row"]),
)
def test_an_engine_counts_as_rows_one_by_one(
    engine: tuple[Callable[[pa.Table], Any], bool], unit: str, tmp_path: Path
) -> None:
    opens, texts = engine
    rows = rows_of(3, texts)
    with opens(table_of(rows)) as source:
        see_alike(source, rows, unit, tmp_path / "by ward")
        if opens is duckdb and texts:
            see_alike(source, rows, unit, tmp_path / "all", group=None)


# A deep run asks all digits with each length of a period.
@pytest.mark.parametrize(("digits", "every"), in_turn([0, 3, 6, 9], ["day", "month", "minute"]))
def test_clickhouse_has_times_of_any_digits(digits: int, every: str, tmp_path: Path) -> None:
    session = servers.clickhouse()
    for command in (
        "DROP DATABASE IF EXISTS digits",
        "CREATE DATABASE digits",
        f"CREATE TABLE digits.visits (patient String, seen Nullable(DateTime64({digits}, 'UTC')), ward String, "
        "cost Float64) ENGINE = Memory",
    ):
        session.query(command)
    times = ["2025-12-31 23:59:59.999999999", "2026-01-01 00:00:00", "2026-01-01 00:00:00.000000001",
             "2026-01-01 23:59:59.999999999", "2026-01-02 00:00:00", "1900-01-01 00:00:00", "2262-04-11"]  # fmt: skip
    listed = ", ".join(f"('p{n}', toDateTime64('{time}', 9, 'UTC'), 'N', 5)" for n, time in enumerate(times))
    session.query(f"INSERT INTO digits.visits VALUES {listed}, ('q', NULL, 'N', 5)")
    wanted = {"day": [3, 1], "month": [4, 0], "minute": [2, 0]}[every]
    for unit in ("patient", "row"):
        stream = polled(asked(unit, polled=True, every=every), {"digits.visits": session}, tmp_path / unit)
        stream.poll(START + dt.timedelta(days=400))
        assert stream.progress.counts["count"][:2, 0].tolist() == wanted


def test_spark_counts_as_rows_one_by_one(tmp_path: Path) -> None:
    rows = rows_of(3, True)
    with spark(table_of(rows)) as source:
        # Rows as units are asked of the other engines; a deep run: of Spark, too.
        for unit in ("patient", "row") if DEEP else ("patient",):
            see_alike(source, rows, unit, tmp_path / unit, (3, 8))


@pytest.mark.parametrize(("every", "kind"), [("hour", "us"), ("month", "ns"), ("week", "s"), ("month", "date"),
                                             ("hour", "date"), ("minute", "us")])  # fmt: skip
def test_periods_of_all_lengths_and_types(every: str, kind: str, tmp_path: Path) -> None:
    start = dt.datetime(2026, 11, 1) if every == "month" else dt.datetime(2026, 1, 1, 6)
    times = [start + dt.timedelta(hours=7 * n, minutes=n) for n in range(-20, 300)]
    column = pa.array(times).cast(pa.date32()) if kind == "date" else pa.array(times).cast(pa.timestamp(kind))
    declared = asked("row", polled=True, every=every, start=start, group=None, sums=(), means=())
    stream = polled(
        declared,
        {"visits": table_of([(None, None, None, 0.0)] * 320).set_column(1, "seen", column)},
        tmp_path,
    )
    stream.poll(dt.datetime(2030, 1, 1))
    read = [declared.periods.of(dt.datetime(one.year, one.month, one.day, *one.timetuple()[3:6]))
            for one in column.cast(pa.timestamp("us")).to_pylist()]  # fmt: skip
    assert stream.progress.counts["count"][:, 0].tolist() == [read.count(t + 1) for t in range(8)]


def test_whole_numbers_are_keys_and_values(tmp_path: Path) -> None:
    rows = pa.table(
        {"seen": pa.array([START] * 4), "ward": [1, 2, 2, -3], "cost": pa.array([2**62, 7, None, 1])}
    )
    declared = Policy.for_table(
        "visits", privacy_unit="row", budget=1, keys={"ward": [2, 1]}, bounds={"cost": (0, 9)}
    )
    stream = silent(spec(declared, time="seen", sums=("cost",), method="period", polled=True), tmp_path)
    stream.table = PolledTable(declared, partial(open_source, {"visits": rows}))
    found = {(one.key, one.name): one.value for one in stream.poll(START + dt.timedelta(days=1))}
    assert found == {("2", "count"): 2, ("1", "count"): 1, ("2", "sum_cost"): 7, ("1", "sum_cost"): 9}


def test_a_table_without_rows(tmp_path: Path) -> None:
    for unit in ("patient", "row"):
        stream = polled(asked(unit, polled=True), {"visits": table_of([]).cast(table_of(rows_of(1, True)).schema)},
                        tmp_path / unit)  # fmt: skip
        assert all(one.value == 0 for one in stream.poll(START + dt.timedelta(days=9)) if one.name == "count")


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [("seen", "2026-01-01", "date or a time stamp"), ("patient", 1.5, "whole number or a text"), ("ward", 1.5, "ward"),
     ("cost", "7", "cost"), ("seen", None, "no column"), ("ward", None, "ward"), ("cost", None, "cost")],
)  # fmt: skip
def test_a_table_that_cannot_be_polled_charges_nothing(
    column: str, value: Any, said: str, tmp_path: Path
) -> None:
    table = table_of(rows_of(1, True)[:3])
    at = table.column_names.index(column)
    other = table.remove_column(at) if value is None else table.set_column(at, column, pa.array([value] * 3))
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    with (
        pytest.raises(DiscreetError, match=said),
        dp.stream(path, "visits", start="2026-01-01", periods=3, epsilon=1, time="seen", by="ward", means=["cost"],
                  poll={"visits": other}),
    ):  # fmt: skip
        pass
    assert charges_of(path) == 0


POLICY = """\
budget = 9
[tables.visits]
privacy_unit = "patient"
max_rows = 2
[tables.visits.columns]
ward = { keys = ["N", "S"] }
cost = { bounds = [-10, 500] }
"""


def charges_of(path: Path) -> int:
    ledger = path.with_suffix(".ledger.db")
    if not ledger.exists():
        return 0
    with open_ledger(ledger) as book:
        return sum(entry.kind == "charge" for entry in book.entries())


rows = st.tuples(
    st.sampled_from(["a", "b", "c", "", None]),
    st.integers(-5, 60).map(lambda n: START + dt.timedelta(hours=6 * n)),
    st.sampled_from(["N", "S", "Mars", None]),
    st.sampled_from([None, math.nan, math.inf, -9.0, 3.0, 500.0]),
)
POLLS = (2, 3, 8)


def moved(folder: Path, unit: str, states: Sequence[Sequence[Row]], own: Sequence[Sequence[Row]]) -> Fraction:
    """How far one unit moves the nodes in L1, in sensitivities of its own noise; the table is another at each poll."""
    declared = asked(unit, polled=True, method="tree", means=())
    less, more = (_nodes(declared, made, folder) for made in (states, _with(states, own)))
    sizes = [laplace(declared, measure).sensitivity for measure in declared.measures]
    return max(
        Fraction(int(np.abs(b - a).sum())) / size for a, b, size in zip(less, more, sizes, strict=True)
    )


@cache
def _database() -> DuckDBPyConnection:
    """One whose table is made anew for each poll, as to start a database takes longer."""
    return connect(config={"threads": 1})


def _with(states: Sequence[Sequence[Row]], own: Sequence[Sequence[Row]]) -> list[list[Row]]:
    return [[*others, *(("new", *row[1:]) for row in mine)] for others, mine in zip(states, own, strict=True)]


def _nodes(declared: Any, states: Sequence[Sequence[Row]], folder: Path) -> list[np.ndarray]:
    stream = silent(declared, Path(tempfile.mkdtemp(dir=folder)))
    for day, rows_then in zip(POLLS, states, strict=True):
        _database().register("made", table_of([*rows_then, ("z", dt.datetime(2001, 1, 1), "N", 1.0)]))
        _database().execute("CREATE OR REPLACE TABLE visits AS FROM made")
        stream.table = PolledTable(policy(declared.unit or "row"), partial(open_source, _database()))
        stream.poll(START + dt.timedelta(days=day))
    strategy, counts = declared.strategy, stream.progress.counts
    return [
        np.concatenate([strategy.exact(t, counts[one.name]) for t in range(1, strategy.periods + 1)])
        for one in declared.measures
    ]


@settings(max_examples=200 if os.environ.get("DISCREET_DEEP") else 2, deadline=None)
@given(
    states=st.lists(st.lists(rows, max_size=8), min_size=3, max_size=3),
    own=st.lists(st.lists(rows, max_size=5), min_size=3, max_size=3),
)
def test_a_unit_moves_the_nodes_by_at_most_the_sensitivity(
    states: list[list[Row]], own: list[list[Row]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    # The tables need not grow: rows of the unit may come, change and go between the polls.
    folder = tmp_path_factory.mktemp("moved")
    assert moved(folder, "patient", states, own) <= 1
    row = [own[0][:1]] * 3
    assert moved(folder, "row", states, row) <= 1


BUSY = [
    [("new", START + dt.timedelta(days=day, hours=hour), "N", 500.0) for hour in (1, 2)] for day in (1, 2, 5)
]


def test_a_unit_that_comes_anew_at_each_poll_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert moved(tmp_path, "patient", [[]] * 3, BUSY) == 1
    # Planted: polls that forget the units of earlier ones.
    first = Seen.first
    monkeypatch.setattr(Seen, "first", lambda seen, units, most: first(Seen(), units, most))
    assert moved(tmp_path, "patient", [[]] * 3, BUSY) == 3


def test_values_that_an_engine_does_not_clamp_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = vars(polled_table)["scaled_sql"]
    monkeypatch.setattr(polled_table, "scaled_sql", lambda *given: f"({real(*given)} * 9)")
    monkeypatch.setattr(
        polled_table._Writer,
        "query",
        lambda *given, query=polled_table._Writer.query: _unclamped(query(*given)),
    )
    assert moved(tmp_path, "patient", [[]] * 3, BUSY) == 1
    assert moved(tmp_path, "row", [[]] * 3, [one[:1] for one in [BUSY[0]] * 3]) <= 1
    # Planted: nor are they here.
    monkeypatch.setattr(integers, "_clamped", lambda values, lo, hi: values)
    assert moved(tmp_path, "patient", [[]] * 3, BUSY) > 1


def _unclamped(made: tuple[str, Any]) -> tuple[str, Any]:
    sql, tables = made
    before, _, rest = sql.partition("CASE WHEN r.s1 ")
    return f"{before}r.s1 {rest.partition(' END ')[2]}", tables


def test_a_row_of_one_person_hides_no_row_of_another(tmp_path: Path) -> None:
    # As the largest serial number so far would, were it the mark of what is new.
    usual = [("a", START + dt.timedelta(days=day, hours=1), "N", 1.0) for day in range(8)]
    far = [("new", dt.datetime(9999, 12, 31), "N", 1.0), ("new", START + dt.timedelta(days=7.9), "N", 1.0)]
    assert moved(tmp_path, "patient", [usual[: 3 * n] for n in (1, 2, 3)], [far[:1]] * 3) == 0
    assert moved(tmp_path, "row", [usual] * 3, [far[1:]] * 3) <= 1


def test_a_kill_at_any_point_counts_no_row_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = rows_of(5, True)
    declared = asked("patient", polled=True)

    def lived(folder: Path, faults: bool) -> list[Any]:
        folder.mkdir()
        chance, shown = random.Random(1), []
        for _ in range(100):
            with monkeypatch.context() as patch:
                for kind, name in ((Stream, "_close"), (StreamFolder, "_replace"), (Seen, "first")):
                    patch.setattr(kind, name, _method(getattr(kind, name), chance, 0.3 * faults))
                try:
                    with opened(declared, folder) as stream:
                        stream.table = PolledTable(
                            policy("patient"), partial(open_source, {"visits": table_of(made)})
                        )
                        shown += [one for t in range(1, stream.closed + 1) for one in stream.estimates(t)]
                        for day in (2, 4, 8):
                            shown += stream.poll(START + dt.timedelta(days=day))
                    return sorted(set(map(repr, shown)))
                except KeyboardInterrupt:
                    continue
        raise AssertionError

    monkeypatch.setattr("discreet.mechanisms.numeric.laplace_vector.add_laplace", lambda exact, scale: exact)
    assert lived(tmp_path / "killed", True) == lived(tmp_path / "whole", False)
    assert charges(tmp_path / "whole") == 1


def _dying(real: Callable[..., Any], chance: random.Random, share: float, *given: Any) -> Any:
    found = real(*given)
    if chance.random() < share:
        raise KeyboardInterrupt
    return found


def _method(real: Callable[..., Any], chance: random.Random, share: float) -> Callable[..., Any]:
    return lambda *given: _dying(real, chance, share, *given)


def test_a_poll_that_fails_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = table_of(rows_of(3, True))
    stream, other = (polled(asked("patient", polled=True), {"visits": made}, tmp_path / one) for one in "ab")
    real = PolledTable.read

    def failing(self: PolledTable, *given: Any) -> Iterator[pa.Table]:
        yield from real(self, *given)
        raise EngineError("The engine could not finish the query.")

    monkeypatch.setattr(PolledTable, "read", failing)
    with pytest.raises(EngineError):
        stream.poll(START + dt.timedelta(days=4))
    monkeypatch.setattr(PolledTable, "read", real)
    assert stream.poll(START + dt.timedelta(days=4)) == other.poll(START + dt.timedelta(days=4))
    assert stream.poll(START + dt.timedelta(days=4)) == []
    for use in (lambda: stream.add({}), lambda: stream.close(8), lambda: stream.add_all(made)):
        with pytest.raises(StreamError, match="is polled"):
            use()
    with pytest.raises(StreamError, match="are added"):
        silent(asked("patient"), tmp_path / "c").poll()


def test_python_polls_and_says_its_charge(tmp_path: Path) -> None:
    path, data = tmp_path / "policy.toml", tmp_path / "visits.parquet"
    path.write_text(
        POLICY.replace("[tables.visits]\n", f'[source]\nurl = "parquet:{data}"\n[tables.visits]\n', 1)
    )
    pa.parquet.write_table(table_of(rows_of(1, True)), data)
    given: dict[str, Any] = {"start": "2026-01-01", "periods": 8, "epsilon": 1, "time": "seen", "poll": True}
    with dp.stream(path, "visits", **given) as stream:
        first = stream.poll(START + dt.timedelta(days=2))
        assert len(first) == 2
        data.unlink()
        with pytest.raises(DiscreetError) as caught:
            stream.poll(START + dt.timedelta(days=3))
    with pytest.raises(DiscreetError, match="Nothing was charged"), dp.stream(path, "visits", **given):
        pass
    pa.parquet.write_table(table_of(rows_of(2, True)), data)  # another file
    with dp.stream(path, "visits", **given) as stream:
        assert stream.charged is None
        assert [one for t in (1, 2) for one in stream.estimates(t)] == first
        assert len(stream.poll(START + dt.timedelta(days=8))) == 6
    assert charges_of(path) == 1
    assert caught.value.cause
