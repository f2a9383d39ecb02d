"""Questions to people who allow different epsilons: those that are refused say why, and cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests import shared
from tests.consenting import PEOPLE, VISITS, declared, protected

import discreet as dp
from discreet.errors import QueryRefused

REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "SELECT COUNT(DISTINCT ward) AS n FROM visits": ("distinct values", {}),
    "SELECT SUM(DISTINCT x) AS n FROM visits": ("distinct values", {}),
    "SELECT x, COUNT(*) AS n FROM visits GROUP BY ROLLUP (x)": ("measured together", {}),
    "SELECT id // 3 AS k, COUNT(*) AS n FROM visits GROUP BY id // 3": ("must be found", {"delta": "1e-6"}),
    "SELECT COUNT(*) AS n FROM visits": ("cut off", {"diagnose": "0.1"}),
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_does_not_add_up_is_refused(sql: str) -> None:
    session, (said, more) = protected(), REFUSED[sql]
    for ask in (session.sql, session.preview):
        with pytest.raises(QueryRefused, match=said) as refused:
            ask(sql, 1, **more)
        assert refused.value.fix
    assert session.budget.spent == 0


def test_other_ways_to_ask_are_refused_before_the_charge(tmp_path: Any) -> None:
    session = protected(declared(oldest=70_000))
    ways: list[Callable[[], object]] = [
        lambda: session.release(lambda: 3, sensitivity=1, epsilon=1, what="three"),
        lambda: session.synthesize(epsilon=1),
        lambda: session.workload(
            {"a": "SELECT COUNT(*) FROM people", "b": "SELECT COUNT(*) FROM visits"}, epsilon=1
        ),
        lambda: session.write(
            "SELECT age, COUNT(*) AS n FROM people GROUP BY age",
            1,
            tmp_path / "many.csv",
        ),
    ]
    for ask in ways:
        with pytest.raises(QueryRefused):
            ask()
    assert session.budget.spent == 0


def test_people_of_other_units_have_no_class() -> None:
    policy = declared()
    wards = {"privacy_unit": "name", "max_rows": 1}
    tables: dict[str, Any] = {**policy.tables, "wards": wards}
    data = {"people": PEOPLE, "visits": VISITS, "wards": pa.table({"name": ["a"]})}
    session = shared.protect(data, policy=dp.Policy(budget=dp.Budget(epsilon=1), tables=tables))
    with pytest.raises(QueryRefused, match="not those whose classes people names"):
        session.sql("SELECT COUNT(*) AS n FROM wards", 1)


def test_quantiles_need_a_name_for_each_person() -> None:
    policy = declared()
    table = policy.tables["people"].model_copy(update={"privacy_unit": "row", "max_rows": 1})
    session = protected(policy.model_copy(update={"tables": {"people": table}}))
    with pytest.raises(QueryRefused, match="nothing tells these people apart"):
        session.sql("SELECT MEDIAN(age) AS m FROM people", 1)
    assert session.sql("SELECT AVG(age) AS a FROM people", 1).columns == ["a"]


def test_people_who_allow_the_same_are_asked_as_before() -> None:
    session = shared.protect(VISITS, table="visits", privacy_unit="id", max_rows=2, budget=2)
    assert session.budget.people == {}
    assert "class" not in str(session.sql("SELECT COUNT(*) AS n FROM visits", 1).card())
