"""Polls: read before anything is charged, and known to the ledger by all that labels depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.learning import PrivateArrays
from discreet.learning.poll import Poll

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
