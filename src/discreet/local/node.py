"""A node: it keeps its values, answers through its declared mechanism only, and keeps its own budget."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter, QueryRefused
from discreet.ledger import Account, Loss, open_ledger
from discreet.local.messages import STEPS, Access, Choices, Declaration, Offer, Report
from discreet.mechanisms import Laplace, RandomizedResponse
from discreet.mechanisms.arrays import masked
from discreet.rational import Number, epsilon_of, show
from discreet.release import gate
from discreet.release.account import PlainAccount
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan

MOST_VALUES: Final = 1 << 36
"""So many values fit into a sum of 64 bits, with the noise."""


NOISE: Final = "noise"
"""The name of the one use of a mechanism in an answer."""


def _finite(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "iuf" and bool(np.isfinite(array).all())


def _inside(places: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Clamp places into 0..STEPS. One that is no number fails both comparisons and is 0."""
    return np.where(places >= STEPS, float(STEPS), np.where(places > 0, places, 0.0))


class LocalNode:
    """A node in this process.

    Privacy: each answer is epsilon-differentially private for one value of the node, by the Laplace
    mechanism in exact integers (Dwork, McSherry, Nissim and Smith 2006): a value is clamped to the declared
    bounds and put on a grid of STEPS places, and replacing it moves the sum by at most STEPS, which is the
    sensitivity; adding or removing one moves the two sums of a `Report` by STEPS together. All answers
    together cost at most the declared budget (sequential composition). With one value this is local
    differential privacy, and so it is for each of many values under `Choices`, where every one is randomised by
    itself (randomised response; Warner 1965). If a person has values in several nodes, their losses add up.

    Args:
        name: the name of the node; public.
        values: finite numbers, or texts for `Choices`, array-like (n,); they are copied and never leave the node.
        ledger: a file for the budget; by default it is kept in memory and ends with the process.

    Raises:
        InvalidParameter: a value is not a finite number or a text. The owner sees this error, and no analyst does.
        LedgerError: the ledger cannot be opened.

    Example:
        >>> ward = LocalNode("ward 3", [171.5, 168.0, 180.2])
        >>> ward.ask(0.1)
        Traceback (most recent call last):
        discreet.errors.QueryRefused: The node ward 3 is closed. Its owner opens it, with open(...).
        >>> ward.open(Access((140, 210), budget=1))
        >>> ward.ask(0.25).records, str(ward.describe().left)
        (3, '3/4')
        >>> ward
        <LocalNode ward 3: open, epsilon 0.75 left of 1>
    """

    def __init__(
        self, name: str, values: npt.ArrayLike, *, ledger: str | os.PathLike[str] | None = None
    ) -> None:
        if isinstance(values, np.ma.MaskedArray):
            raise masked()
        array = np.array(values)
        if array.ndim != 1 or not (array.dtype.kind == "U" or _finite(array)):
            raise InvalidParameter(
                "The values are not a row of finite numbers or texts.", "Drop all other values first."
            )
        assert len(array) < MOST_VALUES
        self.name = name
        self._values = array
        self._ledger = open_ledger(ledger)
        self._access: Declaration | None = None

    def open(self, access: Declaration) -> None:
        """Declare the measures that may be asked from now on. Spent epsilon stays spent under the new budget.

        Raises:
            InvalidParameter: the values are not of the kind that is declared. The owner sees this error, and no
                analyst does.
        """
        if isinstance(access, Choices):
            if not set(self._values.tolist()) <= set(access.categories):
                raise InvalidParameter(
                    "A value is not among the categories.", "Declare a category for the rest."
                )
        elif not isinstance(access, Access):
            raise InvalidParameter(
                "The declaration is of another type.", "Write Access(bounds=(0, 100), budget=1)."
            )
        elif not _finite(self._values):
            raise InvalidParameter("The values are no numbers.", "Declare Choices.")
        self._access = access

    def close(self) -> None:
        """Answer nothing from now on."""
        self._access = None

    def describe(self) -> Offer:
        """Describe the declaration and the budget left. It is free and touches no value."""
        if self._access is None:
            return Offer(self.name)
        records = len(self._values) if self._access.neighbours == "replace_one" else None
        return Offer(self.name, self._access, self._left(self._access), records)

    def ask(self, epsilon: Number) -> Report:
        """Answer with noise; the charge is made first and stays.

        Args:
            epsilon: the cost, a positive rational.

        Raises:
            QueryRefused: the node is closed. Nothing was charged.
            BudgetExceeded: it has too little left. Nothing was charged.
            InvalidParameter: epsilon is out of range. Nothing was charged.
            LedgerError: the charge cannot be written. No value was touched.
        """
        access = self._access
        if access is None:
            raise QueryRefused(f"The node {self.name} is closed.", "Its owner opens it, with open(...).")
        loss = epsilon_of(epsilon)
        use, compute = self._way(access, loss)  # raises before the charge, when this noise cannot be drawn

        def report(noisy: npt.NDArray[np.int64]) -> tuple[Report, bytes]:
            records = len(self._values) if access.neighbours == "replace_one" else None
            made = Report(self.name, access, loss, tuple(map(int, noisy)), records)
            return made, json.dumps(made.to_dict()).encode()

        plan = ReleasePlan(
            question=json.dumps(["total", str(loss), access.to_dict()]),
            words="",
            loss=Loss(loss),
            uses={NOISE: use},
            compute=compute,
            answer=report,
        )
        account = Account(self.name, Loss(access.budget))
        return gate.release(plan, self._ledger, PlainAccount(self._ledger, account, access.neighbours))

    def _way(
        self, access: Declaration, loss: Fraction
    ) -> tuple[Use, Callable[[Draw], npt.NDArray[np.int64]]]:
        """The mechanism, and the function that computes the answer; every refusal comes before its call."""
        if isinstance(access, Choices):
            response = RandomizedResponse(loss, access.categories)
            use = Use(response, access.neighbours, len(self._values))
            return use, lambda draw: self._counts(access, draw)
        sums = 1 if access.neighbours == "replace_one" else 2
        use = Use(Laplace(loss, STEPS), access.neighbours, sums)
        return use, lambda draw: np.asarray(draw(NOISE, self._sums(access)), np.int64)

    def _counts(self, access: Choices, draw: Draw) -> npt.NDArray[np.int64]:
        """How many values have each category, each having been randomised by itself."""
        reports = draw(NOISE, self._values.tolist())
        return np.array([reports.count(category) for category in access.categories], np.int64)

    def _sums(self, access: Access) -> npt.NDArray[np.int64]:
        """The exact sums, in steps: one value moves all of them together by at most STEPS."""
        low, width = float(access.bounds[0]), float(access.width)
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.floor((self._values.astype(np.float64) - low) / width * STEPS + 0.5)
        # Clamped after the division: despite rounding, a place is in 0..STEPS, and of its own value alone.
        total = _inside(places).astype(np.int64).sum()
        if access.neighbours == "replace_one":
            return np.array([total], np.int64)
        return np.array([total, len(self._values) * STEPS - total], np.int64)

    def _left(self, access: Declaration) -> Fraction:
        return max(Fraction(0), access.budget - self._ledger.spent(self.name).epsilon)

    def __repr__(self) -> str:
        if self._access is None:
            return f"<LocalNode {self.name}: closed>"
        left, budget = show(self._left(self._access)), show(self._access.budget)
        return f"<LocalNode {self.name}: open, epsilon {left} left of {budget}>"
