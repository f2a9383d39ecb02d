"""A decision tree whose splits are private choices and whose leaves are private counts.

Level by level every node takes one of the public splits (a feature, and one of CUTS thresholds between its bounds) by
permute-and-flip. The score of a split is how many rows of the node are right when each side names its most frequent
class. A row more or less moves it by at most 1, and all scores of a node in one direction. Replacing a row changes it
within one node, where scores move by at most 1, or takes it from one node and gives it to another, which costs half as
much in each (`PermuteAndFlip`): the nodes of a level are alternatives. The leaves count rows by class; replacing one
moves these counts by at most 2 in L1 (`LaplaceVector`). Levels and leaves compose in sequence. Every node is split,
also an empty one, so that the shape of a tree is public: its depth depends on epsilon and the number of rows alone.

Where people are few, a whole tree is chosen at once, among many whose splits chance drew without the data: features
evenly, thresholds near the middle of the rest of the bounds. The score of a tree is how many rows are right when
each leaf names its most frequent class; replacing a row moves all scores by at most 1, by permute-and-flip again. Each
leaf then names a class, by permute-and-flip on its counts: leaves are alternatives, as the nodes of a level are. Where
people are fewest, noise would choose the tree: there is one, with two leaves or more for each class, and all of epsilon
names its leaves. The numbers of rows, trees and levels were chosen on invented blobs and clusters (`make_blobs`,
`make_classification`); the rule of one tree was looked for after trees of digits had lost to those of another library.
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
FEW: Final = 150
"""Of fewer rows for each class, times epsilon, a whole tree is chosen among those that chance drew."""
FEWEST: Final = 25
"""Of fewer still, trees of few classes have a level less."""
ALONE: Final = 10
"""Of fewer than this and one more for each class, there is one tree."""
LEAVES_FOR: Final = 2
"""It has so many leaves for each class, or more."""
DRAWN_DEPTH: Final = 3
"""Levels of a tree that chance drew."""
WHOLE_TREE: Final = Fraction(1, 2)
"""The share of epsilon of the choice of such a tree."""
ASIDE: Final = 0.1
"""Its thresholds are so far from the middle at most, in parts of the rest of the bounds."""
LEAVES: Final = Fraction(3, 10)
"""The share of epsilon of the leaves."""


def depth_for(epsilon: float, rows: int, classes: int, most: int) -> int:
    """How many levels, from public numbers alone: a leaf should have many rows beside the noise; 0 where none has."""
    worth = epsilon * max(rows, 1) / classes
    return 0 if worth < FEW else max(1, min(most, int(math.log2(max(worth / 10, 2)))))


def drawn(epsilon: float, rows: int, classes: int, most: int) -> tuple[int, int]:
    """How many trees chance draws, and how many levels they have, from public numbers alone."""
    worth = epsilon * max(rows, 1) / classes
    if worth < ALONE + classes:
        return 1, min((LEAVES_FOR * classes - 1).bit_length(), most)
    fewer = worth < FEWEST and classes <= 2 ** (DRAWN_DEPTH - 1)
    depth = min(DRAWN_DEPTH - fewer, most)
    return 4 ** (depth + 1), depth


def bins_of(rows: Integers) -> Integers:
    """Which of the CUTS + 1 parts each value is in: int64 (n, d)."""
    return np.minimum((rows + STEPS) * (CUTS + 1) // (2 * STEPS), CUTS)


def right(bins: Integers, places: Integers, classes: int) -> Integers:
    """The scores of all splits of a node, the features one after another: int64 (d CUTS,)."""
    found = np.empty((bins.shape[1], CUTS), np.int64)
    for feature in range(bins.shape[1]):
        cells = np.bincount(bins[:, feature] * classes + places, minlength=(CUTS + 1) * classes)
        below = cells.reshape(CUTS + 1, classes).cumsum(axis=0)
        found[feature] = below[:-1].max(axis=1) + (below[-1] - below[:-1]).max(axis=1)
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
    Schuster 2010) and random ones (Jagannathan, Pillaipakkamnatt and Wright 2009), with permute-and-flip (McKenna and
    Sheldon 2020).

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
        trees, public = 0, None
        if not depth:
            trees, depth = drawn(float(loss), len(rows), count, most)
            public = _public(trees, rows.shape[1], depth)
        uses = _uses(loss, depth, CUTS * rows.shape[1], count, trees, budget.neighbours)
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
            split = 2**level - 1 + node
            node = 2 * node + (bins[np.arange(len(bins)), self.feature_[split]] > self._cut[split])
        found: Floats = self.leaf_proba_[node]
        return found

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """The labels of rows (m, d)."""
        check_is_fitted(self)
        found: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found


def _uses(
    loss: Fraction, depth: int, splits: int, classes: int, trees: int, neighbours: Neighbours
) -> dict[str, Use]:
    """The mechanisms of a tree whose splits are chosen, or of so many trees whose splits are public."""
    if trees:
        whole = WHOLE_TREE if trees > 1 else Fraction(0)
        label = PermuteAndFlip(loss * (1 - whole))
        leaves = {f"leaf {leaf}": Use(label, neighbours, classes, "leaves") for leaf in range(2**depth)}
        if not whole:
            return leaves
        return {"tree": Use(PermuteAndFlip(loss * whole), neighbours, trees)} | leaves
    choice = PermuteAndFlip(loss * (1 - LEAVES) / depth)
    uses = {
        f"{level} {node}": Use(choice, neighbours, splits, f"level {level}")
        for level in range(depth)
        for node in range(2**level)
    }
    uses["leaves"] = Use(LaplaceVector(2 / (loss * LEAVES), 2), neighbours, 2**depth * classes)
    return uses


def _public(many: int, width: int, depth: int) -> Integers:
    """The splits of trees that no row decided: int64 (trees, nodes)."""
    rng = np.random.default_rng()
    found = np.zeros((many, 2**depth - 1), np.int64)
    every = np.arange(many)
    low, high = np.zeros((2, many, 2**depth - 1, width), np.int64)
    high[:, 0] = CUTS + 1  # of the parts of the bounds
    for node in range(2**depth - 1):
        feature = rng.integers(0, width, many)
        least, most = low[every, node, feature], high[every, node, feature]
        part = least + (most - least) * rng.uniform(0.5 - ASIDE, 0.5 + ASIDE, many)
        cut = np.clip(np.rint(part).astype(np.int64), 1, CUTS)
        found[:, node] = feature * CUTS + cut - 1
        for side in (1, 2):
            if (child := 2 * node + side) < low.shape[1]:
                low[:, child], high[:, child] = low[:, node], high[:, node]
                (high if side == 1 else low)[every, child, feature] = cut
    return found


def _leaves_of(bins: Integers, taken: Integers, depth: int) -> Integers:
    """The leaf of each row: int64 (n,)."""
    node = np.zeros(len(bins), np.int64)
    for level in range(depth):
        split = taken[2**level - 1 + node]
        node = 2 * node + (bins[np.arange(len(bins)), split // CUTS] > split % CUTS)
    return node


def _counted(bins: Integers, places: Integers, taken: Integers, depth: int, classes: int) -> Integers:
    """How many rows of each class each leaf has: int64 (leaves, classes)."""
    cells = np.bincount(_leaves_of(bins, taken, depth) * classes + places, minlength=2**depth * classes)
    return cells.reshape(2**depth, classes).astype(np.int64)


def _grown(
    draw: Draw, bins: Integers, places: Integers, depth: int, classes: int, public: Integers | None
) -> list[Integers]:
    """The splits of all nodes, level by level, and the noisy counts of the leaves: int64 (leaves, classes)."""
    if public is not None:
        tables = [_counted(bins, places, tree, depth, classes) for tree in public]
        right_of = np.array([cells.max(axis=1).sum() for cells in tables])
        index = int(draw("tree", right_of)) if len(public) > 1 else 0
        named = [int(draw(f"leaf {leaf}", row)) for leaf, row in enumerate(tables[index])]
        return [public[index], np.eye(classes, dtype=np.int64)[named]]
    taken: list[int] = []
    node = np.zeros(len(bins), np.int64)
    for level in range(depth):
        chosen = []
        for number in range(2**level):
            here = node == number
            chosen.append(int(draw(f"{level} {number}", right(bins[here], places[here], classes))))
        feature, cut = np.array(chosen)[node] // CUTS, np.array(chosen)[node] % CUTS
        node = 2 * node + (bins[np.arange(len(bins)), feature] > cut)
        taken += chosen
    splits = np.array(taken, np.int64)
    return [splits, draw("leaves", _counted(bins, places, splits, depth, classes))]


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
