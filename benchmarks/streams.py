"""Streams: a million events by their counting path, and errors of running totals beside the naive way and OpenDP.

Speed is processor time of one process without threads. The events are invented, two million over a year: a time to the
second, a person, a ward of three of which two are keys, and a cost. The naive way reads row by row.

Errors are root mean squares of the running totals of all periods under one epsilon of 1, over `RUNS` draws. The naive
way splits epsilon evenly over the periods. OpenDP has a b-ary tree with consistent estimates, which needs all periods
to have passed: it is offline, where ours is online, and its height is that of its own `choose_branching_factor` and of
2. Tumult has no tree, nor has any other public library that could be installed.
"""

from __future__ import annotations

import datetime as dt
import io
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from benchmarks.line import Line
from discreet.accounting import Loss
from discreet.accounting.gaussian.bought import gaussian_variances
from discreet.mechanisms import GaussianVector, LaplaceVector
from discreet.policy import Policy
from discreet.streams import Stream, StreamQuestion, StreamSpec, declared, named
from discreet.streams.feeds import Feed, TextFeed
from discreet.streams.feeds.arrow import ArrowFeed
from discreet.streams.feeds.parquet import ParquetFeed
from discreet.streams.state import StreamFolder

EVENTS: Final = 2_000_000
SLOW: Final = 100_000
"""So many events the naive way reads."""
RUNS: Final = 30
DELTA: Final = "1e-6"
LIMIT: Final = 1.0
"""Seconds for a million events."""


def lines() -> Iterator[Line]:
    """Speed, then errors."""
    yield from _speed()
    for periods in (30, 365, 2048):
        yield from _errors(periods)


def _speed() -> Iterator[Line]:
    cases = (("row", 1), ("person", 100_000), ("person", 10**9))
    for unit, people in cases:
        table = _events(people)
        who = (
            "privacy of events" if unit == "row" else f"{min(people, EVENTS):,} people, 10 rows each at most"
        )
        spec, csv = _spec(unit), _csv(table)
        inputs: dict[str, Any] = {
            "CSV": TextFeed(io.BytesIO(csv), needed=spec.columns, numbers=("cost",)),
            "JSON lines": TextFeed(io.BytesIO(_json(table)), needed=spec.columns, numbers=("cost",)),
            "Arrow": ArrowFeed(io.BytesIO(_ipc(table)), follow=False, needed=spec.columns),
            "Parquet": ParquetFeed(io.BytesIO(_parquet(table)), spec.columns),
        }
        slow = _timed(spec, SLOW, partial(_by_row, csv))
        for kind, feed in inputs.items():
            seconds = _timed(spec, EVENTS, partial(_all, feed))
            yield Line(f"{kind}, {who}: a million events", seconds, "row by row", slow, seconds,
                       f"<= {LIMIT:g} s", seconds <= LIMIT)  # fmt: skip


def _events(people: int) -> pa.Table:
    rng = np.random.default_rng(7)
    seconds = np.sort(rng.integers(0, 365 * 86400, EVENTS)).astype("m8[s]")
    return pa.table({
        "time": pa.array(np.datetime_as_string(np.datetime64("2026-01-01T00:00:00") + seconds).tolist()),
        "person": pa.array([f"p{n}" for n in rng.integers(0, people, EVENTS)]),
        "ward": pa.array(np.array(["N", "S", "other"])[rng.integers(0, 3, EVENTS)].tolist()),
        "cost": np.round(rng.random(EVENTS) * 500, 2),
    })  # fmt: skip


