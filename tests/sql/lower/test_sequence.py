"""One statement, releases one after the other: one charge, the noisy number beside the rows, the same bits again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.corpus.judge import silence
from tests import inside, shared

import discreet as dp
from discreet.engines.engine import NO_TABLES
from discreet.engines.sandbox import OUT_OF_MEMORY, QUOTED, too_late
from discreet.errors import BudgetExceeded, EngineError, PostProcessingError, QueryRefused
from discreet.release.draw import Draw
from discreet.session import queries
from discreet.sql.finish import many_groups
from discreet.sql.lower import sequence
from discreet.sql.lower.run import NoisyIntegers, exact_integers, run_release
from discreet.sql.lower.uses import uses_of

ROWS = 4000
ABOVE = "SELECT k, COUNT(*) AS n FROM data WHERE x > (SELECT AVG(x) FROM data) GROUP BY k ORDER BY k"
BESIDE = (
    "SELECT (SELECT AVG(x) FROM data) AS mean, COUNT(*) AS n FROM data WHERE x > (SELECT AVG(x) FROM data)"
)


def table() -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table({
        "id": np.arange(ROWS) % 1500, "x": rng.gamma(2, 20, ROWS).round(2),
        "k": [*"aaaabbbccd"] * (ROWS // 10), "y": np.arange(ROWS) % 31,
    })  # fmt: skip


def opened(**more: Any) -> dp.Session:
    declared = {
        "max_rows": 4,
        "bounds": {"x": (0, 200), "y": (0, 30)},
        "keys": {"k": list("abcd")},
        "budget": 100,
    }
    return shared.protect(table(), privacy_unit="id", **{**declared, **more})


@pytest.fixture
def session() -> dp.Session:
    return opened()


class Asked:
    """An engine that notes the tables of released numbers that it is given."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.given: list[pa.Table] = []
        self.written: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def integers(self, sql: str, tables: Any = NO_TABLES) -> pa.Table:
        self.given += [table for name, table in tables.items() if name.startswith("__given")]
        self.written.append(sql)
        return self._engine.integers(sql, tables)


def test_both_releases_are_one_charge_of_the_whole_epsilon(session: dp.Session) -> None:
    session.sql(ABOVE, epsilon=2)
    entries = [entry for entry in session.ledger.entries() if entry.kind == "charge"]
    assert session.budget.spent == 2
    assert len(entries) == 1
    plan = inside.plan_of(session, ABOVE, Fraction(2))
    assert len(plan.releases) == 2
    assert all(release.epsilon > 0 for release in plan.releases)
    assert sum(release.epsilon for release in plan.releases) == 2


def test_a_budget_that_holds_one_of_them_is_not_touched() -> None:
    session = opened(budget=1)
    with pytest.raises(BudgetExceeded):
        session.sql(ABOVE, epsilon=Fraction(11, 10))
    assert session.budget.spent == 0


