"""What does not matter to the noisy integers makes no new question; what does, does."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import DEEP

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.sql.expressions.dialect import STANDARD
from discreet.sql.lower import identity as identities

TABLE = pa.table(
    {"k": ["a", "b"] * 50, "x": list(range(100)), "y": list(range(100)), "id": [n % 20 for n in range(100)]}
)
GROUPED = "SELECT k, COUNT(*) AS n FROM data GROUP BY k"
UNITS = "SELECT k, COUNT(DISTINCT id) AS n FROM data GROUP BY k"
BOTH = "SELECT COUNT(*) AS n, MEDIAN(x) AS m FROM data"
ALIKE: list[tuple[str, str, dict[str, Any]]] = [
    (GROUPED, "select K, count( * )  as n /* all */ from DATA group by k", {}),
    (GROUPED, "SELECT k, COUNT(*) AS rows FROM data GROUP BY 1 ORDER BY rows DESC", {}),
    (GROUPED, "SELECT d.k AS county, 2 * COUNT(*) + 1 AS n FROM data AS d GROUP BY d.k HAVING COUNT(*) > 3", {}),
    (GROUPED, GROUPED, {"split": {"n": 3}}),
    (GROUPED, GROUPED, {"max_groups": 1}),
    (GROUPED, GROUPED, {"max_rows": 3}),
    (GROUPED, GROUPED, {"delta": "1e-9"}),
    (UNITS, UNITS, {"max_rows": 2}),
    (UNITS, UNITS, {"max_groups": 2}),
    (BOTH, BOTH, {"split": {"n": 2, "m": 2}}),
    ("SELECT AVG(x) AS a FROM data", "SELECT COUNT(x) AS c, SUM(x) / COUNT(x) AS b, AVG(x) AS a FROM data", {}),
]  # fmt: skip
APART: list[tuple[str, str, dict[str, Any]]] = [
    (GROUPED, GROUPED, {"max_rows": 2}),
    (GROUPED, GROUPED, {"epsilon": Fraction(1, 2)}),
    (GROUPED, "SELECT k, COUNT(*) AS n FROM data WHERE x > 3 GROUP BY k", {}),
    (GROUPED, "SELECT k, SUM(x) AS n FROM data GROUP BY k", {}),
    (GROUPED, "SELECT COUNT(*) AS n FROM data", {}),
    (UNITS, UNITS, {"max_groups": 1}),
    (BOTH, BOTH, {"split": {"n": 2}}),
    ("SELECT MEDIAN(x) AS m FROM data", "SELECT MEDIAN(x + 1) AS m FROM data", {}),
    ("SELECT COUNT(*) AS n FROM data WHERE x > 1", "SELECT COUNT(*) AS n FROM data WHERE x > 2", {}),
    ("SELECT k, COUNT(*) AS n FROM data WHERE k IN ('a') GROUP BY k", GROUPED, {}),
]


@pytest.fixture
def session() -> dp.Session:
    return shared.protect(
        TABLE, privacy_unit="id", max_rows=3, bounds={"x": (0, 100), "y": (0, 50)}, keys={"k": ["a", "b"]}, budget=100,
    )  # fmt: skip


@pytest.mark.parametrize(("one", "two", "more"), ALIKE)
def test_what_does_not_matter_costs_nothing_again(
    session: dp.Session, one: str, two: str, more: dict[str, Any]
) -> None:
    first = session.sql(one, 1)
    second = session.sql(two, 1, **more)
    assert second.replayed
    assert session.budget.spent == 1
    if "n" in first.columns and "n" in second.columns and " + " not in two:
        assert sorted(first.to_dict()["n"]) == sorted(second.to_dict()["n"])
    assert second.question == two


@pytest.mark.parametrize(("one", "two", "more"), APART)
def test_what_matters_is_another_question(
    session: dp.Session, one: str, two: str, more: dict[str, Any]
) -> None:
    session.sql(one, 1)
    second = session.sql(two, more.pop("epsilon", 1), **more)
    assert not second.replayed
    assert session.budget.spent == 1 + second.epsilon


def test_an_identity_that_forgets_the_shares_is_found(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: only the SQL is looked at, so that an answer comes with the wrong noise."""
    monkeypatch.setattr(identities, "_text", lambda *_: b"")
    with pytest.raises(AssertionError):
        test_what_matters_is_another_question(session, BOTH, BOTH, {"split": {"n": 2}})


