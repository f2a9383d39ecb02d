"""How often the intervals of coefficients hold the truth: people drawn anew and noise drawn anew, many times."""

from __future__ import annotations

import numpy as np

from discreet.learning import LinearRegression

WEIGHTS = (1.0, -2.0, 0.5)


def coverage(rows: int, epsilon: float, runs: int, confidence: float = 0.95) -> tuple[float, float, float]:
    """The share of intervals that hold, the share that have ends, and their median width over the weights."""
    held, ended, widths = [], [], []
    for run in range(runs):
        rng = np.random.default_rng(run)
        x = rng.uniform(-2, 6, (rows, 3))
        x[:, 1] = 0.5 * x[:, 0] + 0.5 * x[:, 1]
        y = x @ WEIGHTS + 4 + rng.normal(0, 1, rows)
        made = LinearRegression(epsilon, bounds=[(-2, 6)] * 3, target_bounds=(-15, 20)).fit(x, y)
        ends = made.intervals(confidence)
        truth = np.array([*WEIGHTS, 4.0])
        held += ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).tolist()
        ended += np.isfinite(ends[:, 0]).tolist()
        widths.append(np.median(ends[:3, 1] - ends[:3, 0]))
    return float(np.mean(held)), float(np.mean(ended)), float(np.median(widths))