def test_the_rows_are_compared_with_the_released_number_itself(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Asked(inside.engine_of(session))
    inside.ask_instead(monkeypatch, session, engine)
    shown = session.sql(BESIDE, epsilon=Fraction(1, 10))
    (given,) = engine.given
    released = float(given.column(0)[0].as_py())
    assert released == shown.values.column("mean")[0].as_py()
    assert released != pytest.approx(np.asarray(table().column("x")).mean(), abs=1e-9)


def test_a_number_that_is_computed_again_without_noise_is_found(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bare(release: Any, engine: Any, salt: int, draw: Draw, given: Any) -> Any:
        if not given:  # the planted fault: the first release is read as it is
            return NoisyIntegers(release, exact_integers(release, engine, salt))
        return run_release(release, engine, salt, draw, given)

    monkeypatch.setattr(sequence, "run_release", bare)
    with pytest.raises(EngineError, match="no noise"):
        session.sql(ABOVE, epsilon=1)

    def unnoised(one: Any, noisy: Any, public: Any) -> pa.Table:
        drawn = [NoisyIntegers(n.plan, exact_integers(n.plan, inside.engine_of(session), 7)) for n in noisy]
        return content(one, drawn, public)

    content = sequence.content
    monkeypatch.setattr(sequence, "run_release", run_release)
    monkeypatch.setattr(
        sequence, "_filled", unnoised
    )  # noise is drawn, and another number stands beside the rows
    with pytest.raises(AssertionError):
        test_the_rows_are_compared_with_the_released_number_itself(session, monkeypatch)


def test_a_first_release_without_its_share_is_refused_before_the_charge(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "uses_of", lambda releases: uses_of(releases[1:]))  # the planted fault
    with pytest.raises(QueryRefused, match="add up"):
        session.sql(ABOVE, epsilon=1)
    assert session.budget.spent == 0


def test_the_second_plan_is_there_before_the_first_number(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same SQL, price and groups, whatever the first release is; and none runs before those that it reads."""
    plan = inside.plan_of(session, ABOVE, Fraction(1))
    asked = Asked(inside.engine_of(session))
    kind = next(iter(sequence.given_to(plan.releases[1]).values())).schema
    for value in (None, -1e300, 0.0, 39.5, 1e300):
        given = {"__given_1": pa.table({kind.names[0]: [value]}, kind)}
        exact_integers(plan.releases[1], asked, 7, given=given)
    assert len(set(asked.written)) == 1
    turned = type(plan)(plan.text, plan.statement, plan.releases[::-1], plan.post)
    with pytest.raises(EngineError, match="before it is drawn"):
        inside.noisy_of(session, turned, Draw(uses_of(plan.releases)))
    with pytest.raises(
        EngineError, match="is missing"
    ):  # the stand-in of the plan is never taken for the number
        exact_integers(plan.releases[1], inside.engine_of(session), 7)


def test_the_answer_is_kept_and_the_same_bits_come_back(session: dp.Session, tmp_path: Path) -> None:
    first = session.sql(ABOVE, epsilon=1)
    again = session.sql(ABOVE, epsilon=1)
    assert again.replayed
    assert again.values.equals(first.values)
    sure = session.sql(ABOVE, epsilon=1, confidence=0.99)
    assert sure.replayed
    assert sure.values.equals(first.values)
    file = session.write(ABOVE, 1, tmp_path / "answer.parquet")
    assert file.replayed
    assert session.budget.spent == 1


def test_another_use_of_the_same_noise_is_another_question(session: dp.Session) -> None:
    session.sql(ABOVE, epsilon=1)
    other = session.sql(ABOVE.replace("x > (", "x > 2 * ("), epsilon=1)
    assert not other.replayed
    assert not session.sql(ABOVE.replace("(SELECT AVG(x)", "(SELECT AVG(x) / 2"), epsilon=1).replayed


def test_a_number_of_nothing_is_null_and_no_row_is_above_it(session: dp.Session) -> None:
    nothing = "SELECT COUNT(*) AS n FROM data WHERE x > (SELECT MAX(a) FROM (SELECT k, AVG(x) AS a FROM data " \
        "GROUP BY k HAVING COUNT(*) > 100000) AS g)"  # fmt: skip
    with silence():
        assert session.sql(nothing, epsilon=10).values.column("n").to_pylist() == [0]


def test_three_releases_one_after_the_other(session: dp.Session) -> None:
    sql = "SELECT COUNT(*) AS n FROM data WHERE x > (SELECT AVG(x) FROM data WHERE y > (SELECT AVG(y) FROM data))"
    plan = inside.plan_of(session, sql, Fraction(3))
    assert [len(sequence.given_to(release)) for release in plan.releases] == [0, 1, 1]
    session.sql(sql, epsilon=3)
    assert session.budget.spent == 3


def test_the_same_sub_query_is_released_once(session: dp.Session) -> None:
    rollup = ABOVE.replace("GROUP BY k", "GROUP BY ROLLUP (k)")
    assert len(inside.plan_of(session, rollup, Fraction(1)).releases) == 3
    assert len(inside.plan_of(session, BESIDE, Fraction(1)).releases) == 2


def test_large_answers_wait_in_memory(
    monkeypatch: pytest.MonkeyPatch, session: dp.Session, tmp_path: Path
) -> None:
    monkeypatch.setattr(many_groups, "IN_MEMORY", 2)
    assert not many_groups.streams(inside.plan_of(session, ABOVE, Fraction(1)))
    assert session.write(ABOVE, 1, tmp_path / "answer.parquet").rows == 4


FAILING = "SELECT COUNT(*) AS n FROM data WHERE x > (SELECT CAST(COUNT(*) AS TINYINT) FROM data)"


def failures(tmp_path: Path) -> tuple[str, str]:
    """The same question twice, whose released number does not fit the type that it is cast to; then a session anew."""
    said = []
    table = pa.table({"x": np.arange(500) % 97})
    for _ in range(2):
        with shared.protect(
            table, privacy_unit="row", bounds={"x": (0, 100)}, budget=9, ledger=tmp_path / "l.db"
        ) as session:
            for _ in range(2):
                with pytest.raises(PostProcessingError, match="Write TRY_CAST there") as caught:
                    session.sql(FAILING, 4)
                said.append(str(caught.value).partition("Type INT64")[2].partition(" can't")[0])
            spent = session.budget.spent
    assert len(set(said)) == 1, "the number was drawn once"
    return str(spent), said[0]


def test_a_statement_that_fails_on_a_released_number_is_charged_once(tmp_path: Path) -> None:
    spent, said = failures(tmp_path)
    assert spent == "4"
    assert " with value " in said


def test_an_answer_that_is_not_kept_for_its_failure_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: the releases end with the first failure, and nothing is kept."""
    monkeypatch.setattr(sequence, "_filled", sequence.content)
    with pytest.raises((AssertionError, pytest.fail.Exception, BudgetExceeded)):
        failures(tmp_path)


@pytest.mark.parametrize(
    "cause", [too_late(5).cause, f"{QUOTED} {OUT_OF_MEMORY}: it needs more than it may have."]
)
def test_a_failure_that_may_not_come_again_has_no_stand_in(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    """Else the second release would be of nothing, and the answer shown as soon as the statement is in time."""

    def late(*_: object) -> pa.Table:
        raise PostProcessingError(cause)

    with monkeypatch.context() as patched:
        patched.setattr(sequence, "content", late)
        with pytest.raises(PostProcessingError):
            session.sql(ABOVE, 1)
    assert session.budget.spent == 1
    assert session.sql(ABOVE, 1).replayed is False
    assert session.budget.spent == 2


def test_another_question_after_it_has_its_own_price(session: dp.Session) -> None:
    spent = session.budget.spent
    with pytest.raises(PostProcessingError):
        session.sql(FAILING, 1)
    assert session.sql(FAILING.replace("CAST", "TRY_CAST"), 1).replayed is False
    assert session.budget.spent == spent + 2
