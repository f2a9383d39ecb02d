"""Marginals by sweeps are those of the joint distribution, in trees of every shape.

Planted fault: a sweep that carries the distribution of a clique on without dividing by its overlap.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from discreet.synthetic import sweeps
from discreet.synthetic.inference import MarginalModel
from discreet.synthetic.junction import cells_needed, junction_tree

RUNS = 25


def farthest() -> float:
    """The largest distance of a marginal from the sum of the joint distribution, over random models."""
    random, worst = np.random.default_rng(3), 0.0
    for _ in range(RUNS):
        count = int(random.integers(2, 9))
        sizes = tuple(random.integers(1, 4, count).tolist())
        cliques = [
            tuple(
                sorted(
                    random.choice(count, int(random.integers(1, min(count, 3) + 1)), replace=False).tolist()
                )
            )
            for _ in range(int(random.integers(1, count + 2)))
        ]
        tree = junction_tree(cliques, sizes)
        assert tree.cells == cells_needed(cliques, sizes)
        model = MarginalModel(
            tree, [random.normal(0, 2, [sizes[at] for at in clique]) for clique in tree.cliques]
        )
        joint = model.marginal(tuple(range(count)))
        wanted = [set_ for order in (1, 2, 3) for set_ in itertools.combinations(range(count), order)]
        for columns, table in sweeps.marginals_of(model, wanted).items():
            by_hand = joint.sum(axis=tuple(at for at in range(count) if at not in columns))
            assert table.shape == by_hand.shape
            worst = max(worst, float(np.abs(table - by_hand).max()))
    return worst


def test_marginals_of_many_sets() -> None:
    assert farthest() < 1e-12


def test_planted_an_overlap_counted_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(self: Any, at: int, shared: Any) -> Any:
        return self._model.beliefs[at]

    monkeypatch.setattr(sweeps._Sweeps, "_rest", whole)
    assert farthest() > 1e-3
