"""A running stream: it counts rows, closes periods by a public clock, and answers each with its error."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from discreet.errors import StreamError
from discreet.records import dataclass
from discreet.streams.buying import Noise, noise_of
from discreet.streams.counting import add, columns, integers
from discreet.streams.estimating import estimated
from discreet.streams.state import StreamFolder, StreamProgress

if TYPE_CHECKING:
    from discreet.ledger import Ledger, Loss
    from discreet.release.gate import Payer
    from discreet.streams.measure import Measure
    from discreet.streams.spec import StreamSpec
    from discreet.streams.strategy import Floats

_LIMIT = 1 << 62


@dataclass(frozen=True)
class Estimate:
    """The released numbers of one period, group and measure.

    Attributes:
        period: the begin of the period.
        key: of the group; empty without groups.
        name: of the measure.
        value: the estimate for this period alone.
        error: half the width of its interval.
        total: the estimate for all periods so far, or for those of the window.
        total_error: half the width of that interval.
    """

    period: str
    key: str
    name: str
    value: float
    error: float
    total: float
    total_error: float


class InputPosition(Protocol):
    """The place in an input: a feed, or `Lines`.

    Attributes:
        read: how much was read.
    """

    read: int

    @property
    def digest(self) -> str:
        """The place, or a hash of the input up to it."""


class PeriodTable(Protocol):
    """A table that is read when periods have ended."""

    def read(self, spec: StreamSpec, first: int, last: int, key: bytes) -> Iterator[pa.Table]:
        """The rows of some periods, as `counting.integers` reads them.

        Args:
            spec: of the stream.
            first: the first of the periods.
            last: the last one.
            key: of the numbers of units, secret.

        Raises:
            StreamError: a column has gone, or has another type.
            SourceError, EngineError: the table cannot be read.
        """


class Stream:
    """A stream whose noise was bought.

    Privacy: as `StreamSpec` says. A row moves the counts only through its own period, group and values; which rows of
    a unit are counted depends on this unit's rows alone; and periods close by a clock that no row moves. So a unit
    moves the nodes of all periods by at most the sensitivity of the noise, and the estimates are functions of the noisy
    nodes. Made by `open_stream`.

    Attributes:
        spec: its declarations.
        progress: how far it has come; as secret as the data.
        charged: the loss that was charged when it was opened; None where it goes on.
        table: that is polled; None where rows are added.
    """

    def __init__(self, spec: StreamSpec, state: StreamFolder, noise: Noise, confidence: float) -> None:
        self.spec = spec
        self._state = state
        self._noise = noise
        self._confidence = confidence
        self.charged: Loss | None = None
        self.table: PeriodTable | None = None
        self.progress = self._restored()
        self._noisy_nodes: dict[str, list[Floats]] = {measure.name: [] for measure in spec.measures}

    def _restored(self) -> StreamProgress:
        """The progress that was kept, or that of the beginning."""
        found = self._state.progress(self.spec.periods.count)
        if found is not None:
            return found
        size = self.spec.periods.count
        counts = {
            measure.name: np.zeros((size, measure.parts * len(self.spec.keys)), np.int64)
            for measure in self.spec.measures
        }
        return StreamProgress(0, 0, hashlib.sha256().hexdigest(), counts)

    @property
    def closed(self) -> int:
        """How many periods have closed."""
        return self.progress.closed

    def add(self, row: Mapping[str, Any] | None) -> None:
        """Count a row; one of a closed period, of no period, of no group or of no unit is dropped."""
        self._see_added()
        add.add(self.spec, self.progress, row)

    def add_all(self, table: pa.Table | pa.RecordBatch) -> None:
        """Count rows that come as the columns of Arrow; the same as `add` of each in turn.

        Raises:
            StreamError: a column is missing, or holds neither texts nor numbers.
        """
        self._see_added()
        whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        columns.see_types(
            whole.schema, self.spec.time, [column for column in self.spec.columns if column != self.spec.time]
        )
        add.add_all(self.spec, self.progress, whole)

    def take(self, rows: pa.Table | Iterable[Mapping[str, Any] | None]) -> None:
        """Count the rows of a piece of a feed."""
        if isinstance(rows, pa.Table):
            self.add_all(rows)
        else:
            for row in rows:
                self.add(row)

    def poll(self, until: dt.datetime | None = None) -> list[Estimate]:
        """Close the periods that have ended with the rows that the table has of them now, and answer them.

        The table is read once, and only where a period has ended. A row that is not there then, or no longer, is not
        counted in its period, and never later.

        Args:
            until: the public time that it is; by default now.

        Raises:
            StreamError: rows of this stream are added; or a column has gone. The periods stay open.
            SourceError, EngineError: the table cannot be read. The periods stay open.
        """
        if self.table is None:
            raise StreamError("The rows of this stream are added.", "Use add and close.")
        now = dt.datetime.now(dt.UTC).replace(tzinfo=None) if until is None else until
        t = self.spec.periods.ended(now)
        if t <= self.closed:
            return []
        try:
            for rows in self.table.read(self.spec, self.closed + 1, t, self.progress.key):
                integers.add_integers(self.spec, self.progress, rows)
        except BaseException:
            self.progress = self._restored()  # no row counts twice
            raise
        return self._close(t)

    def _see_added(self) -> None:
        if self.spec.polled:
            raise StreamError("The table of this stream is polled.", "Use poll.")

    def close(self, t: int, feed: InputPosition | None = None) -> list[Estimate]:
        """Close all periods up to t, keep that durably, and answer those that were open.

        Args:
            t: by a public clock.
            feed: the input, whose place is kept.

        Raises:
            StreamError: the table of this stream is polled.
        """
        self._see_added()
        return self._close(t, feed)

    def _close(self, t: int, feed: InputPosition | None = None) -> list[Estimate]:
        before = self.progress.closed
        if t <= before:
            return []
        self.progress.closed = t
        if feed is not None:
            self.progress.read, self.progress.digest = feed.read, feed.digest
        self._state.keep(self.progress)
        return [estimate for period in range(before + 1, t + 1) for estimate in self.estimates(period)]

    def estimates(self, t: int) -> list[Estimate]:
        """The estimates of a period that has closed; they are the same each time."""
        assert 1 <= t <= self.progress.closed
        spec, out = self.spec, []
        first = max(0, t - spec.window) if spec.window else 0
        weights = spec.strategy.weights_of_period(t), spec.strategy.between(first, t)
        for measure in spec.measures:
            noisy = self._noisy(measure, t)
            period, total = (estimated(spec, measure, w, w @ noisy, self._confidence) for w in weights)
            out += [
                Estimate(
                    spec.periods.label(t),
                    key,
                    measure.name,
                    *(float(each[place]) for each in (*period, *total)),
                )
                for key, place in spec.places.items()
            ]
        return out

    def _noisy(self, measure: Measure, t: int) -> Floats:
        """The noisy nodes up to t: exact values, clamped, and the noise that was bought."""
        strategy, noisy = self.spec.strategy, self._noisy_nodes[measure.name]
        for s in range(len(noisy) + 1, t + 1):
            counts = np.clip(self.progress.counts[measure.name], -strategy.cap, strategy.cap)
            noise = self._noise[measure.name][strategy.nodes(s - 1) : strategy.nodes(s)]
            noisy.append((strategy.exact(s, counts) + np.clip(noise, -_LIMIT, _LIMIT)).astype(np.float64))
        return np.concatenate(noisy[:t])


@contextmanager
def open_stream(
    spec: StreamSpec, state: str | os.PathLike[str], ledger: Ledger, payer: Payer, confidence: float = 0.95
) -> Iterator[Stream]:
    """Begin a stream, which charges all of it, or go on with it, which is free.

    Args:
        spec: its declarations.
        state: the folder of its state, as secret as the data.
        ledger: of the data set.
        payer: its account.
        confidence: of the intervals.

    Raises:
        BudgetExceeded: the budget does not have so much left. Nothing was charged.
        StreamError: the state is gone or another process has it. Nothing was charged.
        LedgerError: the ledger cannot be read or written.
    """
    kept = StreamFolder(state)
    with kept.locked():
        yield Stream(spec, kept, noise_of(spec, kept, ledger, payer), confidence)
