"""PATE with Gaussian noise: only those rows get a label on which teachers agree (Papernot et al. 2018).

Labels on which teachers are split cost as much as others and are often wrong. So it is seen first, with noise of its
own, whether the most votes reach a threshold, and the price of a label is paid for so many labels as were asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.accounting.gaussian.bought import gaussian_variances
from discreet.errors import InvalidParameter
from discreet.learning.arrays import PrivateArrays
from discreet.learning.budget import bought
from discreet.learning.poll import Poll
from discreet.learning.teachers import Progress, see_classes, student_of
from discreet.ledger import Loss
from discreet.mechanisms.parameters import read_count
from discreet.mechanisms.selection.noisy_labels import ConfidentLabels
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan

CHECKS: Final = Fraction(1, 5)
"""The share of the loss, as a rho, that sees on which rows teachers agree."""


@dataclass(frozen=True)
class AgreedLabels:
    """Public rows, some of them with the labels on which the teachers agreed.

    Attributes:
        labels: of the public rows, in order; None where there is none.
        named: whether a row has a label: bool array.
        deviation: the standard deviation of the noise on a vote, but for rounding.
        teachers: how many voted.
        loss: of all labels, charged: epsilon at a delta.
    """

    labels: npt.NDArray[Any]
    named: npt.NDArray[np.bool_]
    deviation: float
    teachers: int
    loss: Loss

    def student(self, classifier: Any, public: npt.ArrayLike) -> Any:
        """A classifier that has learned from the public rows that have labels.

        Raises:
            InvalidParameter: fewer than two classes were named, or the rows are not those that were.
        """
        given = self.labels[self.named].tolist()
        see_classes(given, "Give more public rows, more epsilon or a lower threshold.")
        return student_of(classifier, public, given, self.named)


def gnmax(
    people: PrivateArrays,
    classifier: Any,
    public: npt.ArrayLike,
    *,
    classes: Sequence[Any],
    epsilon: Number,
    delta: Number,
    teachers: int = 100,
    threshold: Number | None = "0.6",
    answers: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> AgreedLabels:
    """Name the classes of those public rows on which teachers agree, with Gaussian noise.

    Args:
        people: the private rows; their budget must grant a delta, twice as large where `accountant="zcdp"`.
        classifier: of scikit-learn, for each teacher.
        public: rows without labels, finite numbers (m, d).
        classes: all labels, in an order fixed without the data; rows with other labels are left out.
        epsilon: the loss of all labels together, at `delta`; the noise follows.
        delta: below 1.
        teachers: how many; more of them make votes clearer and each of them weaker.
        threshold: the share of the teachers that must agree, after noise; None where every row is named.
        answers: how many rows are named at most, the first on which they agree; by default all.
        jobs: how many teachers learn at once, as for joblib.
        progress: called with the teachers that have voted and those there are.

    Raises:
        InvalidParameter: an argument does not fit. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: (epsilon, delta) for all labels, by the exact curve of Gaussian noise or by zCDP, whichever needs less
    noise (`ConfidentLabels`); as much whether few rows are named or many. The same people, public rows, classifier and
    parameters are answered from the ledger again, for nothing.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from discreet import Budget
        >>> rows = np.array([[-1.0], [1.0]] * 500)
        >>> people = PrivateArrays(rows, [0, 1] * 500, budget=Budget(epsilon=9, delta="2e-5", accountant="zcdp"))
        >>> public = [[-2.0], [0.0], [2.0]]
        >>> named = gnmax(people, LogisticRegression(), public, classes=[0, 1], epsilon=9, delta=1e-5)
        >>> named.labels.tolist()[::2], str(named.loss)
        ([0, 1], 'epsilon 9, delta 1e-05')
    """
    poll = Poll.read(people, classifier, public, classes, teachers, jobs, progress)
    rows, count = len(poll.rows), poll.teachers
    share = None if threshold is None else decimal(threshold, "threshold")
    if share is not None and not 0 < share < 1:
        raise InvalidParameter(
            "threshold is outside 0 to 1.", 'Give the share that must agree, such as "0.6".'
        )
    loss = Loss(epsilon_of(epsilon), decimal(delta, "delta"))
    ballot = _ballot(loss, rows, answers, share, count)

    def compute(draw: Draw) -> npt.NDArray[np.int64]:
        named: npt.NDArray[np.int64] = draw("labels", poll.votes())
        return named

    def answered(named: Sequence[int]) -> AgreedLabels:
        return AgreedLabels(poll.named(named), np.array(named) >= 0, math.sqrt(ballot.variance), count, loss)

    words = f"{ballot.answers:,} of {rows:,} labels by {count:,} teachers"
    plan: ReleasePlan[npt.NDArray[np.int64], AgreedLabels] = ReleasePlan(
        question=poll.question(f"{ballot} {loss!r}"),
        words=f"PATE: {words}",
        loss=loss,
        uses={"labels": Use(ballot, people.neighbours, poll.cells)},
        compute=compute,
        answer=lambda named: (answered(named.tolist()), json.dumps(named.tolist()).encode()),
        size=8 * rows,
        replay=lambda kept, _: answered(json.loads(kept)),
    )
    return bought(plan, people)


def _ballot(
    loss: Loss, rows: int, answers: int | None, share: Fraction | None, teachers: int
) -> ConfidentLabels:
    """The least noise that a loss pays for, by the exact curve of Gaussian noise where that is less than by zCDP."""
    most = rows if answers is None else min(rows, read_count(answers, "answers", "Give the most names."))
    names = Fraction(2 * most)
    if share is None:
        (variance,) = gaussian_variances([names], loss)
        return ConfidentLabels(variance, rows, most)
    check, variance = gaussian_variances([Fraction(rows), names], loss, [CHECKS, 1 - CHECKS])
    return ConfidentLabels(variance, rows, most, math.ceil(share * teachers), check)


__all__ = ["AgreedLabels", "gnmax"]
