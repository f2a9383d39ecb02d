"""A decision tree whose splits are private choices and whose leaves are private counts.

Level by level every node takes one of the public splits (a feature, and one of CUTS thresholds between its bounds) by
permute-and-flip. The score of a split is how many rows of the node are right when each side names its most frequent
class. A row more or less moves it by at most 1, and all scores of a node in one direction. Replacing a row changes it
within one node, where scores move by at most 1, or takes it from one node and gives it to another, which costs half as
much in each (`PermuteAndFlip`): the nodes of a level are alternatives. The leaves count rows by class; replacing one
moves these counts by at most 2 in L1 (`LaplaceVector`). Levels and leaves compose in sequence. Every node is split,
also an empty one, so that the shape of a tree is public: its depth depends on epsilon and the number of rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.errors import InvalidParameter
from discreet.learning.budget import LearningBudget
from discreet.learning.models.releasing import budget_of, grid_of, places_of, released
from discreet.learning.statistics import STEPS, Bounds, Floats, Integers, moved, read_bounds
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.mechanisms.parameters import read_count
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.rational import Number, epsilon_of
from discreet.release.draw import Draw, Use

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours

CUTS: Final = 15
"""Thresholds of each feature: its bounds are divided into one part more."""
MOST_DEPTH: Final = 10
FEW: Final = 40
"""Of fewer rows for each class, times epsilon, no split can be chosen well: all is spent on the leaves."""
PUBLIC_DEPTH: Final = 4
"""Levels of a tree whose splits no row decides."""
LEAVES: Final = Fraction(3, 10)
"""The share of epsilon of the leaves."""


def depth_for(epsilon: float, rows: int, classes: int, most: int) -> int:
    """How many levels, from public numbers alone: a leaf should have many rows beside the noise; 0 where none has."""
    worth = epsilon * max(rows, 1) / classes
    return 0 if worth < FEW else max(1, min(most, int(math.log2(max(worth / 10, 2)))))


def bins_of(rows: Integers) -> Integers:
    """Which of the CUTS + 1 parts each value is in: int64 (n, d)."""
    return np.minimum((rows + STEPS) * (CUTS + 1) // (2 * STEPS), CUTS)


def right(bins: Integers, places: Integers, classes: int) -> Integers:
    """The scores of all splits of a node, the features one after another: int64 (d CUTS,)."""
    found = np.empty((bins.shape[1], CUTS), np.int64)
    for at in range(bins.shape[1]):
        cells = np.bincount(bins[:, at] * classes + places, minlength=(CUTS + 1) * classes)
        below = cells.reshape(CUTS + 1, classes).cumsum(axis=0)
        found[at] = below[:-1].max(axis=1) + (below[-1] - below[:-1]).max(axis=1)
    return found.ravel()


class DecisionTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A decision tree by private choices of splits. Each row is one person; every `fit` is charged.

    Args:
        epsilon: of one fit.
        bounds: (least, greatest) of each feature, known without the data; values beyond are clamped.
        classes: all labels, fixed without the data; a row with another label counts as the first.
        max_depth: levels at most, 1 to 10; fewer are made where epsilon and rows are few.
        budget: a `LearningBudget`, which all learners of the same people share; by default one of one fit.

    Attributes (after `fit`): `classes_`, `depth_`; `feature_` and `threshold_` of each node, level by level;
    `leaf_proba_` (leaves, classes).

    Raises (by `fit`):
        InvalidParameter: a parameter is out of range. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: epsilon, pure, for replacing one row: the module's text. Source: greedy private trees (Friedman and
    Schuster 2010), with permute-and-flip (McKenna and Sheldon 2020).

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 10, 20_000)[:, None]
        >>> made = DecisionTreeClassifier(epsilon=5, bounds=[(0, 10)], classes=(0, 1), max_depth=2)
        >>> made.fit(x, x[:, 0] > 5).predict([[1.0], [9.0]]).tolist()
        [0, 1]
    """

    def __init__(
        self,
        epsilon: Number = 1,
        *,
        bounds: Bounds | None = None,
        classes: Sequence[Any] | None = None,
        max_depth: int = 6,
        budget: LearningBudget | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.max_depth = max_depth
        self.budget = budget

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803
        """Learn splits and leaves."""
        most = read_count(self.max_depth, "max_depth", "Give how many levels there are at most.")
        if most > MOST_DEPTH:
            raise InvalidParameter("The tree is too deep.", f"Ask for at most {MOST_DEPTH} levels.")
        rows = grid_of(self, X, self.bounds)
        places = places_of(y, self.classes, len(rows))
        budget, loss = budget_of(self.budget, self.epsilon), epsilon_of(self.epsilon)
        self.classes_ = np.array(self.classes)
        count = len(self.classes_)
        depth = depth_for(float(loss), len(rows), count, most)
        public = _public(rows.shape[1], min(PUBLIC_DEPTH, most)) if not depth else None
        depth = depth or min(PUBLIC_DEPTH, most)
        uses = _uses(loss, depth, CUTS * rows.shape[1], count, public is None, budget.neighbours)
        taken, cells = released(
            uses,
            lambda draw: _grown(draw, bins_of(rows), places, depth, count, public),
            f"tree of {depth} levels on {rows.shape[1]} features",
            budget,
        )
        self.depth_ = depth
        ends = read_bounds(self.bounds_)
        self.feature_, self._cut = taken // CUTS, taken % CUTS
        part = (self._cut + 1) / (CUTS + 1)
        self.threshold_: Floats = ends[self.feature_, 0] + part * (ends[:, 1] - ends[:, 0])[self.feature_]
        if public is None:
            self.leaf_proba_: Floats = chances(cells, float(2 / (loss * LEAVES)))
        else:
            self.leaf_proba_ = (cells + 1 / count) / 2
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The chances of the classes: float64 (m, classes)."""
        check_is_fitted(self)
        features = validate_data(self, X, reset=False, dtype=np.float64)
        rows = np.rint(moved(features, read_bounds(self.bounds_)) * STEPS).astype(np.int64)
        bins, node = bins_of(rows), np.zeros(len(rows), np.int64)
        for level in range(self.depth_):
            at = 2**level - 1 + node
            node = 2 * node + (bins[np.arange(len(bins)), self.feature_[at]] > self._cut[at])
        found: Floats = self.leaf_proba_[node]
        return found

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """The labels of rows (m, d)."""
        check_is_fitted(self)
        found: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found


def _uses(
    loss: Fraction, depth: int, splits: int, classes: int, chosen: bool, neighbours: Neighbours
) -> dict[str, Use]:
    """The mechanisms of a tree whose splits are chosen, or are public."""
    if not chosen:
        label = PermuteAndFlip(loss)
        return {f"leaf {leaf}": Use(label, neighbours, classes, "leaves") for leaf in range(2**depth)}
    choice = PermuteAndFlip(loss * (1 - LEAVES) / depth)
    uses = {
        f"{level} {node}": Use(choice, neighbours, splits, f"level {level}")
        for level in range(depth)
        for node in range(2**level)
    }
    uses["leaves"] = Use(LaplaceVector(2 / (loss * LEAVES), 2), neighbours, 2**depth * classes)
    return uses


def _public(width: int, depth: int) -> Integers:
    """Splits that no row decided: features by chance, thresholds near the middle."""
    rng = np.random.default_rng()
    nodes = 2**depth - 1
    features, cuts = rng.integers(0, width, nodes), rng.integers(CUTS // 2 - 2, CUTS // 2 + 3, nodes)
    found: Integers = features * CUTS + cuts
    return found


def _grown(
    draw: Draw, bins: Integers, places: Integers, depth: int, classes: int, public: Integers | None
) -> list[Integers]:
    """The splits of all nodes, level by level, and the noisy counts of the leaves: int64 (leaves, classes)."""
    taken: list[int] = []
    node = np.zeros(len(bins), np.int64)
    for level in range(depth):
        chosen = [] if public is None else public[2**level - 1 : 2 ** (level + 1) - 1].tolist()
        for at in range(len(chosen), 2**level):
            here = node == at
            chosen.append(int(draw(f"{level} {at}", right(bins[here], places[here], classes))))
        feature, cut = np.array(chosen)[node] // CUTS, np.array(chosen)[node] % CUTS
        node = 2 * node + (bins[np.arange(len(bins)), feature] > cut)
        taken += chosen
    cells = np.bincount(node * classes + places, minlength=2**depth * classes)
    cells = cells.reshape(2**depth, classes).astype(np.int64)
    if public is None:
        return [np.array(taken, np.int64), draw("leaves", cells)]
    named = [int(draw(f"leaf {at}", row)) for at, row in enumerate(cells)]
    return [np.array(taken, np.int64), np.eye(classes, dtype=np.int64)[named]]


def chances(cells: Integers, scale: float) -> Floats:
    """The chances of classes in leaves: counts beside as many rows of the parent as their noise is wide."""
    levels: list[Floats] = [cells.astype(np.float64)]
    while len(levels[-1]) > 1:
        levels.append(levels[-1][0::2] + levels[-1][1::2])
    classes = cells.shape[1]
    above: Floats = np.full((1, classes), 1 / classes)
    for depth, level in enumerate(reversed(levels)):
        noise = scale * math.sqrt(2 * 2 ** (len(levels) - 1 - depth))
        parents = above if depth == 0 else np.repeat(above, 2, axis=0)
        raised = np.maximum(level, 0) + noise * parents
        above = raised / raised.sum(axis=1, keepdims=True)
    return above
