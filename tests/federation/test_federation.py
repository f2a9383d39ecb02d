"""Several sessions asked as one: the sums, their intervals, and who is charged when a node fails."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import (
    BudgetExceeded,
    EngineError,
    InvalidParameter,
    NodeError,
    QueryRefused,
    SourceError,
)
from discreet.federation import nodes, sums
from discreet.session.analyst import AnalystSession
from discreet.session.waiting.interruption import interruptibly
from tests import inside
from tests.federation.wards import PEOPLE, POOLED, ward, wards

COUNT = "SELECT ward, COUNT(*) AS n FROM data GROUP BY ward"


def spent(federation: dp.federation.Federation) -> list[Fraction]:
    return [state.spent for state in federation.budget.values()]


@pytest.mark.parametrize(
    ("query", "epsilon", "exact"),
    [
        (COUNT, 500, True),
        ("SELECT SUM(age) AS s FROM data WHERE ward <> 'a'", 20_000, True),
        ("SELECT ward, SUM(age) AS s, COUNT(*) AS n FROM data GROUP BY ward HAVING s > 0 ORDER BY s", 900, False),
        ("SELECT ward, AVG(age) AS a, VARIANCE(day) AS v FROM data GROUP BY ward ORDER BY ward LIMIT 2", 400, False),
        ("WITH t AS (SELECT ward, COUNT(*) AS n FROM data GROUP BY ward) SELECT SUM(n) AS n, MAX(n) AS m FROM t", 500,
         True),
    ],
)  # fmt: skip
def test_the_answer_is_that_of_one_pooled_table(query: str, epsilon: int, exact: bool) -> None:
    together = dp.federate(wards()).sql(query, epsilon)
    alone = ward(POOLED).sql(query, epsilon)
    assert together.columns == alone.columns
    assert len(together) == len(alone) > 0
    for name in together.columns:
        if exact or name == "ward":  # the chance of any noise is below e^-100
            assert sorted(together[name]) == sorted(alone[name])
        else:
            assert together[name] == pytest.approx(alone[name], rel=1e-3)
    assert together.epsilon == epsilon


DAYS, NODES = 1000, 6
MISSES = 110
"""Of 1,000 intervals that cover with a chance of 95 %: more miss with a chance below 1e-10. Of intervals with the
law of one node about 360 miss, and fewer than 200 with a chance below 1e-20."""


def _misses(column: str) -> int:
    people = {"day": np.repeat(np.arange(DAYS), 3), "age": np.tile([10, 60, 110], DAYS)}
    sessions = [
        ward(pa.table(people), keys={"day": list(range(DAYS))}, bounds={"age": (0, 120)})
        for _ in range(NODES)
    ]
    found = dp.federate(sessions).sql(f"SELECT day, {column} AS x FROM data GROUP BY day", 0.5)
    true = {"COUNT(*)": 3 * NODES, "SUM(age)": 180 * NODES}[column]
    return sum(not low <= true <= high for low, high in zip(found["x_low"], found["x_high"], strict=True))


def test_the_bound_on_misses_is_right() -> None:
    def tail(least: int, chance: float) -> float:
        logs = [
            math.lgamma(DAYS + 1) - math.lgamma(k + 1) - math.lgamma(DAYS - k + 1)
            + k * math.log(chance) + (DAYS - k) * math.log(1 - chance)
            for k in range(least, DAYS + 1)
        ]  # fmt: skip
        return sum(map(math.exp, logs))

    assert tail(MISSES, 0.05) < 1e-10
    assert tail(DAYS - 200, 1 - 0.36) < 1e-20


@pytest.mark.parametrize("column", ["COUNT(*)", "SUM(age)"])
def test_intervals_cover_the_noise_of_all_nodes(column: str) -> None:
    assert _misses(column) < MISSES


def test_intervals_of_the_noise_of_one_node_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sums._of_sum
    monkeypatch.setattr(sums, "_of_sum", lambda release, count: real(release, 1))
    assert _misses("COUNT(*)") > 200


def test_units_of_several_rows_are_counted_over_nodes() -> None:
    given: dict[str, Any] = {
        "privacy_unit": "patient",
        "max_rows": 4,
        "bounds": {"age": (0, 120)},
        "budget": 1000,
    }
    tables = [pa.table({"patient": np.arange(rows) // 2, "age": [30] * rows}) for rows in (40, 60)]
    hospitals = dp.federate([dp.protect(table, **given) for table in tables])
    answer = hospitals.sql("SELECT COUNT(DISTINCT patient) AS people FROM data", 500)
    assert answer["people"] == [50]  # the same number in two nodes is another person
    assert hospitals.sql("SELECT COUNT(*) AS visits FROM data", 500)["visits"] == [100]


def test_one_node_is_as_wide_as_its_session() -> None:
    alone, one = ward(POOLED), dp.federate([ward(POOLED)])
    assert one.preview(COUNT, 0.1).errors == alone.preview(COUNT, 0.1).errors
    three = dp.federate(wards()).preview(COUNT, 0.1)
    assert 1.5 < three.errors["n"] / alone.preview(COUNT, 0.1).errors["n"] < 3**0.5
    assert (three.epsilon, three.cost, three.available) == (Fraction(1, 10), Fraction(1, 10), Fraction(10**6))


def test_each_node_pays_epsilon_and_the_answer_says_that_it_is_the_largest() -> None:
    hospitals = dp.federate(wards(budget=1))
    answer = hospitals.sql(COUNT, 0.25)
    assert spent(hospitals) == [Fraction(1, 4)] * 3
    assert answer.epsilon == Fraction(1, 4)
    card = str(answer.card())
    assert "of 3 nodes (north, south, west); each person is in one of them" in card
    assert "people who are in several nodes" in card
    record = answer.card().to_dict()
    assert (record["composition"], record["nodes"], record["missing"]) == (
        "parallel",
        ["north", "south", "west"],
        [],
    )
    assert record["epsilon"] == "0.25"
    again = hospitals.sql(COUNT, 0.25, confidence=0.9)
    assert (again["n"], again.replayed, answer.replayed) == (answer["n"], True, False)
    assert spent(hospitals) == [Fraction(1, 4)] * 3


def test_an_answer_of_a_node_is_free_in_the_federation_and_back() -> None:
    sessions = wards(budget=1)
    alone = {name: session.sql(COUNT, 0.5)["n"] for name, session in sessions.items() if name != "west"}
    hospitals = dp.federate(sessions)
    together = hospitals.sql(COUNT, 0.5)
    assert spent(hospitals) == [Fraction(1, 2)] * 3
    alone["west"] = sessions["west"].sql(COUNT, 0.5)["n"]
    assert spent(hospitals) == [Fraction(1, 2)] * 3
    assert together["n"] == [sum(each) for each in zip(*alone.values(), strict=True)]


def test_a_node_with_too_little_budget_stops_all_before_any_charge() -> None:
    hospitals = dp.federate({**wards(budget=1), "small": ward(PEOPLE["west"], budget=0.1)})
    for skip in (False, True):
        with pytest.raises(NodeError, match=r"small: The budget .* 0\.1 left.*Nothing was charged") as caught:
            hospitals.sql(COUNT, 0.5, skip_down=skip)
        assert isinstance(caught.value.__cause__, BudgetExceeded)
        assert (caught.value.charged, caught.value.paid, list(caught.value.nodes)) == (None, {}, ["small"])
    with pytest.raises(NodeError, match="small"):
        hospitals.preview(COUNT, 0.5)
    assert spent(hospitals) == [0] * 4


def test_the_terms_of_an_analyst_are_a_veto_too() -> None:
    sessions = wards(budget=1)
    sessions["west"] = AnalystSession(sessions["west"], "ana", 1, most=0.1)
    hospitals = dp.federate(sessions)
    with pytest.raises(NodeError, match=r"west: The budget of one question of .* 0\.1 left"):
        hospitals.sql(COUNT, 0.5)
    assert spent(hospitals) == [0] * 3
    assert hospitals.sql(COUNT, 0.1).epsilon == Fraction(1, 10)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"bounds": {"age": (0, 100), "day": (0, 999)}}, "data.age: 0 … 120 in north, 0 … 100 in other"),
        (
            {"neighbours": "replace_one"},
            "neighbours: adding or removing one unit in north, replacing one unit in",
        ),
        (
            {"privacy_unit": "day", "max_rows": 3},
            "data: each row is one unit in north, privacy unit day, at most 3",
        ),
        ({"keys": {"ward": ["a", "b"]}}, r"data.ward: 3 keys: .* in north, 2 keys"),
    ],
)
def test_another_policy_is_refused_by_name_before_any_charge(more: dict[str, Any], said: str) -> None:
    hospitals = dp.federate({**wards(), "other": ward(PEOPLE["west"], **more)})
    with pytest.raises(QueryRefused, match=rf"north and other would not .*{said}.*Nothing was charged"):
        hospitals.sql("SELECT ward, SUM(age) AS s FROM data GROUP BY ward", 1)
    assert spent(hospitals) == [0] * 4


def test_declarations_that_the_question_does_not_read_may_differ() -> None:
    hospitals = dp.federate({**wards(), "other": ward(PEOPLE["west"], bounds={"age": (0, 99)})})
    assert len(hospitals.sql(COUNT, 1)) == 3


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT CORR(age, day) AS r FROM data", "several columns as one"),
        ("SELECT MEDIAN(age) AS m FROM data", "quantiles"),
        ("SELECT COUNT(DISTINCT age) AS n FROM data", "distinct values"),
        ("SELECT 1 AS one", "nothing private"),
        ("SELECT COUNT(*) AS n, (SELECT AVG(age) FROM data) AS a FROM data WHERE ward = 'a'", "several noisy tables"),
        ("SELECT nope FROM data", "no column nope"),
    ],
)  # fmt: skip
def test_questions_that_do_not_add_up_are_refused_before_any_charge(query: str, reason: str) -> None:
    hospitals = dp.federate(wards())
    with pytest.raises(QueryRefused, match=reason) as caught:
        hospitals.sql(query, 1)
    assert str(caught.value).endswith("Nothing was charged.")
    assert spent(hospitals) == [0] * 3


def _stops(name: str, error: Exception, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    real = getattr(nodes, step)
    sessions = wards(budget=1)

    def stopped(session: dp.Session, question: Any) -> Any:
        if session is sessions[name]:
            raise error
        return real(session, question)

    monkeypatch.setattr(nodes, step, stopped)
    monkeypatch.setattr("tests.federation.test_federation.wards", lambda **_: sessions)


def test_a_node_that_is_down_is_named_and_left_out_on_request_only(tmp_path: Path) -> None:
    pq.write_table(PEOPLE["south"], tmp_path / "data.parquet")
    sessions = {**wards(budget=1), "south": ward(tmp_path / "data.parquet", budget=1)}
    hospitals = dp.federate(sessions)
    (tmp_path / "data.parquet").unlink()
    with pytest.raises(NodeError, match=r"because of south: .*Nothing was charged") as caught:
        hospitals.sql(COUNT, 0.5)
    assert isinstance(caught.value.__cause__, SourceError)
    assert spent(hospitals) == [0] * 3
    answer = hospitals.sql(COUNT, 0.5, skip_down=True)
    assert "south is missing: it could not be reached, it was not charged" in answer.warnings[0]
    assert "of 2 nodes (north, west)" in str(answer.card())
    assert spent(hospitals) == [Fraction(1, 2), 0, Fraction(1, 2)]
    two = dp.federate([sessions["north"], sessions["west"]]).sql(COUNT, 0.5)
    assert answer.to_dict() == two.to_dict()


def test_a_node_that_fails_after_others_were_charged_is_named_with_the_charges(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = EngineError("The engine stopped.")
    _stops("south", fault, monkeypatch, "_paid")
    hospitals = dp.federate(wards())
    with pytest.raises(
        NodeError, match=r"south: The engine stopped\. Charged were north \(.*0\.5.*west \("
    ) as caught:
        hospitals.sql(COUNT, 0.5)
    assert caught.value.charged == dp.accounting.Loss(Fraction(1, 2))
    assert set(caught.value.paid) == {"north", "west"}
    assert str(caught.value).endswith("It stays charged.")
    assert spent(hospitals) == [Fraction(1, 2), 0, Fraction(1, 2)]
    answer = hospitals.sql(COUNT, 0.5, skip_down=True)
    assert "south is missing" in answer.warnings[0]
    monkeypatch.undo()
    assert len(hospitals.sql(COUNT, 0.5)) == 3
    assert spent(hospitals) == [Fraction(1, 2)] * 3


def test_the_charge_of_the_node_that_failed_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = wards(budget=1)
    hospitals, broken = dp.federate(sessions), inside.engine_of(sessions["south"])

    def stopped(engine: Any, work: Any) -> Any:
        if engine is broken:
            raise EngineError("The engine stopped.")
        return interruptibly(engine, work)

    monkeypatch.setattr("discreet.session.queries.interruptibly", stopped)
    with pytest.raises(NodeError) as caught:
        hospitals.sql(COUNT, 0.5)
    assert set(caught.value.paid) == {"north", "south", "west"}
    assert caught.value.charged == dp.accounting.Loss(Fraction(1, 2))  # each person is in one node
    assert spent(hospitals) == [Fraction(1, 2)] * 3


def test_threads_that_ask_at_once_overdraw_no_node() -> None:
    hospitals = dp.federate(wards(budget=1))

    def ask(part: int) -> bool:
        """Whether it was answered, or failed for another reason than a budget."""
        try:
            return len(hospitals.sql(COUNT, Fraction(4, 10) + Fraction(part, 1000))) == 3
        except NodeError as error:
            return not all(isinstance(one, BudgetExceeded) for one in error.nodes.values())

    with ThreadPoolExecutor(4) as pool:
        answered = list(pool.map(ask, range(4)))
    assert sum(answered) <= 2
    assert max(spent(hospitals)) <= 1


def test_a_veto_after_the_look_is_no_node_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    _stops("south", BudgetExceeded("the data set", "0.5", "0"), monkeypatch, "_paid")
    hospitals = dp.federate(wards())
    with pytest.raises(NodeError, match="Charged were north"):
        hospitals.sql(COUNT, 0.5, skip_down=True)


def test_nothing_is_answered_without_any_node(monkeypatch: pytest.MonkeyPatch) -> None:
    session = ward(POOLED)
    monkeypatch.setattr(nodes, "_price", lambda *_: (_ for _ in ()).throw(SourceError("It has gone.")))
    with pytest.raises(NodeError, match="It has gone"):
        dp.federate([session]).sql(COUNT, 1, skip_down=True)


def test_a_session_that_is_like_the_others_plans_and_is_asked_nothing() -> None:
    planning, hospitals = ward(PEOPLE["west"].slice(0, 0), budget=1), wards(budget=1)
    answer = dp.federate(hospitals, like=planning).sql(COUNT, 0.5)
    assert answer["n"] == dp.federate(hospitals).sql(COUNT, 0.5)["n"]
    assert planning.budget.spent == 0
    with pytest.raises(
        QueryRefused, match=r"this machine and north would not .*0 … 9 in this machine, 0 … 120 in n"
    ):
        dp.federate(hospitals, like=ward(PEOPLE["west"], bounds={"age": (0, 9)})).sql(
            "SELECT SUM(age) AS n FROM data", 0.1
        )
    with pytest.raises(InvalidParameter, match="invented"):
        dp.federate(hospitals, like=planning.mock(10))
    with pytest.raises(InvalidParameter, match="like"):
        dp.federate(hospitals, like=3)  # type: ignore[arg-type]


def test_another_number_of_integers_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    hospitals = dp.federate(wards(budget=1))
    real = nodes._released
    monkeypatch.setattr(nodes, "_released", lambda queries, question: real(queries, question)[:1])
    with pytest.raises(NodeError, match=r"another number of integers.*Charged were north"):
        hospitals.sql(COUNT, 0.5)


def test_sessions_that_cannot_be_nodes_are_refused(tmp_path: Path) -> None:
    pq.write_table(POOLED, tmp_path / "data.parquet")
    twice = [ward(tmp_path / "data.parquet") for _ in range(2)]
    session = ward(POOLED)
    for wrong, said in (
        (twice, "one ledger"), ([session, session], "one ledger"), ([], "protect"), ("north", "protect"),
        ([session, 3], "protect"), ({1: session}, "name"), ([session, ward(POOLED).mock()], "invented"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match=said):
            dp.federate(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="skip_down"):
        dp.federate([session]).sql(COUNT, 1, skip_down="no")  # type: ignore[arg-type]


def test_mock_federations_are_free() -> None:
    hospitals = dp.federate(wards(budget=1))
    answer = hospitals.mock(500).sql(COUNT, 1)
    assert "invented" in str(answer.card())
    assert spent(hospitals) == [0] * 3
    assert repr(hospitals) == "<Federation of north, south, west>"
