"""UNNEST of private rows: a row gives as many rows as the policy says at most, and a fair choice of a longer list.

The sensitivity is enumerated: every unit of up to two rows with short lists, beside it everybody else. Which items are
kept has no part of chance, as it is a hash of the row and its unit; so no test here can raise a false alarm. The
bounds on shares are eight standard deviations of an even choice: a choice by value gives some item nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.analyze.joins import unnest
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.plan.planner import plan

LISTS: list[list[int | None] | None] = [None, [], [1], [1, 1, 1], [2, 3, 1], [None, 2, 3, 4], [9, -9]]
RULE: dict[str, Any] = {"keys": [1, 2, 3], "bounds": [0, 5], "max_items": 2}
QUESTIONS = [
    "SELECT x, COUNT(*) AS n FROM t, UNNEST(l) AS q(x) {where} GROUP BY x",
    "SELECT SUM(x) AS s, COUNT(*) AS n FROM (SELECT id, UNNEST(l) AS x FROM t {where}) AS q",
    "SELECT AVG(x) AS a FROM t LEFT JOIN UNNEST(l) AS q(x) ON TRUE {where}",
    "SELECT COUNT(*) AS n FROM t, UNNEST(l) AS q(x), UNNEST([x, 1, 2]) AS r(y) {where}",
    "SELECT x, COUNT(*) AS n FROM t, UNNEST(l[1:3]) AS q(x) {where} GROUP BY x",
]


def session(rows: Sequence[tuple[int, Any]], by_unit: bool, rule: Any = None) -> dp.Session:
    table = pa.table(
        {"id": [u for u, _ in rows], "l": pa.array([one for _, one in rows], pa.list_(pa.int64()))}
    )
    unit: dict[str, Any] = {"privacy_unit": "id", "max_rows": 2} if by_unit else {"privacy_unit": "row"}
    tables = {"t": {**unit, "columns": {"l": rule or RULE, "id": {"bounds": [0, 10**6]}}}}
    return shared.protect({"t": table}, policy=dp.Policy(budget=1000, tables=tables))  # type: ignore[arg-type]


def release_of(asked: dp.Session, sql: str) -> PlannedRelease:
    (release,) = plan(sql, inside.catalog_of(asked), Fraction(1), Limits()).releases
    return release


def integers(asked: dp.Session, sql: str) -> NDArray[np.int64]:
    return exact_integers(release_of(asked, sql), inside.engine_of(asked), 7)


def moved(question: str, by_unit: bool) -> tuple[int, int]:
    """How far one unit moves the integers at most, and how far the plan says."""
    rows = [[one] for one in LISTS]
    rows += [list(pair) for pair in itertools.combinations_with_replacement(LISTS, 2)] if by_unit else []
    with session([(at, one) for at, several in enumerate(rows) for one in several], by_unit) as asked:
        most = 0
        for at in range(len(rows)):
            alone = integers(asked, question.format(where=f"WHERE id = {at}"))
            most = max(most, int(np.abs(alone).sum()))
        release = release_of(asked, question.format(where=""))
        allowed = max(release.sensitivity(measure) for measure in release.measures)
    return most, int(allowed)


# A deep run: every question by both.
@pytest.mark.parametrize(("question", "by_unit"), few(itertools.product(QUESTIONS, [True, False]), 4))
def test_no_unit_moves_more_than_the_plan_says(question: str, by_unit: bool) -> None:
    most, allowed = moved(question, by_unit)
    assert 0 < most <= allowed
    if "GROUP BY" in question:
        assert most == allowed == (4 if by_unit else 2)  # the bound is reached: two rows of two items each


def test_a_place_too_many_is_found() -> None:
    """Where each row is one unit, nothing but the number of places holds the items back."""
    places = unnest._places

    def more(number: int, name: str, most: int, items: str) -> Any:
        return places(number, name, most + 1, items)

    with (
        mock.patch.object(unnest, "_places", more),
        mock.patch.object(unnest, "_capped", lambda rows, items, *_: items),
    ):
        most, allowed = moved(QUESTIONS[0], by_unit=False)
    assert most > allowed


# Which items are kept ----------------------------------------------------------------------------------------
PEOPLE = 3000


def kept(lists: Sequence[Sequence[int]], by_unit: bool, most: int) -> NDArray[np.int64]:
    rule = {"keys": list(range(20)), "max_items": most}
    with session(list(enumerate(lists)), by_unit, rule) as asked:
        return integers(asked, "SELECT x, COUNT(*) AS n FROM t, UNNEST(l) AS q(x) GROUP BY x").ravel()


@pytest.mark.parametrize("by_unit", [True, False])
def test_the_choice_is_fair(by_unit: bool) -> None:
    found = kept([list(range(20))] * PEOPLE, by_unit, 2)
    assert found.sum() == 2 * PEOPLE
    share, deviation = PEOPLE * 2 / 20, np.sqrt(PEOPLE * (2 / 20) * (18 / 20))
    assert (np.abs(found - share) < 8 * deviation).all()


@pytest.mark.parametrize("by_unit", [True, False])
def test_equal_items_have_a_chance_each(by_unit: bool) -> None:
    found = kept([[0] * 9 + [1]] * PEOPLE, by_unit, 1)
    assert abs(found[0] - PEOPLE * 0.9) < 8 * np.sqrt(PEOPLE * 0.9 * 0.1)
    assert found[0] + found[1] == PEOPLE


def test_a_choice_by_value_is_found() -> None:
    by_value = unnest.KEPT.replace("hash(hash(__row, __place))", "__item")
    with mock.patch.object(unnest, "KEPT", by_value):
        assert (kept([list(range(20))] * PEOPLE, True, 2) == 0).any()


def test_the_items_of_a_unit_depend_on_nobody_else() -> None:
    lists = [list(range(20)), list(range(5, 15)), [3] * 20]

    def of_first(others: int) -> list[int]:
        rule = {"keys": list(range(20)), "max_items": 4}
        rows = [(7, one) for one in lists] + [(at + 8, list(range(20))) for at in range(others)]
        with session(rows, True, rule) as asked:
            sql = "SELECT x, COUNT(*) AS n FROM t, UNNEST(l) AS q(x) WHERE id = 7 GROUP BY x"
            return [int(one) for one in integers(asked, sql).ravel()]

    assert of_first(0) == of_first(500)


# What is asked -----------------------------------------------------------------------------------------------


def answer(asked: dp.Session, sql: str) -> list[int]:
    return [int(one) for one in integers(asked, sql).ravel()]


def test_items_are_clamped_and_keys_are_kept() -> None:
    with session(
        [(1, [9, -9, 3, None]), (2, None), (3, [])], True, {"bounds": [0, 5], "max_items": 4}
    ) as asked:
        assert answer(asked, "SELECT SUM(x) AS s FROM t, UNNEST(l) AS q(x)") == [8]
        assert answer(asked, "SELECT COUNT(x) AS n FROM t, UNNEST(l) AS q(x)") == [3]
        assert answer(asked, "SELECT COUNT(*) AS n FROM t, UNNEST(l) AS q(x)") == [4]
        assert answer(asked, "SELECT COUNT(*) AS n FROM t LEFT JOIN UNNEST(l) AS q(x) ON TRUE") == [6]


SPELLINGS = [
    "FROM t, UNNEST(l) AS q(x)",
    "FROM t, UNNEST(t.l) AS x(x)",
    "FROM t CROSS JOIN UNNEST(l) AS q(x)",
    "FROM t JOIN UNNEST(l) AS q(x) ON TRUE",
    "FROM t, LATERAL UNNEST(l) AS q(x)",
    "FROM t, LATERAL (SELECT UNNEST(l) AS x) AS q",
    "FROM t, (SELECT UNNEST(l)) AS q(x)",
    "FROM (SELECT UNNEST(l) AS x FROM t) AS q",
    "FROM (SELECT l AS m FROM t) AS t, UNNEST(m) AS q(x)",
]


# A deep run: all of them. `tests/sql/fuzz` asks DuckDB the same of random questions.
@pytest.mark.parametrize("source", few(SPELLINGS, 5))
def test_each_spelling_means_the_same(source: str) -> None:
    with session([(1, [1, 2]), (1, [3]), (2, [1])], True) as asked:
        assert answer(asked, f"SELECT x, COUNT(*) AS n {source} GROUP BY x") == [2, 1, 1]


def test_a_length_counts_no_more_than_the_policy_says() -> None:
    with session([(1, [1, 2, 3, 4]), (2, None), (3, [1])], True) as asked:
        assert answer(asked, "SELECT SUM(len(l)) AS n FROM t") == [3]
        assert answer(asked, "SELECT COUNT(*) AS n FROM t WHERE list_contains(l, 4)") == [1]


REFUSED = {
    "SELECT COUNT(*) AS n FROM t, UNNEST(m) AS q(x)": "SELECT COUNT(*) AS n FROM t, UNNEST(m[1:5]) AS q(x)",
    "SELECT COUNT(*) AS n FROM t GROUP BY l": "SELECT COUNT(*) AS n FROM t, UNNEST(l) AS q(item)",
    "SELECT COUNT(*) AS n FROM t LEFT JOIN UNNEST(l) AS q(x) ON x > 1":
        "SELECT COUNT(CASE WHEN x > 1 THEN x END) AS n FROM t LEFT JOIN UNNEST(l) AS q(x) ON TRUE",
    "SELECT SUM(a) AS n FROM (SELECT UNNEST(l) AS a, UNNEST(m[1:2]) AS b FROM t) AS q":
        "SELECT SUM(a) AS n FROM t, UNNEST(l) AS q(a), UNNEST(m[1:2]) AS r(b)",
    "SELECT COUNT(*) AS n FROM t WHERE m[id] = 1": "SELECT COUNT(*) AS n FROM t WHERE m[1] = 1",
    "SELECT COUNT(*) AS n FROM t, UNNEST(l) WITH ORDINALITY AS q(x, n)":
        "SELECT COUNT(*) AS n FROM t, UNNEST(l) AS q(x)",
}  # fmt: skip


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_refused_names_a_way_that_works(sql: str) -> None:
    lists = pa.array([[1, 2]], pa.list_(pa.int64()))
    tables = {"t": {"privacy_unit": "id", "max_rows": 2, "columns": {"l": RULE}}}
    policy = dp.Policy(budget=1000, tables=tables)  # type: ignore[arg-type]
    with shared.protect({"t": pa.table({"id": [1], "l": lists, "m": lists})}, policy=policy) as asked:
        with pytest.raises(QueryRefused) as refused:
            asked.sql(sql, epsilon=1)
        assert refused.value.fix
        assert asked.budget.spent == 0
        asked.sql(REFUSED[sql], epsilon=1)


@pytest.mark.parametrize("by_unit", [True, False])
def test_a_long_list_takes_the_time_of_its_items(by_unit: bool) -> None:
    """Where the list was hashed anew for each item, this took minutes."""
    lists = [[1, 2, 3]] * 9 + [list(range(300_000))]
    with session(list(enumerate(lists)), by_unit) as asked:
        before = time.process_time()
        assert answer(asked, "SELECT COUNT(*) AS n FROM t, UNNEST(l) AS q(x)") == [20]
        assert time.process_time() - before < 10
