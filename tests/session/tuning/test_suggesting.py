"""Estimates of bounds and caps: near the truth, charged once, refused before the charge, and nothing in them unpaid."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import inside, shared
from typer.testing import CliRunner

import discreet as dp
from discreet.cli.app import app
from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter
from discreet.ledger import Loss
from discreet.policy import Policy
from discreet.session.tuning import suggesting
from discreet.session.workloads import WorkloadSession
from discreet.sql.plan.limits import Limits

UNITS = 4000
ROWS = np.random.default_rng(1).integers(1, 9, UNITS)
UNIT = np.repeat(np.arange(UNITS), ROWS)
TABLE = pa.table({
    "who": UNIT, "age": np.random.default_rng(2).integers(0, 90, len(UNIT)),
    "debt": -np.random.default_rng(3).uniform(300, 900, len(UNIT)),
    "ward": np.array(["a", "b", "c"])[np.random.default_rng(4).integers(0, 3, len(UNIT))],
})  # fmt: skip
GIVEN: dict[str, Any] = {
    "table": "visits", "privacy_unit": "who", "max_rows": 20, "budget": 100, "keys": {"ward": ["a", "b", "c"]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is taken for a count once in 10^12, not in 20."""
    monkeypatch.setattr(suggesting, "CHANCE", 1e-12)


def test_estimates_are_near_and_make_a_policy_that_loads(tmp_path: Path) -> None:
    # At epsilon 20 the noise is of scale 0.2: counts of hundreds stay, all but surely.
    session = shared.protect(TABLE, **GIVEN)
    found = session.suggest("visits", epsilon=20, groups=["ward"])
    assert session.budget.spent == found.epsilon == 20
    assert found.bounds == {"age": (0.0, 128.0), "debt": (-1024.0, -256.0)}
    assert found.max_rows == 8
    assert found.max_groups == {"ward": 4}
    path = tmp_path / "policy.toml"
    path.write_text(found.to_toml())
    policy = Policy.from_toml(path)
    assert policy == found.policy
    assert policy.tables["visits"].max_rows == 8
    assert tuple(map(str, policy.tables["visits"].columns["age"].bounds or ())) == ("0", "128")
    assert policy.tables["visits"].columns["ward"].keys == ("a", "b", "c")
    shares = {cap.most: cap.dropped for cap in found.caps}
    truth = {most: np.maximum(ROWS - most, 0).sum() / ROWS.sum() for most in shares}
    assert all(abs(shares[most] - truth[most]) < 0.12 for most in shares)


def test_the_same_again_is_free_and_the_errors_of_questions_are_those_of_a_preview() -> None:
    session = shared.protect(TABLE, **GIVEN)
    sql = "SELECT COUNT(*) AS n FROM visits"
    found = session.suggest("visits", epsilon=2, columns=["age"], questions={"all": sql}, at="0.1")
    again = session.suggest("visits", epsilon=2, columns=["AGE"])
    assert session.budget.spent == 2
    assert again.bounds == found.bounds
    for cap in found.caps:
        assert cap.errors["all"] == session.preview(sql, "0.1", max_rows=cap.most).errors


def test_values_that_only_a_few_have_are_not_seen() -> None:
    ages = TABLE["age"].to_numpy().copy()
    ages[UNIT < 3] = 10**9
    session = dp.protect(TABLE.set_column(1, "age", pa.array(ages)), **GIVEN)
    found = session.suggest("visits", epsilon="0.5", columns=["age"])
    assert found.bounds["age"][1] <= 128


def test_where_noise_hides_everything_the_draft_is_the_policy() -> None:
    session = dp.protect(TABLE.slice(0, 20), **GIVEN)
    found = session.suggest("visits", epsilon="0.01")
    # At 0.01 rows count for nothing.
    assert found.max_rows is None or found.max_rows >= 1
    assert set(found.bounds) <= {"age", "debt"}
    Policy.model_validate(found.policy.model_dump(exclude={"budget"}) | {"budget": 1})


def test_everything_comes_from_one_charge_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    session = shared.protect(TABLE, **GIVEN)
    seen: list[Any] = []
    run = WorkloadSession.workload

    def workload(own: Any, *asked: Any, **how: Any) -> Any:
        seen.append(run(own, *asked, **how))
        monkeypatch.setattr(inside.engine_of(session), "integers", None)  # nothing more is read
        return seen[-1]

    monkeypatch.setattr(WorkloadSession, "workload", workload)
    found = session.suggest("visits", epsilon=3)
    assert len(seen) == 1
    assert found.answers is seen[0]
    for sql in found.answers:
        assert found.answers[sql].epsilon == 3


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"table": "nowhere"}, InvalidParameter),
        ({"table": "visits", "columns": ["ward"]}, InvalidParameter),
        ({"table": "visits", "groups": ["none"]}, InvalidParameter),
        ({"table": "visits", "questions": {"bad": "SELECT nothing FROM visits"}}, DiscreetError),
        ({"table": "visits", "epsilon": 1000}, BudgetExceeded),
    ],
)
def test_refused_before_the_charge(asked: dict[str, Any], error: type[Exception]) -> None:
    session = shared.protect(TABLE, **GIVEN)
    with pytest.raises(error):
        session.suggest(**{"epsilon": 1, **asked})
    assert session.budget.spent == 0


