"""Private arrays: rows of features and labels that belong to people, under a budget."""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.learning.budget import LearningBudget
from discreet.session.budget import BudgetState

_KEY_BYTES = 16


def _owners(units: npt.ArrayLike) -> npt.NDArray[Any]:
    """Units as whole numbers or texts, of which equal ones are alike."""
    found = np.asarray(units)
    if found.dtype == object and all(isinstance(unit, str) for unit in found.ravel()):
        found = found.astype(str)
    if not found.size:  # of a list without entries NumPy makes floats
        return found.astype(np.int64)
    if found.dtype.kind not in "iuU":
        raise InvalidParameter("Units are neither whole numbers nor texts.", "Give each person a number.")
    return found


def numbers(features: npt.ArrayLike) -> npt.NDArray[Any]:
    """Features as floats, also where all of them are whole: none decides how another is read."""
    found = np.asarray(features)
    if found.dtype.kind not in "biuf":
        raise InvalidParameter(
            "Features are not all numbers that fit 64 bits.",
            "Turn each into a finite number, or leave it out.",
        )
    return found if found.dtype.kind == "f" else found.astype(np.float64)


def names(labels: npt.ArrayLike) -> npt.NDArray[Any]:
    """Labels, each of its own type: NumPy would make texts of all of them where one is a text."""
    return np.asarray(labels, dtype=None if hasattr(labels, "dtype") else object)


def cells(rows: Any) -> npt.NDArray[Any]:
    """Rows (n, d) of values, each of its own type, as with `names`.

    Raises:
        InvalidParameter: they are no rows of one length.
    """
    if hasattr(rows, "to_numpy"):
        return np.asarray(rows.to_numpy(object))
    if hasattr(rows, "dtype"):
        return np.asarray(rows)
    try:
        listed = [None if isinstance(row, str | bytes) else list(row) for row in rows]
        width = {None if row is None else len(row) for row in listed}
    except TypeError:
        width = set()
    if len(width) != 1 or None in width:
        raise InvalidParameter("The rows are not of one length.", "Give rows (n, d).")
    found = np.empty((len(listed), len(listed[0] or ())), object)
    for index, row in enumerate(listed):
        for place, value in enumerate(row or ()):
            found[index, place] = value
    return found


class PrivateArrays:
    """Features and labels of people, which learners may read for a price.

    Args:
        features: finite numbers, array-like (n, d).
        labels: array-like (n,).
        units: who a row belongs to, array-like (n,); None where each row is one person.
        budget: an epsilon, or a `Budget`: of everything that is ever learned from these arrays.
        ledger: where the budget is kept: a file or an address; by default in memory, for this process.
        name: of the data set in the ledger.

    Without `units` the number of rows is public and neighbours differ in one row (`replace_one`). With them, neighbours
    differ by all rows of one unit (`add_remove`).

    Raises:
        InvalidParameter: the arrays do not fit each other, features are no numbers, or units are neither whole numbers
            nor texts.
        PolicyError: the budget cannot be read, or its ledger holds a loss for other units, which cannot be converted.

    Example:
        >>> people = PrivateArrays([[1.0], [2.0], [3.0]], [0, 1, 1], budget=3)
        >>> people
        <PrivateArrays of 1 feature, epsilon 3 left>
    """

    def __init__(
        self,
        features: npt.ArrayLike,
        labels: npt.ArrayLike,
        units: npt.ArrayLike | None = None,
        *,
        budget: Any,
        ledger: str | os.PathLike[str] | None = None,
        name: str = "arrays",
    ) -> None:
        self.features = numbers(features)
        self.labels = names(labels)
        owners = None if units is None else _owners(units)
        shapes = [self.labels.shape, *([] if owners is None else [owners.shape])]
        if self.features.ndim != 2 or any(shape != self.features.shape[:1] for shape in shapes):
            raise InvalidParameter(
                "Features, labels and units do not fit each other.",
                "Give features (n, d), labels (n,), units (n,).",
            )
        self.neighbours: Literal["add_remove", "replace_one"] = (
            "replace_one" if units is None else "add_remove"
        )
        self._key = secrets.token_bytes(_KEY_BYTES)
        self.version = secrets.token_hex(8)  # a ledger may hold answers of other arrays
        self._owners = owners
        self._budget = LearningBudget(budget, ledger, name, self.neighbours)
        self.ledger, self.account = self._budget.ledger, self._budget.account

    def parts(self, count: int) -> npt.NDArray[np.int64]:
        """Which of `count` parts each row is in; all rows of a unit are in one, whoever else is there.

        A part depends on the unit and a secret key alone. Where each row is one person, it depends on the row's place,
        which is no data: the number of rows is public.
        """
        if self._owners is None:
            order = np.frombuffer(hashlib.shake_128(self._key).digest(8), np.uint64)
            return np.random.default_rng(order).permutation(len(self.labels)) % count
        return np.array([self._part(owner, count) for owner in self._owners.tolist()], np.int64)

    def _part(self, owner: object, count: int) -> int:
        said = hashlib.blake2b(repr(owner).encode("utf-8", "surrogatepass"), key=self._key, digest_size=8)
        return int.from_bytes(said.digest(), "big") % count

    @property
    def budget(self) -> BudgetState:
        """Total, spent and left."""
        return self._budget.state

    def __repr__(self) -> str:
        width, state = self.features.shape[1], self.budget
        return f"<PrivateArrays of {width} feature{'s' * (width != 1)}, epsilon {float(state.left):g} left>"
