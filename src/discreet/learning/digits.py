"""PATE on handwritten digits: how right a student is at each epsilon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.errors import InvalidParameter
from discreet.learning.arrays import PrivateArrays
from discreet.learning.moments import data_independent
from discreet.learning.pate import pate
from discreet.learning.teachers import Progress, fitted, see_installed
from discreet.rational import Number, decimal

PRIVATE, PUBLIC = 1200, 300
"""How many of the 1,797 images are private, and how many are public; the others test."""
CLASSES: Final = tuple(range(10))


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        gamma: the noise on a vote had scale 1/gamma.
        epsilon: the loss of all labels at `delta`, by moments.
        pure: their loss without a delta.
        named: the share of labels that are right.
        accuracy: the share of test images that the student names rightly.
    """

    gamma: Fraction
    epsilon: float
    pure: Fraction
    named: float
    accuracy: float


@dataclass(frozen=True)
class DigitsExperiment:
    """PATE on the digits of scikit-learn: 1,797 images of 8 by 8 pixels (Alpaydin and Kaynak 1998).

    Attributes:
        teachers: how many vote.
        labels: how many public images get a label.
        gammas: the noise of each run.
        delta: at which losses are shown.
    """

    teachers: int = 100
    labels: int = 100
    gammas: Sequence[Number] = ("0.02", "0.05", "0.1", "0.2", "0.5")
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

    def run(self, progress: Progress | None = None) -> Iterator[Point]:
        """Give a point for each gamma; each has a budget of its own.

        Raises: as `see`.
        """
        self.see()
        images, digits = _digits()
        public, tests = slice(PRIVATE, PRIVATE + self.labels), slice(PRIVATE + PUBLIC, None)
        for gamma in self.gammas:
            people = PrivateArrays(
                images[:PRIVATE], digits[:PRIVATE], budget=2 * decimal(gamma) * self.labels
            )
            given = pate(
                people, _classifier(), images[public], classes=CLASSES, teachers=self.teachers, gamma=gamma,
                progress=progress,
            )  # fmt: skip
            student = given.student(_classifier(), images[public])
            yield Point(
                given.gamma,
                given.loss(self.delta),
                given.epsilon,
                float((given.labels == digits[public]).mean()),
                float(student.score(images[tests], digits[tests])),
            )


def _classifier() -> Any:
    from sklearn.neighbors import NearestCentroid

    return NearestCentroid()


def _digits() -> tuple[Any, Any]:
    """Images and their digits, in an order that is the same in every run; the mean of a class needs little data."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(2017).permutation(len(images))
    return images[order] / 16, digits[order]
