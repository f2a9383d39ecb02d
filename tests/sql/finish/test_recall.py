"""Sums of earlier groups: without noise they are the integers of the question itself, whatever rows lack a key."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import few
from tests.inside import exact_of, plan_of

import discreet as dp
from discreet.sql.finish.recall import Recall, recallable, sources_of
from discreet.sql.plan.workloads import places as placing

DRAW = np.random.default_rng(11)
ROWS = 600


def _some(values: list[object]) -> list[object]:
    """Values of which one in ten is NULL."""
    return [
        None if missing else value for value, missing in zip(values, DRAW.random(ROWS) < 0.1, strict=True)
    ]


PEOPLE = pa.table(
    {
        "sex": _some((DRAW.random(ROWS) < 0.5).tolist()),
        "age": _some(DRAW.integers(0, 40, ROWS).tolist()),
        "ward": _some(DRAW.choice(["a", "b", "c", "d"], ROWS).tolist()),
        "pay": _some(DRAW.integers(0, 100, ROWS).tolist()),
    }
)
KEYS = ("", "sex", "age", "ward", "age // 10", "sex, ward", "ward, age", "sex, age", "sex, age, ward")
CONDITIONS = ("", "age >= 20", "sex", "NOT sex", "ward IN ('a', 'b')", "ward <> 'a'", "age < 10 AND sex",
              "pay > 50", "age > 5 OR sex")  # fmt: skip
NUMBERS = ("COUNT(*) AS n", "AVG(pay) AS n", "SUM(pay) AS n", "COUNT(*) AS n, AVG(pay) AS p")


def _asked(number: str, key: str, condition: str) -> str:
    where, by = (
        f" {word} {text}" if text else "" for word, text in (("WHERE", condition), ("GROUP BY", key))
    )
    return f"SELECT {number} FROM data{where}{by}"


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return shared.protect(PEOPLE, privacy_unit="row", bounds={"age": (0, 39), "pay": (0, 100)}, budget=1,
                      keys={"ward": ["a", "b", "c"]})  # fmt: skip


def _planned(session: dp.Session) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Every question with its number, and its integers."""
    texts = [
        (number, _asked(number, key, condition))
        for number in few(NUMBERS, 3)
        for key in few(KEYS, 6)
        for condition in few(CONDITIONS, 4)  # a deep run: each with each, and averages alone
    ]
    plans = [(number, plan_of(session, text, Fraction(1))) for number, text in texts]
    exact = [exact_of(session, plan) for _, plan in plans]
    return plans, exact


def _compared(plans: list[tuple[Any, Any]], exact: list[Any]) -> tuple[int, int]:
    """How many pairs of questions are said to follow from each other, and in how many of them the sums are wrong."""
    followed = wrong = 0
    for at in DRAW.permutation(len(plans))[:20]:
        number, plan = plans[at]
        assert recallable(plan)
        alike = [index for index, (other, _) in enumerate(plans) if other == number and DRAW.random() < 0.35]
        sources = [one for index in alike for one in sources_of(index, plans[index][1], exact[index])]
        (release,) = plan.releases
        for measure, ways in enumerate(Recall(sources).known(release)):
            own = exact[at][0].entries[:, release.entries[measure]]
            followed += sum(len(one.used) for one in ways)
            wrong += sum(not np.allclose(one.entries(release.cells), own, atol=1e-3) for one in ways)
    return followed, wrong


def test_sums_of_groups_are_the_integers_of_the_question(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, exact = _planned(session)
    followed, wrong = _compared(plans, exact)
    assert followed > 10
    assert wrong == 0
    monkeypatch.setattr(placing, "_held", lambda *_: True)
    assert _compared(plans, exact)[1] > 0  # without that look rows of no group are missing
