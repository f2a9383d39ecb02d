"""Polls: read before anything is charged, and known to the ledger by all that labels depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.learning import PrivateArrays
from discreet.learning.poll import Poll, plain

pytest.importorskip("sklearn")


def poll(**given: Any) -> Poll:
    from sklearn.neighbors import NearestCentroid

    people = PrivateArrays(np.array([[0.0], [1.0]] * 10), [0, 1] * 10, budget=1)
    usual: dict[str, Any] = {
        "people": people, "classifier": NearestCentroid(), "public": [[0.0], [1.0], [0.2]], "classes": [0, 1],
        "teachers": 4, "jobs": None, "progress": None,
    }  # fmt: skip
    return Poll.read(**{**usual, **given})


def test_every_teacher_votes_once_on_every_row() -> None:
    one = poll()
    assert one.cells == 6
    assert one.votes().sum(axis=1).tolist() == [4, 4, 4]


def test_the_question_is_everything_but_private_rows_and_how_it_is_computed() -> None:
    from sklearn.neighbors import NearestCentroid

    one = poll()
    asked = one.question("noise")
    kept: dict[str, Any] = {"people": one.people}
    assert poll(**kept, jobs=2, progress=lambda done, of: None).question("noise") == asked
    others: list[dict[str, Any]] = [
        {"public": [[0.0], [1.0], [0.3]]}, {"public": np.array([[0], [1], [0]])}, {"classes": [1, 0]},
        {"teachers": 5}, {"classifier": NearestCentroid(metric="manhattan")},
    ]  # fmt: skip
    found = {poll(**kept, **other).question("noise") for other in others} | {one.question("other noise")}
    assert len(found) == len(others) + 1
    assert asked not in found


@pytest.mark.parametrize("classes", [{0, 1}, frozenset([0, 1]), {0: 1, 1: 2}, {0: 1, 1: 2}.keys(), 7])
def test_classes_without_an_order_are_refused(classes: Any) -> None:
    """They were charged first, and then had no label at a place."""
    with pytest.raises(InvalidParameter, match="no list of labels"):
        poll(classes=classes)


def test_a_classifier_that_prints_is_refused() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    loud = LogisticRegression(verbose=1)
    for classifier in (loud, make_pipeline(loud)):
        with pytest.raises(InvalidParameter, match="prints while it learns"):
            poll(classifier=classifier)


@pytest.mark.parametrize("classes", [[(0, 1), (1, 0)], [(0,), (1, 0)], [0, "a"], [None, "a"]])
def test_labels_are_the_classes_one_for_each_row(classes: list[Any]) -> None:
    """NumPy would make a table of tuples, fail where their lengths differ, and make texts of numbers beside texts."""
    one = poll(classes=classes)
    for places in ([0, 1, 0], [1, 1, 1], [0, 0, 0]):
        labels = plain(one.named(places), one.classes)
        assert (labels.shape, labels.tolist()) == ((3,), [classes[at] for at in places])
    assert one.named([1, -1]).tolist() == [classes[1], None]


def test_labels_of_one_kind_are_plain() -> None:
    for classes, kind in ([0, 1], "i"), ("ab", "U"), ([0, 1.5], "f"), ((False, True), "b"):
        assert plain(poll(classes=classes).named([0, 0]), list(classes)).dtype.kind == kind