@pytest.mark.parametrize("value", [-(2.0**40), -(2.0**36), 2.0**36, 2.0**40])
def test_values_beyond_the_last_edge_have_bounds_that_differ(value: float) -> None:
    session = shared.protect(pa.table({"x": [value] * 2000}), privacy_unit="row", budget=20)
    low, high = session.suggest("data", epsilon=20, columns=["x"]).bounds["x"]
    assert abs(high - low) == 2.0**35
    assert max(abs(low), abs(high)) == 2.0**36


def test_an_error_behind_the_answers_says_what_these_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Policy:
        raise InvalidParameter("No draft.", "Try again.")

    monkeypatch.setattr(suggesting, "_drafted", broken)
    session = shared.protect(TABLE, **GIVEN)
    with pytest.raises(InvalidParameter) as caught:
        session.suggest("visits", epsilon=3)
    assert caught.value.charged == Loss(3)
    assert session.budget.spent == 3


def test_noise_below_one_is_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """At epsilon 20 the half-width is 0, and yet noise makes 1 of nothing in one of 150 counts."""
    monkeypatch.setattr(suggesting, "CHANCE", 0.05)
    shown = {"place": [1, 2, None], "n": [1.0, 300.0, 5.0], "n_high": [1.0, 300.0, 5.0]}
    answer: Any = type("Answer", (), {"to_dict": lambda self: shown})()
    assert suggesting._seen(answer) == {2: 300.0}


def test_rows_of_their_own_have_no_caps() -> None:
    session = shared.protect(TABLE, table="visits", privacy_unit="row", budget=10)
    found = session.suggest("visits", epsilon=10, columns=["age"])
    assert (found.max_rows, found.caps, found.bounds) == (None, (), {"age": (0.0, 128.0)})
    with pytest.raises(InvalidParameter):
        session.suggest("visits", epsilon=1, groups=["ward"])


def test_one_unit_counts_once_in_each_answer() -> None:
    session = shared.protect(TABLE, **GIVEN)
    asked = {
        "age": suggesting._values("visits", "age"),
        "rows": suggesting._sizes("visits", "who", "COUNT(*)"),
    }
    for sql in asked.values():
        (release,) = inside.plan_of(session, sql, Fraction(1), limits=Limits(max_rows=1)).releases
        assert release.sensitivity(release.measures[0]) == 1


def test_the_command_line(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "visits.parquet")
    policy = shared.protect(TABLE, **GIVEN).policy
    text = policy.model_copy(update={"source": "parquet:visits.parquet", "ledger": None}).to_toml()
    (tmp_path / "policy.toml").write_text(text)
    command = ["tune", str(tmp_path / "policy.toml"), "--epsilon", "20", "--column", "age"]
    told = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "draft.toml")])
    assert told.exit_code == 0, told.output
    assert "age = { bounds = [0, 128] }\nmax_rows = 8\n" in told.stdout
    assert Policy.from_toml(tmp_path / "draft.toml").tables["visits"].max_rows == 8
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert found["bounds"] == {"age": [0.0, 128.0]}
    assert CliRunner().invoke(app, [*command, "--output", str(tmp_path / "draft.toml")]).exit_code == 2
    with dp.protect(policy=tmp_path / "draft.toml") as session:  # as it stands, and elsewhere too
        assert session.budget.spent == 20, "the draft goes on with the ledger of its policy"
        assert session.preview("SELECT AVG(age) AS age FROM visits", epsilon=1).errors["age"] > 0


def test_each_line_of_bounds_is_one_of_the_draft() -> None:
    session = shared.protect(TABLE, **GIVEN)
    found = session.suggest("visits", epsilon=20)
    lines = [line for line in repr(found).split("\n") if "bounds" in line]
    assert len(lines) == 2
    assert all(line in found.to_toml().split("\n") for line in lines)


def test_the_command_line_drafts_anew_what_the_policy_bounds_already(tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("age,pay\n" + "70,90.5\n" * 5000)
    (tmp_path / "policy.toml").write_text(
        'budget = { epsilon = 9 }\nsource = { url = "csv:ages.csv" }\n[tables.ages]\nprivacy_unit = "row"\n'
        'columns = { age = { bounds = [0, 200], type = "integer" }, pay = { bounds = [0, 1e3] } }\n'
    )
    given = ["tune", "-p", str(tmp_path / "policy.toml"), "--epsilon", "8"]
    told = CliRunner().invoke(app, given)
    assert told.exit_code == 0, told.output  # a warning would be an error
    assert 'age = { bounds = [64, 128], type = "integer" }' in told.stdout
    assert "pay = { bounds = [64, 128] }" in told.stdout
    twice = CliRunner().invoke(app, [*given, given[2]])
    assert twice.exit_code == 2
    assert "name the policy once" in twice.stderr
