"""PATE: a student that learns from the noisy votes of teachers (Papernot, Abadi, Erlingsson, Goodfellow, Talwar 2017).

Teachers learn from disjoint people and vote on public rows. The winner of each vote is named with exact noise, as one
release through the gate. The student learns from public rows and those labels, so that it is post-processing: it may
be published, and asked as often as anybody likes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.learning.arrays import PrivateArrays
from discreet.learning.budget import bought
from discreet.learning.moments import data_independent
from discreet.learning.poll import Poll, plain
from discreet.learning.teachers import Progress, see_classes, student_of
from discreet.ledger import Loss
from discreet.mechanisms.numeric.vote_loss import ToldLoss, VoteLoss
from discreet.mechanisms.selection.noisy_labels import NoisyLabels
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass
from discreet.release.draw import Draw, Use
from discreet.release.plan import ReleasePlan


@dataclass(frozen=True)
class Labels:
    """Public rows with the labels that the teachers named.

    Attributes:
        labels: of the public rows, in order.
        gamma: the noise on a vote had scale 1/gamma.
        teachers: how many voted.
        epsilon: the loss of all labels in sequence, pure.
        by_votes: their loss by the votes, where it was told.
    """

    labels: npt.NDArray[Any]
    gamma: Fraction
    teachers: int
    epsilon: Fraction
    by_votes: ToldLoss | None = None

    def loss(self, delta: Number = "1e-5") -> float:
        """The epsilon at a delta, by moments; it depends on no vote."""
        return data_independent(self.gamma, len(self.labels), delta)

    def student(self, classifier: Any, public: npt.ArrayLike) -> Any:
        """A classifier that has learned from the public rows and their labels.

        Raises:
            InvalidParameter: fewer than two classes were named, or the rows are not those that were.
        """
        given = self.labels.tolist()
        see_classes(given, "Give more public rows, a larger gamma or fewer teachers.")
        return student_of(classifier, public, given)


def pate(
    people: PrivateArrays,
    classifier: Any,
    public: npt.ArrayLike,
    *,
    classes: Sequence[Any],
    teachers: int = 100,
    gamma: Number = "0.05",
    tell: Number | None = None,
    delta: Number = "1e-5",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Labels:
    """Name the classes of public rows by the votes of teachers.

    Args:
        people: the private rows.
        classifier: of scikit-learn, for each teacher.
        public: rows without labels, finite numbers (m, d). Each costs a label.
        classes: all labels, in an order fixed without the data; rows with other labels are left out.
        teachers: how many; more of them make votes clearer and each of them weaker.
        gamma: the noise on a vote has scale 1/gamma; a label costs 2 gamma.
        tell: an epsilon for telling the loss by the votes (`VoteLoss`), which is far smaller where teachers agree; it
            is charged, too. By default it stays unknown.
        delta: at which that is told.
        jobs: how many teachers learn at once, as for joblib.
        progress: called with the teachers that have voted and those there are.

    Raises:
        InvalidParameter: an argument does not fit. Nothing was charged.
        BudgetExceeded: the budget does not have so much left. Nothing was charged.

    Privacy: 2 gamma for each public row, pure epsilon, in sequence (`NoisyLabels`), and `tell`. `Labels.loss` tells the
    smaller epsilon at a delta; the ledger charges the sum. The same people, public rows, classifier and parameters are
    answered from the ledger again, for nothing.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> rows = np.array([[-1.0], [1.0]] * 500)
        >>> people = PrivateArrays(rows, [0, 1] * 500, budget=30)
        >>> named = pate(people, LogisticRegression(), [[-2.0], [2.0]], classes=[0, 1], gamma=2)
        >>> named.labels.tolist(), named.epsilon
        ([0, 1], Fraction(8, 1))
    """
    poll = Poll.read(people, classifier, public, classes, teachers, jobs, progress)
    rows, count, rate = len(poll.rows), poll.teachers, decimal(gamma, "gamma")
    noise = NoisyLabels(epsilon_of(2 * rate), rows)
    teller = None if tell is None else VoteLoss(tell, rate, rows, count, delta)
    uses = {"labels": Use(noise, people.neighbours, poll.cells)}
    if teller is not None:
        uses["loss"] = Use(teller, people.neighbours, poll.cells)

    def compute(draw: Draw) -> list[npt.NDArray[np.int64]]:
        ballot = poll.votes()
        return [draw(use, ballot) for use in uses]

    def answered(named: Sequence[int], told: Sequence[int] = ()) -> Labels:
        by_votes = None if teller is None else teller.told(told, data_independent(rate, rows, delta))
        return Labels(plain(poll.named(named), poll.classes), rate, count, noise.loss, by_votes)

    plan: ReleasePlan[list[npt.NDArray[np.int64]], Labels] = ReleasePlan(
        question=poll.question((rate, teller) if teller else rate),
        words=f"PATE: {rows:,} labels by {count:,} teachers",
        loss=Loss(noise.loss + (0 if teller is None else teller.loss)),
        uses=uses,
        compute=compute,
        answer=lambda noisy: (
            answered(*(array.tolist() for array in noisy)),
            json.dumps([array.tolist() for array in noisy]).encode(),
        ),
        size=8 * rows,
        replay=lambda kept, _: answered(*json.loads(kept)),
    )
    return bought(plan, people)
