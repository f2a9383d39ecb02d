"""Students of noisy teachers: what is charged, what one person can change, and that votes are noisy."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, PolicyError
from discreet.learning import PrivateArrays, pate, teachers
from discreet.learning.gnmax import AgreedLabels
from discreet.learning.pate import Labels
from discreet.ledger import Loss

sklearn = pytest.importorskip("sklearn")
CLASSES = (0, 1, 2)


def nearest() -> Any:
    from sklearn.neighbors import NearestCentroid

    return NearestCentroid()


def rows(count: int = 600, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    return rng.normal(0, 0.3, (count, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[labels], labels


PUBLIC = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])


def test_labels_are_right_where_teachers_agree_and_cost_two_gamma_each() -> None:
    """Twenty votes against none: noise of scale 1/2 turns one of three labels with a chance below e^-38."""
    people = PrivateArrays(*rows(), budget=100)
    named = pate(people, nearest(), PUBLIC, classes=CLASSES, teachers=20, gamma=2)
    assert named.labels.tolist() == [0, 1, 2]
    assert named.epsilon == people.budget.spent == 3 * 4
    again = pate(people, nearest(), PUBLIC, classes=CLASSES, teachers=20, gamma=2)
    assert again.labels.tolist() == [0, 1, 2]
    assert people.budget.spent == 12  # the same question is free
    student = named.student(nearest(), PUBLIC)
    assert student.predict([[3.5, 0.1]]).tolist() == [1]


def test_votes_get_noise() -> None:
    """At gamma 1/1000 and three classes a label is as good as chance: 300 of 300 right have a chance of 3^-290."""
    people = PrivateArrays(*rows(), budget=1)
    named = pate(
        people, nearest(), np.repeat(PUBLIC, 100, axis=0), classes=CLASSES, teachers=5, gamma="0.001"
    )
    assert 0 < (named.labels == np.repeat(CLASSES, 100)).sum() < 250


def test_a_person_changes_one_vote_in_each_row() -> None:
    """The premise of the noise: without one unit, or with other rows of one, no row of votes moves by more than 2."""
    features, labels = rows(120)
    units = np.arange(120) // 3
    whole = PrivateArrays(features, labels, units, budget=1)
    moved = []
    for unit in range(0, 40, 5):
        fewer = units != unit
        less = PrivateArrays(features[fewer], labels[fewer], units[fewer], budget=1)
        less._key = whole._key
        changed = features.copy()
        changed[units == unit] = [[100.0, -100.0]] * 3
        other = PrivateArrays(changed, labels, units, budget=1)
        other._key = whole._key
        first, *seconds = (
            teachers.votes(nearest(), one.features, one.labels, one.parts(7), 7, 3, PUBLIC)
            for one in (whole, less, other)
        )
        moved += [np.abs(first - second).sum(axis=1).max() for second in seconds]
    assert max(moved) <= 2
    assert first.sum(axis=1).tolist() == [7, 7, 7]


def test_a_part_that_depends_on_other_people_is_seen() -> None:
    """Planted: people dealt out in their order. Without one of them, many teachers learn from others."""
    rng = np.random.default_rng(1)
    features, labels = rng.normal(size=(120, 2)), rng.integers(0, 3, 120)  # teachers agree in nothing

    def dealt(count: int) -> Any:
        parts = np.arange(count) // 3
        return teachers.votes(nearest(), features[-count:], labels[-count:], parts, 40, 3, PUBLIC)

    assert np.abs(dealt(120) - dealt(119)).sum(axis=1).max() > 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_teach_nothing_fail_nowhere(bad: float) -> None:
    """NaN, labels of no class, a teacher without rows or with one class: an answer all the same."""
    features, labels = rows(30)
    features[3] = bad
    labels[:20] = 99
    people = PrivateArrays(features, labels, budget=100)
    assert len(pate(people, nearest(), PUBLIC, classes=CLASSES, teachers=25, gamma=1).labels) == 3
    nobody = PrivateArrays(np.zeros((0, 2)), [], budget=100)
    assert len(pate(nobody, nearest(), PUBLIC, classes=CLASSES, teachers=5, gamma=1).labels) == 3


@pytest.mark.parametrize("odd", ["x", None, 0.5, (1,), [1], {}])
def test_a_label_of_an_odd_type_changes_no_other(odd: Any) -> None:
    """A text among numbers would make texts of all labels, which are no classes then: every vote would move."""
    features, labels = rows()
    mixed: Any = np.empty(600, object)
    mixed[:] = labels.tolist()
    mixed[3] = odd
    for given in (mixed, *([] if isinstance(odd, tuple | list) else [mixed.tolist()])):
        people = PrivateArrays(features, given, budget=100)
        named = pate(people, nearest(), PUBLIC, classes=CLASSES, teachers=20, gamma=2)
        assert named.labels.tolist() == [0, 1, 2]  # wrong by chance: below e^-38


@pytest.mark.parametrize("odd", ["x", None, 10**30, 1j])
def test_features_that_are_no_numbers_are_refused_before_anything_is_charged(odd: Any) -> None:
    features: Any = rows()[0].tolist()
    features[3][0] = odd
    with pytest.raises(InvalidParameter, match="64 bits"):
        PrivateArrays(features, rows()[1], budget=1)


def test_an_answer_of_other_people_or_another_classifier_is_no_replay(tmp_path: Path) -> None:
    from sklearn.neighbors import KNeighborsClassifier

    spent = []
    for seed in (1, 2):
        people = PrivateArrays(*rows(seed=seed), budget=100, ledger=tmp_path / "ledger.db")
        for last in (1.0, 2.0):  # behind so many others that the text of the classifier leaves it out
            behind: Any = [1.0] * 900 + [last] + [1.0] * 900
            weights = behind if seed == 1 else np.array(behind)  # NumPy leaves out most of a long array
            classifier = KNeighborsClassifier(1, metric_params={"w": weights})
            pate(people, classifier, PUBLIC[:1], classes=CLASSES, teachers=2, gamma=2)
            spent.append(people.budget.spent)
    assert spent == [4, 8, 12, 16]


def test_a_loss_for_rows_says_nothing_of_people(tmp_path: Path) -> None:
    """Ten rows of a person lose ten times as much: a ledger of the one is refused for the other."""
    features, labels = rows()
    people = PrivateArrays(features, labels, budget=9, ledger=tmp_path / "rows.db")
    pate(people, nearest(), PUBLIC[:1], classes=CLASSES, teachers=2, gamma=2)
    with pytest.raises(PolicyError, match="cannot be converted"):
        PrivateArrays(features, labels, np.arange(600) // 10, budget=9, ledger=tmp_path / "rows.db")
    known = PrivateArrays(features, labels, np.arange(600) // 10, budget=99, ledger=tmp_path / "people.db")
    pate(known, nearest(), PUBLIC[:1], classes=CLASSES, teachers=2, gamma=2)
    again = PrivateArrays(features, labels, budget=99, ledger=tmp_path / "people.db")
    assert again.budget.spent == 4 * 4  # a row in the place of another: out and in for two people


class Fails:
    """A classifier that fails where it sees one row."""

    def __init__(self, kind: type[BaseException] = ValueError) -> None:
        self.kind = kind

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"kind": self.kind}

    def fit(self, features: Any, labels: Any) -> Fails:
        raise self.kind(f"a message with {features[0][0]}")

    def predict(self, features: Any) -> Any:
        raise AssertionError


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_a_teacher_that_fails_votes_for_the_first_class(kind: type[BaseException]) -> None:
    people = PrivateArrays(*rows(), budget=100)
    named = pate(people, Fails(kind), PUBLIC, classes=CLASSES, teachers=20, gamma=2)
    assert named.labels.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"public": [[0.0]]}, {"public": [[0.0, np.nan]]}, {"public": np.zeros((0, 2))}, {"public": None},
        {"public": [["a", "b"]]}, {"public": [[0.0], [0.0, 1.0]]}, {"public": [[0j, 1j]]},
        {"classes": [1]}, {"classes": [1, 1]}, {"classes": None}, {"classes": [[0], [1]]},
        {"teachers": 0}, {"gamma": 0}, {"gamma": "x"}, {"classifier": "forest"},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_free(wrong: dict[str, Any]) -> None:
    people = PrivateArrays(*rows(), budget=1)
    given = {"classifier": nearest(), "public": PUBLIC, "classes": CLASSES, "gamma": "0.1", **wrong}
    with pytest.raises(InvalidParameter):
        pate(people, **given)
    with pytest.raises(BudgetExceeded):
        pate(people, nearest(), PUBLIC, classes=CLASSES, gamma="0.2")
    assert people.budget.spent == 0


@pytest.mark.parametrize("units", [[1.0] * 600, [None] * 600, [1, "1"] * 300, [True] * 600, [1] * 3])
def test_units_are_whole_numbers_or_texts(units: Any) -> None:
    if units == [1, "1"] * 300:  # one text in numpy's eyes: two people become one, which is safe
        units = np.array(units, object)
    with pytest.raises(InvalidParameter):
        PrivateArrays(*rows(), units, budget=1)


def test_the_budget_outlives_the_process(tmp_path: Path) -> None:
    for spent in (4, 8):
        people = PrivateArrays(*rows(), budget=10, ledger=tmp_path / "ledger.db")
        pate(people, nearest(), PUBLIC[:1] + spent, classes=CLASSES, teachers=4, gamma=2)
        assert people.budget.spent == Fraction(spent)


def test_no_people_are_no_error() -> None:
    """Whether anybody is there is private; a list without entries has no type of its own."""
    people = PrivateArrays(np.zeros((0, 2)), [], [], budget=30)
    assert len(pate(people, nearest(), PUBLIC, classes=CLASSES, teachers=3, gamma=1).labels) == 3


def test_a_teacher_that_foretells_nothing_is_silent() -> None:
    from sklearn.linear_model import LinearRegression

    class Lost(LinearRegression):  # type: ignore[misc]  # scikit-learn has no types
        def predict(self, X: Any) -> Any:  # noqa: N803
            return np.log(super().predict(X) * np.nan)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = teachers.votes(Lost(), *rows(30), np.zeros(30, np.int64), 1, 3, PUBLIC)
    assert not heard
    assert found.tolist() == [[1, 0, 0]] * 3


def test_a_student_of_one_class_is_refused_in_our_words() -> None:
    """As of Gaussian votes: labels may all come out alike, and many classifiers of scikit-learn stumble over that."""
    people = PrivateArrays(rows()[0], np.zeros(600, int), budget=100)
    named = pate(people, nearest(), PUBLIC, classes=CLASSES, teachers=20, gamma=2)
    assert named.labels.tolist() == [0, 0, 0]  # twenty votes against none, as above
    with pytest.raises(InvalidParameter, match="Fewer than two classes were named"):
        named.student(nearest(), PUBLIC)


@pytest.mark.parametrize(
    ("public", "said"),
    [
        ([1.0, 2.0, 3.0], "no table of numbers"),
        ([[1.0, 2.0], [3.0]], "no table of numbers"),
        (iter([[1.0, 2.0]]), "no table of numbers"),
        (PUBLIC[:2], "There are 2 public rows, and 3 were named"),
        ([[math.nan, 1.0], [1.0, 2.0], [2.0, 3.0]], "cannot learn from these rows: Input X contains NaN"),
    ],
)
def test_a_student_of_other_rows_is_refused_in_our_words(public: Any, said: str) -> None:
    labels = np.array([0, 1, 2])
    with pytest.raises(InvalidParameter, match=said):
        Labels(labels, Fraction(2), 20, Fraction(12)).student(nearest(), public)
    agreed = AgreedLabels(labels, np.array([True, True, True]), 1.0, 20, Loss(1))
    with pytest.raises(InvalidParameter, match=said):
        agreed.student(nearest(), public)
