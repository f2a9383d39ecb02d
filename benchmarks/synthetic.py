"""Synthetic tables beside SmartNoise Synth's and OpenDP's MST and AIM: total variation of all 2- and 3-way marginals.

Three data sets, epsilon 1 and 0.1, delta 1e-9, one row a person. Each peer runs in an environment of its own and has
`LIMIT` seconds for a table; where it gives none, the reason is named, and it is asked for the first three quarters of
the columns, a half and a quarter, until it gives one: the largest part is compared. `RUNS` tables of each peer or more
and `OWN` of ours, every one of an independent release, are compared by their means; a mean counts as greater where it
is by more than two standard errors. Beside them: how often a random forest that is trained on the synthetic rows names
a column of the real ones rightly.

The tables of peers are kept in `results/synthetic/`: a run that was stopped goes on where it was. From half a minute to
fourteen for one table, they take hours in all.
"""

from __future__ import annotations

import itertools
import math
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import discreet as dp
from benchmarks.line import Line
from benchmarks.peers.environments import CannotInstall
from benchmarks.synthetic_data import SETS, TARGETS, Integers, distance, rightly
from benchmarks.synthetic_saved import NoTable, saved

EPSILONS = ("1", "0.1")
DELTA = "1e-9"
RUNS = int(os.environ.get("SYNTHETIC_RUNS", "3"))
OWN = max(10, RUNS)
LIMIT = float(os.environ.get("SYNTHETIC_SECONDS", "1800"))
PEERS = {
    "SmartNoise MST": ("synthetic_smartnoise", "mst"),
    "SmartNoise AIM": ("synthetic_smartnoise", "aim"),
    "OpenDP MST": ("synthetic_opendp", "mst"),
    "OpenDP AIM": ("synthetic_opendp", "aim"),
}
PARTS = (1.0, 0.75, 0.5, 0.25)
"""The shares of the columns that a peer is asked for, in turns, until it gives a table."""


def lines(only: list[str] | None = None) -> Iterator[Line]:
    """A line for each data set, epsilon, peer and order of marginals.

    Args:
        only: parts of the names of data sets or peers that are asked for.
    """
    for name, load in SETS.items():
        try:
            rows, sizes = load()
        except FileNotFoundError:
            continue  # the extract stands beside the project, and not in it
        for epsilon in EPSILONS:
            wanted = [
                peer for peer in PEERS if not only or any(part in f"{name} {epsilon} {peer}" for part in only)
            ]
            made: dict[int, Scores] = {}
            for peer in wanted:
                yield from beside(name, rows, sizes, epsilon, peer, made)
            for columns, own in made.items():
                what = named(name, columns, len(sizes))
                yield Line(f"{what}, epsilon {epsilon}: a table", own.seconds, "", 0.0, 0.0, "", True)


@dataclass(frozen=True)
class Tables:
    """Tables of one kind, and the median seconds that one took."""

    seconds: float
    made: list[Integers]


@dataclass(frozen=True)
class Scores:
    """How far tables are off, and what models learn of them, each with its standard error.

    Attributes:
        count: of the tables.
        seconds: the median of one.
        distances: of the marginals of one, two and three columns.
        models: the share of real rows that are named rightly; None where the column is not there.
    """

    count: int
    seconds: float
    distances: dict[int, tuple[float, float]]
    models: tuple[float, float] | None

    @classmethod
    def of(cls, tables: Tables, rows: Integers, sizes: list[int], target: int) -> Scores:
        """Those of tables beside real rows."""
        distances = {
            order: mean_of([distance(rows, table, sizes, order) for table in tables.made])
            for order in (1, 2, 3)
        }
        known = target < len(sizes)
        models = mean_of([rightly(rows, table, target) for table in tables.made]) if known else None
        return cls(len(tables.made), tables.seconds, distances, models)

    def spread(self, error: float) -> str:
        """Of how many tables a mean is, and its standard error."""
        return f"{self.count} tables, ±{error:.4f}" if self.count > 1 else "1 table"


def named(name: str, columns: int, of: int) -> str:
    """A data set, or a part of it."""
    return name if columns == of else f"{name}, the first {columns} of {of} columns"


