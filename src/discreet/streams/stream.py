"""A running stream: it counts rows, closes periods by a public clock, and answers each with its error."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from discreet.streams.buying import Noise, noise_of
from discreet.streams.counting import add, columns
from discreet.streams.estimating import estimated
from discreet.streams.state import Progress, State

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


class Place(Protocol):
    """The place in an input: a feed, or `Lines`.

    Attributes:
        read: how much was read.
    """

    read: int

    @property
    def digest(self) -> str:
        """The place, or a hash of the input up to it."""


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
    """

    def __init__(self, spec: StreamSpec, state: State, noise: Noise, confidence: float) -> None:
        self.spec = spec
        self._state = state
        self._noise = noise
        self._confidence = confidence
        self.charged: Loss | None = None
        counts = {
            one.name: np.zeros((spec.periods.count, one.parts * len(spec.keys)), np.int64)
            for one in spec.measures
        }
        start = Progress(0, 0, hashlib.sha256().hexdigest(), counts)
        self.progress = state.progress(spec.periods.count) or start
        self._noisy_nodes: dict[str, list[Floats]] = {measure.name: [] for measure in spec.measures}

    @property
    def closed(self) -> int:
        """How many periods have closed."""
        return self.progress.closed

    def add(self, row: Mapping[str, Any] | None) -> None:
        """Count a row; one of a closed period, of no period, of no group or of no unit is dropped."""
        add.add(self.spec, self.progress, row)

    def add_all(self, table: pa.Table | pa.RecordBatch) -> None:
        """Count rows that come as the columns of Arrow; the same as `add` of each in turn.

        Raises:
            StreamError: a column is missing, or holds neither texts nor numbers.
        """
        whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        columns.see_types(
            whole.schema, self.spec.time, [one for one in self.spec.columns if one != self.spec.time]
        )
        add.add_all(self.spec, self.progress, whole)

    def take(self, rows: pa.Table | Iterable[Mapping[str, Any] | None]) -> None:
        """Count the rows of a piece of a feed."""
        if isinstance(rows, pa.Table):
            self.add_all(rows)
        else:
            for row in rows:
                self.add(row)

    def close(self, t: int, feed: Place | None = None) -> list[Estimate]:
        """Close all periods up to t, keep that durably, and answer those that were open.

        Args:
            t: by a public clock.
            feed: the input, whose place is kept.
        """
        before = self.progress.closed
        if t <= before:
            return []
        self.progress.closed = t
        if feed is not None:
            self.progress.read, self.progress.digest = feed.read, feed.digest
        self._state.keep(self.progress)
        return [one for period in range(before + 1, t + 1) for one in self.estimates(period)]

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
                    spec.periods.label(t), key, measure.name, *(float(each[at]) for each in (*period, *total))
                )
                for key, at in spec.places.items()
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
    kept = State(state)
    with kept.locked():
        yield Stream(spec, kept, noise_of(spec, kept, ledger, payer), confidence)
