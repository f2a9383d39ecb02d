"""A running stream: it counts rows, closes periods by a public clock, and answers each with its error."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.mechanisms.laplace_sum.half_width import half_width
from discreet.streams.buying import Noise, noise_of
from discreet.streams.periods import time_of
from discreet.streams.state import Progress, State

if TYPE_CHECKING:
    from discreet.ledger import Ledger, Loss
    from discreet.release.gate import Payer
    from discreet.streams.lines import Lines
    from discreet.streams.spec import Measure, StreamSpec
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
        total: the estimate for all periods so far.
        total_error: half the width of that interval.
    """

    period: str
    key: str
    name: str
    value: float
    error: float
    total: float
    total_error: float


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
        shape = spec.periods.count, len(spec.keys)
        self.spec = spec
        self._state = state
        self._noise = noise
        self._confidence = confidence
        self.charged: Loss | None = None
        self._keys = {key: at for at, key in enumerate(spec.keys)}
        start = Progress(
            0, 0, hashlib.sha256().hexdigest(), {m.name: np.zeros(shape, np.int64) for m in spec.measures}
        )
        self.progress = state.progress() or start
        self._noisy_nodes: dict[str, list[Floats]] = {measure.name: [] for measure in spec.measures}

    @property
    def closed(self) -> int:
        """How many periods have closed."""
        return self.progress.closed

    def add(self, row: Mapping[str, Any] | None) -> None:
        """Count a row; one of a closed period, of no period, of no group or of no unit is dropped."""
        spec, progress = self.spec, self.progress
        when = None if row is None else time_of(row.get(spec.time))
        t = None if when is None else spec.periods.of(when)
        if row is None or t is None or t <= progress.closed:
            return
        group = self._keys.get("" if spec.group is None else _text(row.get(spec.group)))
        if group is None:
            return
        if spec.unit is not None:
            unit = _text(row.get(spec.unit))
            if not unit:
                return
            digest = hashlib.blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            rows = progress.seen.get(digest, 0)
            if rows >= spec.rows:
                return
            progress.seen[digest] = rows + 1
        for measure in spec.measures:
            progress.counts[measure.name][t - 1, group] += _steps(measure, row)

    def close(self, t: int, lines: Lines | None = None) -> list[Estimate]:
        """Close all periods up to t, keep that durably, and answer those that were open.

        Args:
            t: by a public clock.
            lines: the input, whose place is kept.
        """
        before = self.progress.closed
        if t <= before:
            return []
        self.progress.closed = t
        if lines is not None:
            self.progress.read, self.progress.digest = lines.read, lines.digest
        self._state.keep(self.progress)
        return [one for period in range(before + 1, t + 1) for one in self.estimates(period)]

    def estimates(self, t: int) -> list[Estimate]:
        """The estimates of a period that has closed; they are the same each time."""
        assert 1 <= t <= self.progress.closed
        strategy, out = self.spec.strategy, []
        weights = strategy.weights_of_period(t), strategy.weights(t)
        for measure in self.spec.measures:
            noisy = self._noisy(measure, t)
            grid = float(measure.grid)
            scale = float(self.spec.mechanism(measure).scale)
            (value, error), (total, total_error) = (
                (w @ noisy * grid, half_width(np.abs(w) * scale, self._confidence) * grid) for w in weights
            )
            out += [
                Estimate(self.spec.periods.label(t), key, measure.name, float(value[at]), error, float(total[at]),
                         total_error)
                for key, at in self._keys.items()
            ]  # fmt: skip
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


def _text(value: object) -> str:
    """A key or a unit as text, equal for equal numbers; empty for a value that is none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _steps(measure: Measure, row: Mapping[str, Any]) -> int:
    """The steps that a row adds; none for a value that is no number. Infinities are clamped as all others."""
    if not measure.column:
        return 1
    value = row.get(measure.column)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return 0
    try:
        number = value if isinstance(value, int) else float(value)
    except ValueError:
        return 0
    if isinstance(number, float) and not math.isfinite(number):
        return 0 if math.isnan(number) else measure.steps(measure.hi if number > 0 else measure.lo)
    return measure.steps(Fraction(number))