def test_the_statement_as_identity_is_found(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the identity is the text, so that an alias is charged."""
    monkeypatch.setattr(identities, "identity", lambda plan, _: plan.statement)
    for one, two, more in ALIKE[1:5]:
        with pytest.raises(AssertionError):
            test_what_does_not_matter_costs_nothing_again(session, one, two, more)


def test_found_groups_are_shown_in_another_way(session: dp.Session) -> None:
    table = pa.table({"town": ["x", "y"] * 500, "id": list(range(1000))})
    found = shared.protect(table, privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=9, delta=1e-6))
    first = found.sql("SELECT town, COUNT(*) AS n FROM data GROUP BY town", 4, delta=1e-9)
    second = found.sql(
        "SELECT upper(town) AS place, COUNT(*) AS n FROM data GROUP BY town ORDER BY n", 4, delta=1e-9
    )
    assert second.replayed
    assert sorted(second.to_dict()["n"]) == sorted(first.to_dict()["n"])
    assert sorted(second.to_dict()["place"]) == ["X", "Y"]


PRINTS = """
from fractions import Fraction
import discreet as dp
from discreet.sql.lower.identity import identity
from tests.inside import plan_of
from tests.sql.lower.test_identity import ALIKE, APART, TABLE
s = dp.protect(TABLE, privacy_unit="id", max_rows=3, bounds={"x": (0, 100)}, keys={"k": ["a", "b"]}, budget=1)
for dialect in ("duckdb", "postgres", "spark"):
    print([identity(plan_of(s, text, Fraction(1)), dialect) for pair in ALIKE + APART for text in pair[:2]])
"""


def test_it_is_the_same_in_every_process() -> None:
    path = os.pathsep.join([os.getcwd(), *filter(None, sys.path)])
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(PRINTS, {})
    said = {here.getvalue()}
    for seed in ("1", "2") if DEEP else ("1",):  # a deep run: in three processes instead of two
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", PRINTS], env=env, capture_output=True, text=True, check=True
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert len(said.pop()) > 1000


@pytest.mark.parametrize("split", [5, "n=1", ["n"], {3: 1}, {"n": "much"}, {"n": -1}, {"n": float("nan")}])
def test_a_split_that_is_none_is_refused(session: dp.Session, split: Any) -> None:
    for ask in (session.sql, session.preview):
        with pytest.raises(InvalidParameter) as caught:
            ask(GROUPED, 1, split=split)
        assert caught.value.charged is None
    assert session.budget.spent == 0


@pytest.mark.parametrize("name", ["max_rows", "max_groups"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "3", 10**30])
def test_a_cap_that_is_none_is_refused(session: dp.Session, name: str, value: Any) -> None:
    with pytest.raises(InvalidParameter):
        session.sql(GROUPED, 1, **{name: value})
    assert session.budget.spent == 0


def test_measures_keep_the_names_that_ledgers_have(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = ", ".join(f"QUANTILE_CONT(x, 0.{at})" for at in range(1, 10))
    sql = f"SELECT {many}, MEDIAN(y) AS m, CORR(x, y) AS c, AVG(x) AS a FROM data"
    plan = inside.plan_of(session, sql, Fraction(1))
    named: dict[str, Any] = {type(measure).__name__: measure for measure in plan.releases[0].measures}
    named["ValueGrid"] = named["Moments"].grid

    def kept() -> set[str]:
        texts = (identities._text(measure, STANDARD).decode() for measure in named.values())
        return {text.split("'")[1] for text in texts}

    assert kept() == {"Tree", "Ranks", "Joint", "Measure", "Grid"}
    monkeypatch.setattr(identities, "NAMES", {})  # the planted fault: a class that is renamed charges again
    assert kept() == set(named) == {"QuantileTree", "Ranks", "JointMoments", "Moments", "ValueGrid"}
