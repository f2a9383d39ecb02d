"""Rows, splits and scores that every library is given; run by each of them in its own environment.

A task is a model and a data set. A run splits the rows, lets the library fit on seven tenths, and scores it on the
rest. Features are moved to -1 to 1 by public bounds for everybody. A `line` is a regression on the one feature
that goes best with the target, which everybody is told.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 30
CLUSTERS = 3
COMPONENTS = 2
FIRST_SEED = 7000
"""Of the splits; none of these was looked at when shares of epsilon were chosen."""

Fit = Callable[[Any, Any, "Facts"], Any]


class Facts:
    """All that is public about a task: epsilon, classes, whether the target is a number, and its bounds."""

    def __init__(self, epsilon: float, classes: list[int], width: int) -> None:
        self.epsilon = epsilon
        self.classes = classes
        self.width = width


def accuracy(predict: Any, x: Any, y: Any) -> float:
    """The share of labels that are right."""
    return float((np.asarray(predict(x)) == y).mean())


def determination(predict: Any, x: Any, y: Any) -> float:
    """R squared."""
    return float(1 - ((np.asarray(predict(x)).ravel() - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def closeness(centres: Any, x: Any, _: Any) -> float:
    """One less the mean squared distance to the nearest centre, in units of that to the mean."""
    far = ((x[:, None] - np.asarray(centres)[None]) ** 2).sum(axis=2).min(axis=1).mean()
    return float(1 - far / ((x - x.mean(axis=0)) ** 2).sum(axis=1).mean())


def captured(axes: Any, x: Any, _: Any) -> float:
    """The share of the variance along the axes, which are made orthonormal."""
    basis, _ = np.linalg.qr(np.asarray(axes).T)
    moved = x - x.mean(axis=0)
    return float(((moved @ basis) ** 2).sum() / (moved**2).sum())


SCORES: Mapping[str, Callable[[Any, Any, Any], float]] = {
    "naive Bayes": accuracy,
    "tree": accuracy,
    "logistic": accuracy,
    "linear": determination,
    "line": determination,
    "k-means": closeness,
    "components": captured,
}


def scores(fit: Fit, model: str, data: Any, epsilon: float, runs: int) -> list[float]:
    """The scores of so many runs."""
    regression = model in ("linear", "line")
    x, y = (data["inputs"], data["target"]) if regression else (data["x"], data["label"])
    if model == "line":
        x = x[:, [int(np.argmax(np.abs(np.corrcoef(x.T, y)[-1, :-1])))]]
    if model == "logistic":
        y = (y == data["one"]).astype(int)
    facts = Facts(epsilon, sorted({int(one) for one in y}) if not regression else [], x.shape[1])
    found = []
    for run in range(runs):
        order = np.random.default_rng(FIRST_SEED + run).permutation(len(x))
        cut = len(x) * 7 // 10
        try:
            fitted = fit(x[order[:cut]], y[order[:cut]], facts)
            found.append(SCORES[model](fitted, x[order[cut:]], y[order[cut:]]))
        except Exception as why:  # a fit that fails predicts nothing
            if run == 0:
                print(f"{model}: {type(why).__name__}: {why}", file=sys.stderr)
            found.append(float("nan"))
    return found


def main(fits: Mapping[str, Fit]) -> None:
    """Print the scores of each task as a line of JSON: script FOLDER RUNS EPSILONS [models [data sets]]."""
    warnings.simplefilter("ignore")
    folder, runs, epsilons = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
    models = sys.argv[4].split(",") if len(sys.argv) > 4 and sys.argv[4] else list(fits)
    chosen = sys.argv[5].split(",") if len(sys.argv) > 5 else None
    for path in sorted(folder.glob("*.npz")):
        data = dict(np.load(path))
        for model in (one for one in models if one in fits):
            needed = "target" if model in ("linear", "line") else "label"
            if needed not in data or (chosen and path.stem not in chosen):
                continue
            for epsilon in epsilons:
                start = time.process_time()
                found = scores(fits[model], model, data, float(epsilon), runs)
                print(json.dumps({"data": path.stem, "model": model, "epsilon": epsilon, "scores": found,
                                  "seconds": (time.process_time() - start) / runs}), flush=True)  # fmt: skip
