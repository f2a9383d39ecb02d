"""The notes of an answer name the values that it leaves out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.session.notes import notes_of
from discreet.sql.plan.cut_off import diagnosed
from discreet.sql.plan.generic.generic_plan import origin_of
from discreet.sql.plan.plan import QueryPlan
from discreet.sql.plan.planner import plan as planned
from discreet.sql.plan.reading import Readings
from discreet.sql.plan.shaping import Shaping

MISFIT = "values that do not fit the declared type of their column, which are NULL"


def notes(path: Path, **policy: Any) -> str:
    with dp.protect(
        path, table="t", privacy_unit="id", max_rows=1, budget=9, ledger=":memory:", **policy
    ) as session:
        return str(session.sql("SELECT COUNT(t) AS n FROM t", epsilon=1).card())


def test_texts_that_are_read_in_a_declared_type_may_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,t\n1,9:27AM\n2,3\n")
    assert MISFIT in notes(path, bounds={"t": (0, 24)})
    assert MISFIT not in notes(path)


def test_the_types_of_a_database_always_fit(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1, 2], "t": [3, 4]}), tmp_path / "t.parquet")
    assert MISFIT not in notes(tmp_path / "t.parquet", bounds={"t": (0, 24)})


def test_counts_of_the_rows_of_a_unit_as_a_key_are_clamped() -> None:
    """The last group holds all units with so many rows or more."""
    visits = pa.table({"id": [1, 1, 1, 1, 2]})
    each = "(SELECT id, COUNT(*) AS visits FROM t GROUP BY id) AS each"
    with dp.protect(visits, table="t", privacy_unit="id", max_rows=3, budget=9, ledger=":memory:") as session:
        answers = [
            str(session.sql(f"SELECT {key} AS k, COUNT(*) AS n FROM {each} GROUP BY {key}", epsilon=1).card())
            for key in ("visits", "visits + 1", "clamp(visits, 1, 2)")
        ]
    assert ["clamped as if it had no more rows than may count" in one for one in answers] == [
        True,
        True,
        False,
    ]


BOUND = "values outside their bounds, which count as the bound"
GROUP = "values outside their bounds, which are in the group of the bound"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT age, COUNT(*) AS n FROM t GROUP BY age", GROUP),
        ("SELECT floor(age / 10) AS k, COUNT(*) AS n FROM t GROUP BY k", GROUP),
        ("SELECT k, COUNT(*) AS n FROM (SELECT age + 1 AS k FROM t) GROUP BY k", GROUP),
        ("SELECT histogram(age) AS h FROM t", BOUND),
        ("SELECT histogram(age // 10) AS h FROM t", BOUND),
        ("SELECT COUNT(DISTINCT age) AS n FROM t", BOUND),
        ("SELECT COUNT(*) FILTER (WHERE age = 50) AS n FROM t", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE sex = 'a' AND age = 50", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age < 50", ""),
        ("SELECT COUNT(*) AS n FROM t WHERE age BETWEEN 40 AND 50", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age <= 50", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE 50 >= age AND sex = 'a'", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age < 51", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age <= 50.5", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE NOT age > 50", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age >= 20", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age <> 50", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age IN (30, 50)", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE age + 1 <= 51", BOUND),
        ("SELECT COUNT(*) AS n FROM t WHERE pay <= 1.5", BOUND),
        ("SELECT COUNT(*) FILTER (WHERE age <= 50) AS n FROM t", BOUND),
        ("SELECT SUM(CASE WHEN age <= 50 THEN pay END) AS n FROM t", BOUND),
        ("SELECT AVG(pay) AS n FROM t WHERE age <= 50", BOUND),
        ("SELECT age <= 50 AS k, COUNT(*) AS n FROM t GROUP BY k", GROUP),
        ("SELECT COUNT(*) AS n FROM t WHERE age >= 50", ""),  # whoever is older is inside, too
        ("SELECT COUNT(*) AS n FROM t WHERE age <= 20", ""),
        ("SELECT COUNT(*) AS n FROM t WHERE age <= 60", BOUND),  # whoever is 62 counts as 50, and passes
        ("SELECT COUNT(*) AS n FROM t WHERE age <= 49", ""),
        ("SELECT COUNT(*) AS n FROM t WHERE age > 20 AND age < 50", ""),
        ("SELECT COUNT(*) AS n FROM t WHERE age BETWEEN 30 AND 40", ""),
        ("SELECT COUNT(*) AS n FROM t WHERE pay < 1.5", ""),
        ("SELECT AVG(pay) AS n FROM t WHERE age < 50", ""),
        ("SELECT COUNT(*) FILTER (WHERE age = 49) AS n FROM t", ""),  # no clamped value is 49
        ("SELECT COUNT(*) FILTER (WHERE age // 10 = 5) AS n FROM t", BOUND),
        ("SELECT COUNT(*) FILTER (WHERE age // 10 = 3) AS n FROM t", ""),
        ("SELECT CASE WHEN age > 30 THEN 'old' ELSE 'young' END AS k, COUNT(*) AS n FROM t GROUP BY k", ""),
        ("SELECT sex, COUNT(*) AS n FROM t GROUP BY sex", ""),
    ],
)
def test_counts_of_clamped_values_say_where_those_outside_the_bounds_are(query: str, said: str) -> None:
    """An interval of the noise does not cover them: the group of the highest age has all who are older."""
    people = pa.table({"age": [31, 47, 62], "sex": ["a", "b", "a"], "pay": [0.5, 1.0, 2.0]})
    bounds = {"age": (20, 50), "pay": (0, 1.5)}
    with shared.protect(people, table="t", privacy_unit="row", bounds=bounds, keys={"sex": ["a", "b"]},
                        budget=9, ledger=":memory:") as session:  # fmt: skip
        card = str(session.sql(query, epsilon=1).card())
    assert [one for one in (BOUND, GROUP) if one in card] == [said] * bool(said)


CLAMPED = ("values outside their bounds", "how much that cut off")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("AVG(well)", False),
        ("AVG(well::INTEGER)", False),
        ("AVG(CASE WHEN sex = 'a' THEN 1 ELSE 0 END)", False),
        ("AVG(CASE WHEN age > 30 THEN 1 ELSE 0 END)", False),
        ("STDDEV(2 * CASE WHEN well THEN 1 ELSE 0 END + 1)", False),
        ("MEDIAN(CASE WHEN well THEN 1 ELSE 0 END)", False),
        ("AVG(y)", False),
        ("AVG(age)", True),
        ("AVG(50 - age)", True),
        ("AVG(CASE WHEN well THEN age ELSE 0 END)", True),
        ("AVG(CASE WHEN well THEN 1 ELSE 0 END) + AVG(age)", True),
        ("AVG(clamp(CASE WHEN well THEN 1 ELSE 0 END, 0, 0.5))", True),
        ("AVG(z)", True),
    ],
)
def test_nothing_is_clamped_where_literals_and_conditions_alone_are_added_up(value: str, said: bool) -> None:
    people = pa.table({"age": [31, 47, 62], "sex": ["a", "b", "a"], "well": [True, False, True]})
    query = f"SELECT {value} AS n FROM (SELECT *, CASE WHEN well THEN 1 ELSE 0 END AS y, age + 1 AS z FROM t)"
    with shared.protect(people, table="t", privacy_unit="row", bounds={"age": (20, 50)},
                        keys={"sex": ["a", "b"]}, budget=9, ledger=":memory:") as session:  # fmt: skip
        card = str(session.sql(query, epsilon=1).card())
    assert [part in card for part in CLAMPED] == [said, said]


def test_the_notes_of_a_plan_are_its_own_though_others_of_its_shape_had_some() -> None:
    """Of other literals, with other columns that lack an interval, of other tables, shown or diagnosed otherwise."""
    with shared.protect(
        pa.table({"id": [1, 2], "age": [3, 4]}), table="t", privacy_unit="id", max_rows=2,
        bounds={"age": (20, 50)}, budget=9,
    ) as session:  # fmt: skip
        catalog = inside.catalog_of(session)
    known, of_generic, all_notes = Readings(), 0, set()

    def asked(age: int, known: Readings | None, number: int) -> QueryPlan:
        text = f"SELECT COUNT(*) AS n FROM t WHERE age < {age}"
        plan = planned(text, catalog, Fraction(1), known=known)
        return (plan, plan.shaped(Shaping(nonnegative=True)), diagnosed(plan, Fraction(1)))[number]

    for age in (30, 31, 32, 60, 33, 60):
        for without in ((), ("n",)):
            for texts in (frozenset[str](), frozenset({"t"})):
                for number in range(3):
                    plan = asked(age, known, number)
                    of_generic += origin_of(plan.releases[0]) is not None
                    found = notes_of(plan, without, 1, texts)
                    assert found == notes_of(asked(age, None, number), without, 1, texts)
                    all_notes.add(found)
    assert of_generic
    assert len(all_notes) == 2 * 2 * 2 * 3  # each of these has notes of its own
