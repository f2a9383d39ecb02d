"""What every peer's script shares: the questions' parameters, the clock, and the lines that it prints.

It runs inside each peer's environment, so it needs nothing but the standard library.

A script loads the data into the form that its library likes best and gives back a function that answers once, from
the loaded data to released numbers. The lines on stdout are JSON: first the versions and the seconds of loading, then
one for each answer. Loading is done twice and timed the second time, so that no import and no start of a Java machine
is in it; and the first answer is not timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

GROUPS = 100
LOW, HIGH = 0.0, 200_000.0
EPSILON = 1.0
KEPT = 3
ROWS_OF_A_GROUP = 20_000  # a public upper bound, for peers that insist on one

Answer = tuple[Mapping[int, float], Mapping[int, float]]
"""Counts and means, by group."""


class CannotAnswer(Exception):
    """A peer has no way to ask this question; the text says why."""


def main(prepare: Callable[[str, str], Callable[[], Answer]], *packages: str) -> None:
    """Read the arguments, load, answer until the time is over, print one line for each answer.

    Args:
        prepare: takes the path of a Parquet file with columns person, place and amount, and the privacy unit, `row`
            or `user`; gives back the function that answers.
        packages: whose versions are printed.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("unit", choices=["row", "user"])
    parser.add_argument(
        "--warm-up", type=int, default=0, help="answers before the clock counts; if any, loading is timed"
    )
    parser.add_argument("--least", type=int, default=2, help="answers, however long they take")
    parser.add_argument("--most", type=int, default=30, help="answers, however short they take")
    parser.add_argument("--seconds", type=float, default=10, help="no answer is begun later than this")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    loading = 0.0
    try:
        answer = prepare(asked.path, asked.unit)
    except CannotAnswer as why:
        _print({"cannot": str(why)})
        return
    if asked.warm_up:
        start = time.perf_counter()
        answer = prepare(asked.path, asked.unit)
        loading = time.perf_counter() - start
    _print({"versions": {name: version(name) for name in packages}, "loading": loading})
    for _ in range(asked.warm_up):
        answer()
    first = time.perf_counter()
    for at in range(asked.most):
        start = time.perf_counter()
        if at >= asked.least and start - first > asked.seconds:
            break
        counts, means = answer()
        took = time.perf_counter() - start
        _print({"seconds": took, "counts": _by_group(counts), "means": _by_group(means)})


def means_of(counts: Mapping[int, float], sums: Mapping[int, float]) -> dict[int, float]:
    """Noisy sums over noisy counts, for peers whose own mean is no better beside a count."""
    return {group: sums[group] / counts[group] for group in counts}


def _by_group(values: Mapping[int, float]) -> Sequence[float]:
    assert len(values) == GROUPS, f"{len(values)} groups were answered, not {GROUPS}"
    return [float(values[group]) for group in range(GROUPS)]


def _print(line: Mapping[str, object]) -> None:
    sys.stdout.write("\n" + json.dumps(line) + "\n")
    sys.stdout.flush()