def _csv(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pa.csv.write_csv(table, out, pa.csv.WriteOptions(quoting_style="none"))
    return out.getvalue()


def _json(table: pa.Table) -> bytes:
    columns = [table.column(name).to_pylist() for name in ("time", "person", "ward", "cost")]
    one = '{"time":"%s","person":"%s","ward":"%s","cost":%s}\n'
    return "".join(one % row for row in zip(*columns, strict=True)).encode()


def _ipc(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, 1 << 17)
    return out.getvalue()


def _parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pa.parquet.write_table(table, out)
    return out.getvalue()


def _spec(unit: str) -> StreamSpec:
    policy = Policy.for_table("visits", privacy_unit=unit, max_rows=None if unit == "row" else 10, budget=3,
                              keys={"ward": ["N", "S"]}, bounds={"cost": (0, 500)})  # fmt: skip
    asked = StreamQuestion(
        "time", dt.datetime(2026, 1, 1), "day", 365, Fraction(1), group="ward", sums=("cost",)
    )
    return declared(policy, "visits", asked)


def _timed(spec: StreamSpec, events: int, read: Callable[[Stream], object]) -> float:
    """Seconds of the processor for a million events."""
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream(spec, StreamFolder(Path(folder)), {}, 0.95)
        begin = time.process_time()
        read(stream)
        return (time.process_time() - begin) * 1e6 / events


def _all(feed: Feed, stream: Stream) -> None:
    for piece in feed.pieces():
        assert not isinstance(piece, dt.datetime)
        stream.take(piece)


def _by_row(text: bytes, stream: Stream) -> None:
    feed = TextFeed(io.BytesIO(text), needed=stream.spec.columns)
    for at, line in enumerate(feed):
        if at == SLOW:
            return
        stream.add(feed.row(line))


def _errors(periods: int) -> Iterator[Line]:
    naive = {False: _ours("even", periods, False), True: _ours("even", periods, True)}
    theirs = _opendp(periods)
    for gaussian, method in (
        (False, "period"),
        (False, "tree"),
        (False, "doubling"),
        (True, "root"),
        (True, "tree"),
    ):
        noise = f"Gaussian, delta {DELTA}" if gaussian else "Laplace"
        ours = _ours(method, periods, gaussian)
        name = f"{periods:,} periods: rms error of the totals, {method}, {noise}"
        yield Line(name, ours, "even split", naive[gaussian], ours / naive[gaussian], "", True, "")
        best = (method == "tree") if not gaussian else method == "root"
        for branching, error in theirs.items():
            if not gaussian:
                ok = not best or ours <= error * 1.2
                yield Line(f"{name} (beside OpenDP)", ours, f"OpenDP b = {branching}, offline", error, ours / error,
                           "<= 1.2" if best else "", ok, "")  # fmt: skip


def _ours(method: str, periods: int, gaussian: bool) -> float:
    """The error of drawn noise."""
    strategy = named(method, periods, gaussian)
    nodes = strategy.nodes(periods)
    if gaussian:
        square = Fraction(strategy.l2_squared)
        mechanism: Any = GaussianVector(gaussian_variances([square], Loss(1, DELTA))[0], square)
    else:
        mechanism = LaplaceVector(strategy.l1, strategy.l1)
    noise = mechanism.release(np.zeros((nodes, RUNS), np.int64)).astype(float)
    squares = 0.0
    for t in range(1, periods + 1):
        weights = strategy.weights(t)
        squares += float(((weights @ noise[: len(weights)]) ** 2).mean())
    return math.sqrt(squares / periods)


def _opendp(periods: int) -> dict[int, float]:
    """The errors of OpenDP's tree by its branching factor; none where it is not installed."""
    try:
        import opendp.prelude as odp
    except ImportError:
        return {}
    odp.enable_features("contrib")
    out = {}
    for branching in sorted({2, odp.t.choose_branching_factor(periods)}):
        domain = odp.vector_domain(odp.atom_domain(T=int), size=periods)
        tree = odp.t.make_b_ary_tree(
            domain, odp.l1_distance(T=int), leaf_count=periods, branching_factor=branching
        )
        scale = float(tree.map(1))
        release = tree >> odp.m.then_laplace(scale) >> odp.t.make_consistent_b_ary_tree(branching)
        assert math.isclose(release.map(1), 1)
        totals = [np.cumsum(release([0] * periods)[:periods]) for _ in range(RUNS)]
        out[branching] = math.sqrt(float(np.mean(np.square(totals))))
    return out
