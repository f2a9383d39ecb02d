"""PATE on handwritten digits: how right a student is at each epsilon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.accounting.loss import Loss
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter
from discreet.learning.arrays import PrivateArrays
from discreet.learning.gnmax import gnmax
from discreet.learning.moments import data_independent
from discreet.learning.pate import pate
from discreet.learning.teachers import Progress, fitted, see_installed
from discreet.policy import Budget
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass

PRIVATE, PUBLIC = 1200, 300
"""How many of the 1,797 images are private, and how many are public; the others test."""
CLASSES: Final = tuple(range(10))


@dataclass(frozen=True)
class DigitsRun:
    """One run.

    Attributes:
        gamma: the noise on a vote had scale 1/gamma; None where it was Gaussian.
        epsilon: the loss of all labels at `delta`: of Laplace noise by moments, of Gaussian noise by zCDP.
        pure: their loss without a delta, for Laplace noise.
        labels: how many images were named.
        named: the share of these labels that are right.
        accuracy: the share of test images that the student names rightly.
    """

    gamma: Fraction | None
    epsilon: float
    pure: Fraction | None
    labels: int
    named: float
    accuracy: float

    @property
    def noise(self) -> str:
        """The noise in words."""
        return "Gaussian" if self.gamma is None else "Laplace"


@dataclass(frozen=True)
class DigitsExperiment:
    """PATE on the digits of scikit-learn: 1,797 images of 8 by 8 pixels (Alpaydin and Kaynak 1998).

    Attributes:
        teachers: how many vote.
        labels: how many public images get a label.
        gammas: the Laplace noise of some runs.
        epsilons: the loss of some runs with Gaussian noise, in which only images get a label on which teachers agree.
        delta: at which losses are shown.
    """

    teachers: int = 100
    labels: int = 100
    gammas: Sequence[Number] = ("0.02", "0.05", "0.1", "0.2", "0.5")
    epsilons: Sequence[Number] = ("1", "2", "5", "10")
    delta: Number = "1e-5"

    def reference(self) -> tuple[float, float]:
        """The accuracy of a classifier of all private images, and of a student of as many true labels."""
        images, digits = _digits()
        tests = slice(PRIVATE + PUBLIC, None)
        found = []
        for rows in (slice(0, PRIVATE), slice(PRIVATE, PRIVATE + self.labels)):
            made = fitted(_classifier(), images[rows], digits[rows])
            found.append(float(made.score(images[tests], digits[tests])))
        return found[0], found[1]

    def see(self) -> None:
        """See that it can run.

        Raises:
            InvalidParameter: scikit-learn is not installed, there are more labels than public images, or a number is
                out of range.
        """
        see_installed()
        if not 1 <= self.labels <= PUBLIC:
            raise InvalidParameter("There are not so many public images.", f"Ask for 1 to {PUBLIC} labels.")
        for gamma in self.gammas:
            data_independent(gamma, self.labels, self.delta)
        for epsilon in self.epsilons:
            ZCDP.bought(self._loss(epsilon))

    def run(self, progress: Progress | None = None) -> Iterator[DigitsRun]:
        """Give a point for each gamma and each epsilon; each has a budget of its own.

        Raises: as `see`.
        """
        self.see()
        images, digits = _digits()
        public = images[PRIVATE : PRIVATE + PUBLIC]
        for gamma in self.gammas:
            people = PrivateArrays(
                images[:PRIVATE], digits[:PRIVATE], budget=2 * decimal(gamma) * self.labels
            )
            some = public[: self.labels]
            given = pate(
                people,
                _classifier(),
                some,
                classes=CLASSES,
                teachers=self.teachers,
                gamma=gamma,
                progress=progress,
            )
            student = given.student(_classifier(), some)
            yield self._point(given.labels, student, given.gamma, given.loss(self.delta), given.epsilon)
        for epsilon in self.epsilons:
            loss = self._loss(epsilon)
            budget = Budget(epsilon=loss.epsilon, delta=2 * loss.delta, accountant="zcdp")
            people = PrivateArrays(images[:PRIVATE], digits[:PRIVATE], budget=budget)
            agreed = gnmax(
                people, _classifier(), public, classes=CLASSES, epsilon=loss.epsilon, delta=loss.delta,
                teachers=self.teachers, answers=self.labels, progress=progress,
            )  # fmt: skip
            yield self._point(
                agreed.labels, agreed.student(_classifier(), public), None, float(loss.epsilon), None
            )

    def _loss(self, epsilon: Number) -> Loss:
        return Loss(epsilon_of(epsilon), decimal(self.delta, "delta"))

    def _point(
        self, labels: Any, student: Any, gamma: Fraction | None, epsilon: float, pure: Fraction | None
    ) -> DigitsRun:
        images, digits = _digits()
        right = [
            label == digit
            for label, digit in zip(labels.tolist(), digits[PRIVATE:].tolist(), strict=False)
            if label is not None
        ]
        tests = slice(PRIVATE + PUBLIC, None)
        accuracy = float(student.score(images[tests], digits[tests]))
        return DigitsRun(gamma, epsilon, pure, len(right), float(np.mean(right)), accuracy)


def _classifier() -> Any:
    from sklearn.neighbors import NearestCentroid

    return NearestCentroid()


def _digits() -> tuple[Any, Any]:
    """Images and their digits, in an order that is the same in every run; the mean of a class needs little data."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(2017).permutation(len(images))
    return images[order] / 16, digits[order]
