"""A poll: teachers who learn from disjoint people and vote on public rows.

All ways to name labels by votes begin here: arguments are read, votes are cast as a release computes its integers, and
the ledger knows the question by everything that labels depend on but the private rows.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter
from discreet.learning.arrays import PrivateArrays
from discreet.learning.teachers import Progress, see_classifier, votes, workers
from discreet.mechanisms.parameters import read_count
from discreet.records import dataclass


@dataclass(frozen=True)
class Poll:
    """Teachers and the public rows on which they vote.

    Attributes:
        people: from whom the teachers learn.
        classifier: of scikit-learn, for each teacher.
        rows: public ones, finite numbers (m, d).
        classes: all labels, in order.
        teachers: how many there are.
        jobs: how many learn at once, as for joblib.
        progress: called with the teachers that have voted and those there are.
    """

    people: PrivateArrays
    classifier: Any
    rows: npt.NDArray[Any]
    classes: Sequence[Any]
    teachers: int
    jobs: int | None = None
    progress: Progress | None = None

    @classmethod
    def read(
        cls,
        people: PrivateArrays,
        classifier: Any,
        public: npt.ArrayLike,
        classes: Sequence[Any],
        teachers: int,
        jobs: int | None,
        progress: Progress | None,
    ) -> Poll:
        """A poll whose arguments fit each other.

        Raises:
            InvalidParameter: they do not.
        """
        rows = _public(public)
        see_classifier(classifier)
        workers(jobs)
        names = _listed(classes)
        _see_fitting(people, rows, names)
        count = read_count(teachers, "teachers", "Give how many teachers there are.")
        return cls(people, classifier, rows, names, count, jobs, progress)

    @property
    def cells(self) -> int:
        """How many counts of votes there are: one for each row and class."""
        return len(self.rows) * len(self.classes)

    def votes(self) -> npt.NDArray[np.int64]:
        """How many teachers name each class for each public row (m, classes): exact, for noise alone."""
        return votes(
            self.classifier,
            self.people.features,
            _places(self.people.labels, self.classes),
            self.people.parts(self.teachers),
            self.teachers,
            len(self.classes),
            self.rows,
            self.jobs,
            self.progress,
        )

    def named(self, places: Sequence[int]) -> npt.NDArray[Any]:
        """The classes at some places, each of its own type; None at -1."""
        known = np.empty(len(self.classes) + 1, object)
        for place, name in enumerate(self.classes):
            known[place] = name
        found: npt.NDArray[Any] = known[np.asarray(places, np.int64)]
        return found

    def question(self, noise: object) -> str:
        """The question of labels, as the ledger knows it: everything that they depend on but the private rows."""
        kind = type(self.classifier)
        # By default the text of a long array leaves out most of it.
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            parameters = repr(
                sorted((name, repr(value)) for name, value in self.classifier.get_params().items())
            )
        parts = [
            "pate",
            self.people.version,
            f"{kind.__module__}.{kind.__qualname__}",
            parameters,  # the text of a classifier itself leaves out long ones
            repr(list(self.classes)),
            str(self.teachers),
            str(noise),
            str(self.rows.dtype),
            str(self.rows.shape),
        ]
        said = hashlib.sha256(json.dumps(parts).encode())
        said.update(np.ascontiguousarray(self.rows).tobytes())
        return said.hexdigest()


def _public(rows: npt.ArrayLike) -> npt.NDArray[Any]:
    """Public rows as an array of numbers.

    Raises:
        InvalidParameter: they are none.
    """
    try:
        found = np.asarray(rows)
    except ValueError:  # lists of different lengths
        found = np.empty(0, object)
    if found.dtype.kind not in "biuf":
        raise InvalidParameter("The public rows are no table of numbers.", "Give an array of shape (m, d).")
    return found


def plain(labels: npt.NDArray[Any], classes: Sequence[Any]) -> npt.NDArray[Any]:
    """Labels as an array of numbers or of texts where all classes are such; the classes alone decide it."""
    try:
        kind = np.array(classes)
    except ValueError:  # tuples of different lengths
        return labels
    alike = kind.ndim == 1 and (kind.dtype.kind in "fc" or kind.tolist() == list(classes))
    return labels.astype(kind.dtype) if alike else labels


def _listed(classes: Any) -> list[Any]:
    """Classes as a list.

    Raises:
        InvalidParameter: they are none, or have no order.
    """
    if not isinstance(classes, Set | Mapping):
        try:
            return list(classes)
        except TypeError:
            pass
    raise InvalidParameter("The classes are no list of labels.", "Give classes=[0, 1].")


def _places(labels: npt.NDArray[Any], classes: Sequence[Any]) -> npt.NDArray[np.int64]:
    """The place of each label among the classes, by itself; -1 of one that is none of them, of any type."""
    place_of = {name: place for place, name in enumerate(classes)}

    def place(label: Any) -> int:
        try:
            return place_of.get(label, -1)
        except Exception:  # it has no hash
            return -1

    return np.array([place(label) for label in labels.tolist()], np.int64)


def _see_fitting(people: PrivateArrays, rows: npt.NDArray[Any], classes: Sequence[Any]) -> None:
    """See that public rows and classes fit.

    Raises:
        InvalidParameter: they do not.
    """
    if rows.ndim != 2 or rows.shape[1] != people.features.shape[1] or not len(rows):
        raise InvalidParameter(
            "The public rows do not fit the private ones.", "Give rows with the same features."
        )
    if not np.isfinite(rows).all():
        raise InvalidParameter(
            "A public row has a number that is not finite.", "Leave it out, or fill it in."
        )
    try:
        distinct = len(set(classes)) == len(classes)
    except TypeError:
        raise InvalidParameter("The classes are no list of labels.", "Give classes=[0, 1].") from None
    if len(classes) < 2 or not distinct:
        raise InvalidParameter("There are fewer than two classes, or one twice.", "Give classes=[0, 1].")
