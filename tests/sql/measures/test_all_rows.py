"""The mean of known rows: as in the textbook, in the plan, in the session and by enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.engines.schema import Type
from discreet.planning import mean_error
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.intervals.closed_form import direct
from discreet.sql.lower.uses import uses_of
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.measures.measure import Moments, ValueGrid

N, WIDTH = 1500, 15
ROWS = pa.table({"years": np.arange(N) % 16 + 1})
MEAN = "SELECT AVG(coalesce(years, 1)) AS mean FROM people"


def _session(rows: pa.Table = ROWS, **changed: object) -> dp.Session:
    given: dict[str, Any] = {"table": "people", "privacy_unit": "row", "budget": 100, "bounds": {"years": (1, 16)},
             "neighbours": "replace_one", **changed}  # fmt: skip
    return shared.protect(rows, **given)


def _bernstein(t: int, r: int, degree: int) -> list[int]:
    rest = r - t
    s, v, m = t * t // r, rest * rest // r, t * rest // r
    others = {
        1: [t], 2: [2 * t * rest // r, s], 3: [3 * v * t // r, 3 * s * rest // r, s * t // r],
        4: [4 * m * v // r, 6 * m * m // r, 4 * m * s // r, s * s // r],
    }[degree]  # fmt: skip
    return [r - sum(others), *others]


def _distances(r: int, degree: int, first: int) -> list[int]:
    """The distances of the vectors of all pairs of rows, from one of their entries on."""
    vectors = [_bernstein(t, r, degree)[first:] for t in range(r + 1)]
    return [sum(abs(a - b) for a, b in zip(p, q, strict=True)) for p, q in itertools.combinations(vectors, 2)]


@pytest.mark.parametrize("r", [1, 2, 3, 5, 8, 12, 31, 60, 97])
def test_sensitivities_by_enumeration_of_the_whole_grid(r: int) -> None:
    column = Column("years", Type.INTEGER, Span(Fraction(0), Fraction(r), nullable=False))
    grid = ValueGrid(0.0, float(r), Fraction(1), r)
    for degree in (1, 2, 3, 4):
        whole = Moments(degree, column, grid, False)
        assert max(_distances(r, degree, 0)) == whole.replacing_sensitivity == 2 * r
    assert max(_distances(r, 1, 1)) == AllRows(1, column, grid, False).replacing_sensitivity == r
    most = AllRows(2, column, grid, False).replacing_sensitivity
    assert most - 2 <= max(_distances(r, 2, 1)) <= most == r + -(-r // 3)


def test_a_degree_too_small_for_the_second_moment_is_found() -> None:
    assert max(_distances(60, 2, 1)) > 60  # as it would be if the bound of degree 1 were taken


def test_the_plan_and_the_session_give_the_same_number() -> None:
    session = _session()
    (release,) = inside.plan_of(session, MEAN, Fraction(1, 10)).releases
    textbook = mean_error((1, 16), N, "0.1")
    grid = release.measures[0].grid
    assert grid is not None
    assert float(release.scale(0) * grid.step) / N == pytest.approx(textbook.scale)  # 15/(1500 * 0.1) = 0.1
    answered = session.sql(f"{MEAN[:6]} COUNT(*) AS n, {MEAN[7:]}", epsilon="0.1")
    shown = answered.to_pandas()
    half_width = (shown["mean_high"][0] - shown["mean_low"][0]) / 2
    assert half_width == pytest.approx(textbook.radius(0.95), rel=2e-3)  # in whole steps of the grid
    assert shown["n"].tolist() == [N]


def test_the_noise_is_the_textbooks() -> None:
    # The mean size of 300 errors, in units of the scale, is a sum of 300 exponential variables over 300: it lies
    # outside 0.6 to 1.6 with a chance below 1e-9. Noise of twice the scale would lie there with the same chance.
    session = _session()
    plan = inside.plan_of(session, MEAN, Fraction(1, 10))
    uses = uses_of(plan.releases)

    def draw(name: str, exact: Any) -> Any:
        return uses[name].mechanism.release(exact)

    exact = float(np.mean(ROWS["years"].to_numpy()))
    errors = []
    for _ in range(300):
        (noisy,) = inside.noisy_of(session, plan, draw)  # type: ignore[arg-type]
        errors.append(abs(noisy.values(plan.releases[0].aggregates[0])[0] - exact))
    assert 0.6 < np.mean(errors) / 0.1 < 1.6


def test_intervals_of_second_moments_cover() -> None:
    (release,) = inside.plan_of(_session(), MEAN.replace("AVG", "VAR_POP"), Fraction(1)).releases
    measure = release.measures[0]
    assert isinstance(measure, AllRows)
    scale = float(release.scale(0))
    rng = np.random.default_rng(1)
    t = (ROWS["years"].to_numpy() - 1).astype(float) / WIDTH * measure.row_sensitivity
    vectors = np.array([_bernstein(round(v), measure.row_sensitivity, 2) for v in t[:16]]).sum(0)
    exact = [int(v) * N // 16 for v in vectors]
    truth = measure.estimate("var_pop", np.array([[N, *exact[1:]]], float))[0]
    noisy = np.rint(np.array(exact) + np.c_[np.zeros(300), rng.laplace(0, scale, (300, 2))]).astype(np.int64)
    entries = np.c_[np.full(300, N), noisy[:, 1:]].astype(float)
    values = measure.estimate("var_pop", entries)
    low, high = direct(release, release.aggregates[0], entries, values, 0.95)
    held = int(((low <= truth) & (truth <= high)).sum())
    assert 245 <= held <= 300  # of 300, 285 are expected; fewer than 245 have a chance below 1e-9


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AVG(years) FROM people", f"{MEAN} WHERE years > 3", "SELECT KURTOSIS(coalesce(years, 1)) FROM people",
        "SELECT AVG(coalesce(years, 1)) FILTER (WHERE years > 3) FROM people",
        "SELECT years > 3 AS k, AVG(coalesce(years, 1)) FROM people GROUP BY k",
        "SELECT AVG(years) FROM (SELECT coalesce(years, 1) AS years FROM people WHERE years < 5)",
        "SELECT AVG(years) FROM (SELECT coalesce(years, 1) AS years FROM people UNION ALL SELECT 1 FROM people)",
    ],
)  # fmt: skip
def test_the_number_of_rows_is_not_public(sql: str) -> None:
    for release in inside.plan_of(_session(), sql, Fraction(1)).releases:
        assert not any(isinstance(measure, AllRows) for measure in release.measures)


def test_no_number_of_rows_is_public_where_rows_come_and_go() -> None:
    by_unit: dict[str, Any] = {"privacy_unit": "years", "max_rows": 3, "bounds": {"one": (0, 1)}}
    for changed in ({"neighbours": "add_remove"}, by_unit):
        session = _session(ROWS.append_column("one", ROWS["years"]), **changed)
        sql = MEAN if "privacy_unit" not in changed else "SELECT AVG(coalesce(one, 1)) FROM people"
        (release,) = inside.plan_of(session, sql, Fraction(1)).releases
        assert not isinstance(release.measures[0], AllRows)