def beside(
    name: str, rows: Integers, sizes: list[int], epsilon: str, peer: str, made: dict[int, Scores]
) -> Iterator[Line]:
    """The lines of a peer: of all columns, or why there is no table, and of the largest part for which there is one."""
    for columns in sorted({max(3, math.ceil(part * len(sizes))) for part in PARTS}, reverse=True):
        label = f"{named(name, columns, len(sizes))}, epsilon {epsilon}"
        part, own_sizes = np.ascontiguousarray(rows[:, :columns]), sizes[:columns]
        try:
            theirs = several(peer, part, own_sizes, epsilon)
        except CannotInstall as why:
            yield Line(f"{label}: {peer} cannot be had: {why}", 0.0, "", 0.0, 0.0, "", True)
            return
        except NoTable as why:
            yield Line(f"{label}: {peer} has no table: {why}", 0.0, "", 0.0, 0.0, "", True)
            continue
        if columns not in made:
            own = [ours(part, own_sizes, epsilon) for _ in range(OWN)]
            tables = Tables(statistics.median(took for took, _ in own), [table for _, table in own])
            made[columns] = Scores.of(tables, part, own_sizes, TARGETS[name])
        yield from compared(label, peer, made[columns], Scores.of(theirs, part, own_sizes, TARGETS[name]))
        return


def several(peer: str, rows: Integers, sizes: list[int], epsilon: str) -> Tables:
    """The tables of a peer: `RUNS` of them where it gives so many, and all others that are kept.

    Raises:
        CannotInstall: the peer cannot be had.
        NoTable: it gave none, and why.
    """
    found: list[tuple[float, Integers]] = []
    for run in itertools.count():
        try:
            found.append(saved(*PEERS[peer], rows, sizes, epsilon, DELTA, run, LIMIT if run < RUNS else 0.0))
        except NoTable:
            if not found:
                raise
            break
    return Tables(statistics.median(took for took, _ in found), [table for _, table in found])


def compared(label: str, peer: str, own: Scores, theirs: Scores) -> Iterator[Line]:
    """A line for each order of marginals, and one for models."""
    for order, (mean, error) in own.distances.items():
        other, spread = theirs.distances[order]
        beyond = (mean - other) / max(math.hypot(error, spread), 1e-12)
        words = f"{peer}, {theirs.seconds:.0f} s each ({own.spread(error)}; {theirs.spread(spread)})"
        aim = "at most 1" if order > 1 else ""
        ok = not aim or beyond <= 2
        yield Line(f"{label}: {order}-way, {peer}", mean, words, other, mean / other, aim, ok, "")
    if own.models and theirs.models:
        (mean, error), (other, spread) = own.models, theirs.models
        words = f"{peer} ({own.spread(error)}; {theirs.spread(spread)})"
        yield Line(f"{label}: rightly named, {peer}", mean, words, other, mean / other, "", True, "")


def mean_of(values: list[float]) -> tuple[float, float]:
    """The mean and its standard error; 0 of a single value."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return statistics.mean(values), error


def ours(rows: Integers, sizes: list[int], epsilon: str) -> tuple[float, Integers]:
    """The seconds of processor time of one table, and the table. As the peers are told, no value is missing."""
    import duckdb

    names = [f"c{at}" for at in range(len(sizes))]
    given = pa.table({name: pa.array(rows[:, at]) for at, name in enumerate(names)})
    bounds = {name: (0, size - 1) for name, size in zip(names, sizes, strict=True)}
    budget = dp.Budget(epsilon=100, delta="1e-6", accountant="zcdp")
    with duckdb.connect() as source:
        source.register("given", given)
        source.execute(f"CREATE TABLE data ({', '.join(f'{name} BIGINT NOT NULL' for name in names)})")
        source.execute("INSERT INTO data SELECT * FROM given")
        with dp.protect(source, table="data", privacy_unit="row", bounds=bounds, budget=budget) as session:
            start = time.process_time()
            bins = dict(zip(names, sizes, strict=True))
            made = session.synthesize(epsilon=epsilon, delta=DELTA, bins=bins)
            took = time.process_time() - start
    return took, np.column_stack([made.values[name].to_numpy() for name in names]).astype(np.int64)
