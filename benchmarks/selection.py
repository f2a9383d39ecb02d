"""Choosing one of a million candidates, against NumPy's Gumbel trick in floats, which is neither exact nor secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.line import Line, alternate, faster, median
from discreet.mechanisms import AboveThreshold, Exponential, NoisyMax, PermuteAndFlip, UnaryEncoding
from discreet.noise import gaussian

CANDIDATES = 1_000_000


def lines() -> Iterator[Line]:
    """Measure, one line at a time."""
    generator = np.random.default_rng()
    # Spread scores, as of a public list of words; and the worst case of rejection, where one stands alone.
    shapes = {
        "spread": generator.geometric(1e-3, CANDIDATES),
        "one far ahead": np.zeros(CANDIDATES, np.int64),
    }
    shapes["one far ahead"][7] = 10_000
    for label, scores in shapes.items():
        gumbel = _gumbel(scores, 1 / 2)
        for mechanism in (PermuteAndFlip(1), Exponential(1), NoisyMax(1), NoisyMax(1, k=10, noise="laplace")):
            name = f"{type(mechanism).__name__}{f', k = {mechanism.k}' if isinstance(mechanism, NoisyMax) else ''}"
            ours, reference = alternate(partial(mechanism.release, scores), gumbel, 7)
            at_least = 0.5 if isinstance(mechanism, PermuteAndFlip) else None
            yield faster(
                f"{name}, 1,000,000 candidates, {label}",
                ours,
                "numpy argmax of scores + Gumbel",
                reference,
                at_least,
            )
    scores = shapes["spread"]
    seconds = median(lambda: PermuteAndFlip(1).probabilities(scores), 3)
    yield Line("probabilities of PermuteAndFlip, 1,000,000 candidates", seconds, "none", 0.0, 0.0, "", True)
    seconds = median(lambda: AboveThreshold(1).start(10**6).above_each(np.zeros(CANDIDATES, int)), 3)
    yield Line("AboveThreshold, 1,000,000 questions", seconds, "none", 0.0, 0.0, "", True)
    words = UnaryEncoding(1, 1000)
    people = np.arange(10_000) % 1000
    seconds = median(lambda: words.estimate(words.release(people)), 3)
    yield Line("UnaryEncoding, 10,000 people, 1,000 categories", seconds, "none", 0.0, 0.0, "", True)
    ours, reference = alternate(
        partial(gaussian, 10**6, CANDIDATES), partial(generator.normal, 0, 1000, CANDIDATES), 5
    )
    yield faster("discrete Gaussian, sigma 1000, 1,000,000 draws", ours, "numpy Generator.normal", reference)


def _gumbel(scores: np.ndarray[tuple[int, ...], np.dtype[np.int64]], rate: float) -> Callable[[], object]:
    generator = np.random.default_rng()
    return lambda: np.argmax(scores * rate + generator.gumbel(size=scores.size))
