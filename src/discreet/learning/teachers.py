"""Teachers: classifiers on disjoint people, whose votes name the class of public rows.

A person has rows in one part, so that one teacher is all that a neighbour step changes. Nothing of the data makes a
teacher fail: one that cannot be fitted, as for want of rows, votes for the first class.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameter

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]


def votes(
    classifier: Any,
    features: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    parts: npt.NDArray[np.int64],
    teachers: int,
    classes: int,
    public: npt.NDArray[Any],
    jobs: int | None = None,
    progress: Progress | None = None,
) -> npt.NDArray[np.int64]:
    """How many teachers name each class for each public row.

    Args:
        classifier: of scikit-learn; it is cloned for each teacher.
        features: finite numbers (n, d).
        labels: places of classes (n,); a row with another one is left out.
        parts: the teacher of each row (n,).
        teachers: how many there are.
        classes: how many classes there are.
        public: rows to name (m, d).
        jobs: how many teachers learn at once, as for joblib, whose back ends (Dask, Ray) can take them elsewhere.
        progress: called with the teachers that have voted and those there are.

    Returns:
        Counts (m, classes); every row adds up to `teachers`.
    """
    from joblib import delayed
    from threadpoolctl import threadpool_limits

    inside = (labels >= 0) & (labels < classes) & np.isfinite(features).all(axis=1)
    ballot = np.zeros((len(public), classes), np.int64)
    rows = np.arange(len(public))
    work = (
        delayed(_named)(classifier, features[mine], labels[mine], public, classes)
        for mine in (inside & (parts == teacher) for teacher in range(teachers))
    )
    with threadpool_limits(1):  # a teacher has little to do, and threads would wait for each other
        for done, named in enumerate(workers(jobs)(work), 1):
            ballot[rows, named] += 1
            if progress is not None:
                progress(done, teachers)
    return ballot


def workers(jobs: int | None) -> Any:
    """The workers of joblib's back end, here or on other machines; their answers come one by one where it can.

    Raises:
        InvalidParameter: there is no such number of them.
    """
    from joblib import Parallel

    given: Any = jobs
    if given is not None and (
        isinstance(given, bool) or not isinstance(given, int | np.integer) or not given
    ):
        raise InvalidParameter(
            "jobs is no number of workers.", "Write jobs=4, jobs=-1 for all, or leave it out."
        )
    try:
        return Parallel(n_jobs=jobs, return_as="generator")
    except ValueError:  # that of Ray gives all answers at once
        return Parallel(n_jobs=jobs)


def see_installed() -> None:
    """See that the library of the teachers is there.

    Raises:
        InvalidParameter: it is not.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise InvalidParameter("Teachers need scikit-learn.", 'pip install "discreet[learning]"') from None


def see_classifier(classifier: Any) -> None:
    """See that a classifier can be copied, fitted and asked in silence, before anything is charged.

    Raises:
        InvalidParameter: it cannot, or would print, or scikit-learn is not installed.
    """
    see_installed()
    from sklearn.base import clone

    try:
        copy = clone(classifier)
    except TypeError:
        copy = None
    if not (hasattr(copy, "fit") and hasattr(copy, "predict")):
        raise InvalidParameter(
            "This is no classifier of scikit-learn.", "Give LogisticRegression(), for example."
        )
    known: dict[str, Any] = copy.get_params() if hasattr(copy, "get_params") else {}
    loud = [value for name, value in known.items() if name.rpartition("__")[2] == "verbose"]
    if any(isinstance(value, int | np.integer | np.bool_) and value > 0 for value in loud):
        raise InvalidParameter(
            "This classifier prints while it learns, and so tells of people.", "Make it with verbose=0."
        )


def see_classes(labels: Sequence[Any], fix: str) -> None:
    """See that labels that were released are of two classes or more, as most classifiers need.

    Raises:
        InvalidParameter: they are not.
    """
    if len(set(labels)) < 2:
        raise InvalidParameter("Fewer than two classes were named.", fix)


def student_of(
    classifier: Any, public: npt.ArrayLike, labels: Sequence[Any], kept: npt.NDArray[np.bool_] | None = None
) -> Any:
    """A copy of a classifier that has learned from public rows and their labels, which were released.

    Args:
        classifier: of scikit-learn.
        public: the rows that got the labels.
        labels: of those that are kept.
        kept: whether each row is; all without it.

    Raises:
        InvalidParameter: the rows are no table, or not as many as were named, or the classifier cannot learn from
            them.
    """
    many = len(labels) if kept is None else len(kept)
    try:
        rows = np.asarray(public)
    except ValueError:  # lists of different lengths
        rows = np.empty(0)
    if not rows.ndim or (rows.dtype.kind in "biuf" and rows.ndim < 2):
        raise InvalidParameter("The public rows are no table of numbers.", "Give an array of shape (m, d).")
    if len(rows) != many:
        raise InvalidParameter(
            f"There are {len(rows):,} public rows, and {many:,} were named.",
            "Give the rows that were named, in their order.",
        )
    try:
        return fitted(classifier, rows if kept is None else rows[kept], np.array(labels))
    except (TypeError, ValueError) as error:
        said = " ".join(str(error).split(".")[0].split())
        raise InvalidParameter(
            f"The classifier cannot learn from these rows: {said}.",
            "Mend the rows, or take another classifier.",
        ) from None


def fitted(classifier: Any, features: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Any:
    """A copy of a classifier that has learned, without its warnings: some tell of the data."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(classifier).fit(features, labels)


def _named(
    classifier: Any,
    features: npt.NDArray[Any],
    labels: npt.NDArray[np.int64],
    public: npt.NDArray[Any],
    classes: int,
) -> npt.NDArray[np.int64]:
    """The classes that one teacher names; the first class for all where it cannot be fitted."""
    nothing = np.zeros(len(public), np.int64)
    seen: Sequence[int] = np.unique(labels).tolist()
    if len(seen) == 1:
        return nothing + seen[0]
    with warnings.catch_warnings():  # predictions warn, too
        warnings.simplefilter("ignore")
        try:
            named = np.asarray(fitted(classifier, features, labels).predict(public), np.int64)
        except (Exception, SystemExit):  # the data of one part may not decide whether there is an answer
            return nothing
    return named if named.shape == nothing.shape and ((named >= 0) & (named < classes)).all() else nothing
