"""Earlier running totals as sources: which sums of days follow from them, their law, and what is not made of them."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest
from tests import shared

import discreet as dp
from discreet.planning.ranges.factors import Factors
from discreet.sql.finish import window_sums
from discreet.sql.finish.estimates import EarlierRelease, Sums
from discreet.sql.finish.window_sums import WindowSums, sums_of
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.plan.workloads.series_law import SeriesLaw

DAYS = 50
TOTAL = "SELECT day, sex, SUM(COUNT(*)) OVER (PARTITION BY sex ORDER BY day) AS t FROM data GROUP BY day, sex"
HALF = "SELECT COUNT(*) AS n FROM data WHERE day < 25"
BY_SEX = "SELECT sex, COUNT(*) AS n FROM data WHERE day BETWEEN 10 AND 40 GROUP BY sex ORDER BY sex"
WEEKS = "SELECT day // 7 AS w, COUNT(*) AS n FROM data GROUP BY w ORDER BY w"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = str(tmp_path_factory.mktemp("days") / "x.duckdb")
    with duckdb.connect(place) as base:
        base.execute("CREATE TABLE data (day INTEGER NOT NULL, sex BOOLEAN NOT NULL)")
        base.execute(f"INSERT INTO data SELECT i * 7 % {DAYS}, i % 3 = 0 FROM range(3000) t(i)")
    return place


def protect(place: str) -> dp.Session:
    return shared.protect(place, privacy_unit="row", bounds={"day": (0, DAYS - 1)}, budget=10**9,
                          ledger=":memory:")  # fmt: skip


@pytest.fixture
def session(place: str) -> dp.Session:
    return protect(place)


@pytest.fixture(scope="module")
def answered(place: str) -> dp.Session:
    """Its first answer are the totals, for an epsilon of 1."""
    session = protect(place)
    session.sql(TOTAL, epsilon=1)
    return session


def test_sums_of_days_follow_for_nothing_and_are_right(session: dp.Session) -> None:
    session.sql(TOTAL, epsilon=10**5)
    spent = session.budget.spent
    for sql, truth in ((HALF, [1500]), (BY_SEX, [1240, 620]), (WEEKS, [420] * 7 + [60])):
        answer = session.sql(sql, epsilon=1, reuse=True)
        assert answer.known_from == (1,)
        assert np.allclose(answer.to_pandas()["n"], truth, atol=1)
    assert session.budget.spent == spent


def test_a_coarse_answer_is_told_and_refined(answered: dp.Session) -> None:
    seen = answered.preview(HALF, within={"n": 8})
    assert "or free, from question 1 alone: n ± " in str(seen)
    answer = answered.sql(HALF, within={"n": 8})
    assert 0 < answer.epsilon < 1


def test_gaussian_noise_and_other_rows_are_no_source(session: dp.Session) -> None:
    session.sql(TOTAL.replace("FROM data", "FROM data WHERE day > 3"), epsilon=1)
    assert session.sql(HALF, epsilon=0.5, reuse=True).known_from == ()


def test_groups_that_are_put_together_have_no_windows_as_sources(answered: dp.Session) -> None:
    """Neighbouring weeks of one series have noise in common, so the interval of a difference would be too short."""
    assert answered.sql(WEEKS, epsilon=0.001, reuse=True).known_from == (1,)
    steps = f"SELECT w, n - LAG(n) OVER (ORDER BY w) AS d FROM ({WEEKS}) AS t"
    assert answered.sql(steps, epsilon=0.001, reuse=True).known_from == ()


def law_of(place: np.ndarray, kind: Any = WindowSums) -> tuple[Any, SeriesLaw]:
    factors = Factors(50, ((7, 40), (20, 40)), 1)
    own = SeriesLaw(factors, (), (2, 50), 1, tuple(range(50)), (1,))  # type: ignore[arg-type]
    plan: Any = type("Plan", (), {"estimated": own, "scale": lambda *_: 1})()
    noisy = NoisyIntegers(plan, np.zeros((100, 1), np.int64))
    return kind(EarlierRelease(1, noisy), 0, place, 1), own


@pytest.mark.parametrize("kind", [WindowSums, Sums])
def test_the_law_of_a_sum_is_that_of_its_draws(kind: Any) -> None:
    """40,000 draws: a mean square has a standard error below 1 %. The planted fault: days that were independent."""
    place = np.full(100, -1)
    place[5:45] = 0
    place[60:63] = 0
    sums, own = law_of(place, kind)
    drawn = own.again(0, 1, 40_000, 4)[:, place == 0, 0].sum(axis=1)
    law = sums.law if kind is WindowSums else ((1.0, 43),)
    variance = sum(2 * scale**2 * count for scale, count in law)
    assert (abs(np.mean(drawn**2) / variance - 1) < 0.07) == (kind is WindowSums)


def test_few_pairs_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, _ = law_of(np.zeros(100, np.int64))
    assert isinstance(sums_of(sums.source, 0, sums.place, 9), WindowSums)
    monkeypatch.setattr(window_sums, "MOST_PAIRS", 99)
    assert sums_of(sums.source, 0, sums.place, 9) is None
