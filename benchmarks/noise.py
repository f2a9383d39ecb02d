"""Exact noise against NumPy's float Laplace and OpenDP's exact integer one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peak
from benchmarks.line import Line, alternate, faster, median
from discreet.noise import bernoulli_exp, laplace

DRAWS = 1_000_000
SCALES: tuple[tuple[str, int, float | None], ...] = (
    ("1", 1, 1.0),
    ("100", 100, 1.0),
    ("2^20", 1 << 20, 0.6),
    ("2^30", 1 << 30, None),
    ("2^34", 1 << 34, None),
    ("2^56", 1 << 56, None),
)


def lines() -> Iterator[Line]:
    """Measure, one line at a time."""
    generator = np.random.default_rng()
    for label, scale, at_least in SCALES:
        ours, reference = alternate(
            partial(laplace, scale, DRAWS), partial(generator.laplace, 0, scale, DRAWS)
        )
        name = f"laplace, scale {label}, 1,000,000 draws"
        yield faster(name, ours, "numpy Generator.laplace", reference, at_least)

    for label, scale, at_least in (("100", 100, 300.0), ("2^20", 1 << 20, None)):
        few = 20_000  # OpenDP's time is linear in the number of draws: scaled to 1,000,000
        opendp = _opendp(scale, few)
        ours, reference = alternate(partial(laplace, scale, DRAWS), opendp, 7)
        name = f"laplace, scale {label}, 1,000,000 draws"
        yield faster(name, ours, "OpenDP integer vector Laplace", reference * DRAWS / few, at_least)

    seconds, limit = median(lambda: laplace(100), 1001), 300e-6
    yield Line(
        "one draw at a seen scale",
        seconds,
        "limit",
        limit,
        limit / seconds,
        "at most 300 us",
        seconds <= limit,
    )
    seconds = median(lambda: laplace(1 << 32, 500), 201)
    yield Line("laplace, scale 2^32, 500 draws", seconds, "none", 0.0, 0.0, "", True)
    fresh = iter(range(1, 10**6))
    seconds = median(lambda: laplace(100 + Fraction(1, 7 + next(fresh))), 101)
    yield Line("one draw at a new scale", seconds, "none", 0.0, 0.0, "", True)

    x = np.arange(DRAWS) % 1000
    ours, reference = alternate(
        lambda: bernoulli_exp(x, scale=100), lambda: generator.random(DRAWS) < np.exp(-x / 100)
    )
    yield faster("bernoulli_exp, 1,000,000 lanes", ours, "numpy random() < exp(-x)", reference)
    yield _memory()


def _memory(values: int = 20_000_000) -> Line:
    """The most memory that noise on many values takes beside them, as a multiple of theirs."""
    done = subprocess.run(
        [sys.executable, "-c", peak.SOURCE + PEAK, str(values)], capture_output=True, check=True, text=True
    )
    most, own = map(int, done.stdout.split())
    limit = 2 * own
    return Line(f"Laplace.release, {values:,} values: memory in GiB beside them, not seconds", most / 1024**3,
                "the values", own / 1024**3, most / own, "at most 2 times the values", most <= limit)  # fmt: skip


PEAK = """
import sys
import numpy as np
from discreet.mechanisms import Laplace
Laplace(1).release(np.zeros(2000, np.int64))
given = np.ones(int(sys.argv[1]), np.int64)
before = peak()
Laplace(1).release(given)
print(peak() - before, given.nbytes)
"""
"""In a process of its own, whose peak is that of the noise."""


def _opendp(scale: float, count: int) -> Callable[[], Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    mechanism = dp.m.make_laplace(*space, scale=float(scale))
    zeros = [0] * count
    return lambda: mechanism(zeros)
