"""The estimates of marginals are those of dense least squares, and their variances too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.planning import marginals
from discreet.planning.marginals import Keys, MeasuredMarginals, cells, every_set


def matrix(sizes: tuple[int, ...], keys: Keys) -> Any:
    """The marginal of some keys as a matrix over all cells."""
    every = np.eye(cells(sizes, tuple(range(len(sizes))))).reshape(*sizes, -1)
    summed = every.sum(axis=tuple(key for key in range(len(sizes)) if key not in keys))
    return summed.reshape(-1, every.shape[-1])


def see_dense(seed: int) -> None:
    """Compare estimate, variance and weights of a random workload with those of its matrix."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 4))
    sizes = tuple(int(n) for n in random.integers(1, 5, count))
    every = every_set(tuple(range(count)))
    chosen = [keys for keys in every if random.random() < 0.5] or [every[-1]]
    measured = MeasuredMarginals(sizes, {keys: float(random.uniform(0.2, 5)) for keys in chosen})
    spread = np.concatenate([np.full(cells(sizes, k), measured.variances[k] ** 0.5) for k in chosen])
    noisy = {keys: random.normal(size=[sizes[key] for key in keys]) for keys in chosen}
    design = np.concatenate([matrix(sizes, keys) for keys in chosen]) / spread[:, np.newaxis]
    inverse = np.linalg.pinv(design)
    best = inverse @ (np.concatenate([noisy[keys].reshape(-1) for keys in chosen]) / spread)
    for table in (one for one in every if any(set(one) <= set(keys) for keys in chosen)):
        rows = matrix(sizes, table)
        assert measured.estimate(noisy, table).reshape(-1) == pytest.approx(rows @ best, abs=1e-8)
        linear = rows @ inverse
        assert (linear**2).sum(axis=1) == pytest.approx(measured.variance(table))
        start = 0
        for keys in chosen:
            own = linear[0, start : start + cells(sizes, keys)] / spread[start : start + cells(sizes, keys)]
            start += len(own)
            values, counts = measured.weights(table, keys)
            assert np.sort(np.repeat(values, counts)) == pytest.approx(np.sort(own), abs=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_generalised_least_squares(seed: int) -> None:
    see_dense(seed)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("gain", lambda true: lambda sizes, keys, part: true(sizes, keys, part) ** 0.5),
        ("load", lambda true: lambda sizes, table, part: true(sizes, table, part) * 1.01),
    ],
)
def test_a_wrong_formula_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[[Any], Any]
) -> None:
    monkeypatch.setattr(marginals, name, wrong(getattr(marginals, name)))
    found = 0
    for seed in range(40):
        try:
            see_dense(seed)
        except AssertionError:
            found += 1
    assert found > 10


def test_many_tables_at_once_are_each_estimated() -> None:
    random = np.random.default_rng(3)
    measured = MeasuredMarginals((3, 2, 4), {(0, 1): 1.0, (2,): 2.0, (0, 2): 0.5})
    noisy = {
        keys: random.normal(size=(5, *(measured.sizes[key] for key in keys))) for keys in measured.variances
    }
    together = measured.estimate(noisy, (0, 1, 2))
    for number in range(5):
        alone = measured.estimate({keys: table[number] for keys, table in noisy.items()}, (0, 1, 2))
        assert together[number] == pytest.approx(alone)
