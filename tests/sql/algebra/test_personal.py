"""The rows of each class of people: every unit is of one class or of none, on random tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.consenting import CLASS, SHARES, VISITS, declared, protected, release_of
from tests.inside import catalog_of, engine_of

from discreet.sql.algebra.personal import Classes
from discreet.sql.lower.people.by_class import exact_by_class

QUESTIONS: dict[str, Callable[[int, int], int]] = {
    "SELECT COUNT(*) AS n FROM visits": lambda unit, x: 1,
    "SELECT COUNT(*) AS n FROM visits WHERE x > 4": lambda unit, x: x > 4,
    "SELECT COUNT(*) AS n FROM visits AS v JOIN people AS p ON v.id = p.id WHERE p.age >= 0 AND v.x < 4": (
        lambda unit, x: (x < 4) * (2 if unit in (6, 7) else 1)
    ),
    "SELECT COUNT(*) AS n FROM visits WHERE id IN (SELECT id FROM people WHERE age < 50)": lambda unit, x: (
        unit < 5
    ),
    "SELECT COUNT(*) AS n FROM (SELECT x, ROW_NUMBER() OVER (PARTITION BY id ORDER BY x) r FROM visits) WHERE r < 4": (
        lambda unit, x: 1
    ),
}


@pytest.mark.parametrize("sql", QUESTIONS)
def test_each_class_has_the_rows_of_its_units(sql: str) -> None:
    session = protected()
    release = release_of(session, sql)
    assert release.people is not None
    found = [int(one[0, 0]) for one in exact_by_class(release, release.people, engine_of(session), 7)]
    rows = [
        (unit, x)
        for unit, x in zip(*(VISITS[name].to_pylist() for name in ("id", "x")), strict=True)
        if unit in CLASS
    ]
    assert found == [
        sum(QUESTIONS[sql](unit, x) for unit, x in rows if CLASS[unit] == name) for name in SHARES
    ]


def test_random_units_are_of_the_class_with_the_least_share_of_their_rows_or_of_none() -> None:
    random, names = np.random.default_rng(5), [*SHARES, None, "else"]
    for _ in range(3):
        units = random.integers(0, 12, 30)
        says = [names[at] for at in random.choice(5, 30, p=[0.2, 0.3, 0.4, 0.05, 0.05])]
        people = pa.table({"id": units, "consent": pa.array(says, pa.string()), "age": np.zeros(30)})
        session = protected(people=people)
        release = release_of(session, "SELECT COUNT(DISTINCT id) AS n FROM people")
        assert release.people is not None
        found = [int(one[0, 0]) for one in exact_by_class(release, release.people, engine_of(session), 7)]
        own = {
            unit: [say for who, say in zip(units, says, strict=True) if who == unit]
            for unit in set(units.tolist())
        }
        known = [min(say, key=list(SHARES).index) for say in own.values() if set(say) <= set(SHARES)]
        assert found == [known.count(name) for name in SHARES]


def test_rows_that_are_units_themselves() -> None:
    policy = declared()
    table = policy.tables["people"].model_copy(update={"privacy_unit": "row", "max_rows": 1})
    session = protected(policy.model_copy(update={"tables": {**policy.tables, "people": table}}))
    release = release_of(session, "SELECT COUNT(*) AS n FROM people")
    assert release.people is not None
    assert [int(one[0, 0]) for one in exact_by_class(release, release.people, engine_of(session), 7)] == [
        2,
        2,
        4,
    ]


@pytest.mark.parametrize(
    ("where", "possible"),
    [
        ("consent = 'open'", (False, False, True)),
        ("NOT consent IN ('open', 'careful')", (False, True, False)),
        ("consent <> 'open' AND age > 3", (True, True, False)),
        ("consent = 'open' OR age > 3", (True, True, True)),
        ("consent || '' = 'open'", (True, True, True)),
        ("consent IS NULL", (False, False, True)),
    ],
)
def test_which_classes_a_condition_leaves(where: str, possible: tuple[bool, ...]) -> None:
    release = release_of(protected(), f"SELECT COUNT(*) AS n FROM people WHERE {where}")
    assert release.people is not None
    assert release.people.possible == (possible,)


def test_a_catalogue_without_classes_has_none() -> None:

    session = shared.protect(VISITS, table="visits", privacy_unit="id", max_rows=1, budget=1)
    assert Classes.of(catalog_of(session)) is None
    found = Classes.of(catalog_of(protected()))
    assert found is not None
    assert found.names == tuple(SHARES)
