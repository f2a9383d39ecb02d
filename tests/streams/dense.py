"""A strategy as the dense matrices that it stands for."""

from __future__ import annotations

import numpy as np

from discreet.streams.strategy import Strategy


def right(strategy: Strategy) -> np.ndarray:
    """R, found by one row in each period."""
    periods = strategy.periods
    out = np.zeros((strategy.nodes(periods), periods), np.int64)
    ones = np.eye(periods, dtype=np.int64)
    for t in range(1, periods + 1):
        seen = np.where(np.arange(periods)[:, None] < t, ones, 10**6)  # later rows must not be read
        out[strategy.nodes(t - 1) : strategy.nodes(t)] = strategy.exact(t, seen)
    return out


def left(strategy: Strategy, period: bool = False) -> np.ndarray:
    """L, or the weights of the single periods."""
    periods = strategy.periods
    out = np.zeros((periods, strategy.nodes(periods)))
    for t in range(1, periods + 1):
        row = strategy.weights_of_period(t) if period else strategy.weights(t)
        out[t - 1, : len(row)] = row
    return out
