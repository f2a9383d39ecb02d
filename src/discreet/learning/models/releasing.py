"""One fit is one release: integers of private rows, their noise, and the charge, through the gate.

Rows are on the grid of `learning.statistics`: a column lies in -STEPS to STEPS. Neighbours differ in one row; the
number of rows is public.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from discreet.errors import InvalidParameter
from discreet.learning.arrays import names, numbers
from discreet.learning.budget import LearningBudget, bought
from discreet.learning.statistics import MOST_ROWS, Bounds, Floats, Integers, scaled
from discreet.ledger import Loss
from discreet.rational import Number, epsilon_of
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan

Made = Any
"""A model, as numbers that JSON knows."""


def released(
    uses: Mapping[str, Use], compute: Callable[[Draw], Made], words: str, budget: LearningBudget
) -> Made:
    """The noisy numbers of one fit, charged.

    Args:
        uses: the mechanisms; the loss is the sum of theirs.
        compute: makes arrays of noisy integers alone.
        words: for the steward who reads the ledger.
        budget: is charged.

    Raises:
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: the sum of the losses of the uses, by sequential composition, also where one use depends on the results of
    others; each answers for its sensitivity.
    """
    sets: dict[str, Fraction] = {}
    for name, use in uses.items():  # of alternatives the dearest counts
        own = f"alternatives {use.alternatives}" if use.alternatives else f"use {name}"
        sets[own] = max(_pure(use), sets.get(own, Fraction(0)))
    loss = sum(sets.values(), Fraction(0))
    said = json.dumps(["learning", words, str(loss), sorted(uses)])
    plan: ReleasePlan[Any, Any] = ReleasePlan(
        question=hashlib.sha256(said.encode()).hexdigest(),
        words=words,
        loss=Loss(loss),
        uses=uses,
        compute=compute,
        answer=lambda noisy: (noisy, json.dumps([np.asarray(array).tolist() for array in noisy]).encode()),
    )
    return bought(plan, budget)


def _pure(use: Use) -> Fraction:
    loss = use.mechanism.loss
    assert isinstance(loss, Fraction), "these models use pure mechanisms alone"
    return loss


def budget_of(budget: LearningBudget | None, epsilon: Number) -> LearningBudget:
    """The budget of a learner; without one it has its own, of one fit.

    Raises:
        InvalidParameter: it is none, or its neighbours are others.
    """
    if budget is None:
        return LearningBudget(epsilon_of(epsilon))
    if not isinstance(budget, LearningBudget):
        raise InvalidParameter("budget is no LearningBudget.", "Write budget=LearningBudget(3).")
    if budget.neighbours != "replace_one":
        raise InvalidParameter(
            "This learner needs a public number of rows.", 'Give neighbours="replace_one".'
        )
    return budget


def grid_of(learner: Any, features: npt.ArrayLike, bounds: Bounds | None) -> Integers:
    """Features on the grid; no value of them is an error.

    Raises:
        InvalidParameter: bounds are missing or do not fit, or features are no numbers.
    """
    found: Floats = validate_data(learner, features_of(features), dtype=np.float64, ensure_all_finite=False)
    learner.bounds_ = wide(bounds, found.shape[1])
    return scaled(found, learner.bounds_)


def features_of(features: Any) -> Any:
    """Features as numbers; a frame keeps the names of its columns.

    Raises:
        InvalidParameter: they are no numbers, or no rows: scikit-learn would refuse these as well, and print them.
    """
    found = numbers(features)
    if found.ndim != 2:
        raise InvalidParameter(
            "The features are no rows (n, d).", "Give features.reshape(-1, 1) where there is one feature."
        )
    named = hasattr(features, "columns") and hasattr(features, "set_axis")
    return type(features)(found, columns=features.columns) if named else found


def wide(bounds: Bounds | None, width: int) -> Bounds:
    """The bounds of each feature; one pair is for all of them.

    Raises:
        InvalidParameter: there are none, or they are by name, of which only the names would be read.
    """
    if bounds is None:
        raise InvalidParameter("The bounds are missing.", "Give bounds=[(0, 120), …], one for each feature.")
    if isinstance(bounds, Mapping):
        raise InvalidParameter(
            "The bounds are by name, and the features have an order.",
            "Give bounds=[(0, 120), …], one for each feature, in the order of the features.",
        )
    listed: list[Any] = list(bounds)
    return (
        [tuple(listed)] * width if len(listed) == 2 and all(np.ndim(end) == 0 for end in listed) else listed
    )


def places_of(labels: npt.ArrayLike, classes: Sequence[Any] | None, count: int) -> Integers:
    """The place of each label among the classes; a label that is none of them counts as the first.

    Raises:
        InvalidParameter: classes are missing, fewer than two or twice the same, or labels do not fit the rows.
    """
    see_target(labels)
    listed = [] if classes is None else list(classes)
    try:
        distinct = len(set(listed)) == len(listed)
    except TypeError:
        distinct = False
    if len(listed) < 2 or not distinct:
        raise InvalidParameter("The classes are missing.", "Give classes=(0, 1), known without the data.")
    given = names(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (count,) or count > MOST_ROWS:
        raise InvalidParameter("Features and labels do not fit.", "Give a label for each row.")
    place = {name: index for index, name in enumerate(listed)}
    return np.array([_place(place, label) for label in given.tolist()], np.int64)


def see_target(target: object) -> None:
    """See that there is a target.

    Raises:
        InvalidParameter: there is none.
    """
    if target is None:
        raise InvalidParameter("This learner requires y to be passed, but the target y is None.", "Give y.")


def _place(place: Mapping[Any, int], label: Any) -> int:
    try:
        return place.get(label, 0)
    except Exception:  # it has no hash, or one that fails
        return 0


def by_class(rows: Integers, places: Integers, classes: int) -> Integers:
    """The exact sums of the rows of each class: int64 (classes, k)."""
    return np.array([rows[places == place].sum(axis=0) for place in range(classes)], np.int64)
