"""Intervals of rows that nothing visible names, of whole numbers, and at high confidence.

Noise is drawn around known integers, so that nothing depends on an engine. A coverage of 95 % of n intervals is below
0.95 - 6.5 sqrt(0.95 0.05/n) less than once in 10^9.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import deep

import discreet as dp
from discreet import arrow
from discreet.noise import laplace
from discreet.sql.finish.postprocess import AnswerColumns, around, finish
from discreet.sql.intervals import closed_form
from discreet.sql.intervals.row_identity import Identified, identified
from discreet.sql.intervals.simulation import simulated
from discreet.sql.lower.run import NoisyIntegers

LISTED = "WITH r AS (SELECT h, a, COUNT(*) AS n FROM data GROUP BY h, a)"
UNNAMED = {
    "top": f"{LISTED} SELECT h, n AS v FROM r ORDER BY n DESC LIMIT 1",
    "window": f"{LISTED} SELECT h, n AS v FROM r QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) = 1",
    "first of each": f"{LISTED} SELECT a, n AS v FROM r QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY n DESC) = 1",
    "having": f"{LISTED[:-1]} HAVING COUNT(*) > 1500) SELECT h, n AS v FROM r",
    "join": f"{LISTED} SELECT r.h, r.n + 0 * s.n AS v FROM r JOIN r AS s ON r.h = s.h AND r.a = s.a "
    "ORDER BY v DESC LIMIT 1",
    "no key at all": f"{LISTED} SELECT n AS v FROM r",
    "sets": "SELECT n AS v FROM (SELECT h, a, COUNT(*) AS n FROM data GROUP BY GROUPING SETS ((h, a))) AS g",
    "all sides": f"{LISTED} SELECT h, n AS v FROM r UNION ALL SELECT h, n FROM r WHERE a = 1",
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    """100 groups of 20 times 5."""
    with shared.protect(
        pa.table({"h": [1], "a": [1], "x": [1]}),
        privacy_unit="row",
        budget=1,
        bounds={"h": (0, 19), "a": (0, 4), "x": (0, 9)},
    ) as made:
        yield made


def answered(
    session: dp.Session, sql: str, truth: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> AnswerColumns:
    """An answer with scale 2."""
    plan = inside.plan_of(session, sql, Fraction(len(inside.plan_of(session, sql, Fraction(1)).releases), 2))
    noisy = [
        NoisyIntegers(one, (truth + laplace(one.scale(0), len(truth)))[:, np.newaxis])
        for one in plan.releases
    ]
    return finish(plan, noisy, {}, 0.95)


# A deep run: all; those hide the number of the group as these do.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ("top", "having", "all sides") else deep) for name in UNNAMED],
)
def test_rows_that_nothing_visible_names_have_their_own_interval(session: dp.Session, name: str) -> None:
    """The groups lie 100 apart and noise of scale 2 stays within 50, so each truth is that of the nearest group."""
    truth = 100 * np.arange(100)
    held = shown = 0
    for _ in range(2 if name == "join" else 10):
        answer = answered(session, UNNAMED[name], truth)
        low, high = answer.intervals["v"]
        values = arrow.numbers(answer.values.column("v").cast(pa.float64()))
        assert ((low <= values) & (values <= high) & (high - low < 80)).all()
        own = 100 * np.round(values / 100)
        held += int(((low <= own) & (own <= high)).sum())
        shown += len(values)
    assert held / shown >= 0.95 - 6.5 * np.sqrt(0.95 * 0.05 / shown)


def test_rows_told_apart_by_what_is_shown_are_found(
    session: dp.Session,
) -> None:
    """The fault: the row of an answer is taken to be every row of a draw that has the same key."""
    plan = inside.plan_of(
        session, f"{LISTED} SELECT h, 2 * n AS v FROM r ORDER BY n DESC LIMIT 1", Fraction(1, 2)
    )
    noisy = [NoisyIntegers(plan.releases[0], 100 * np.arange(100)[:, np.newaxis])]
    values = pa.table({"h": [19], "v": [19800]})

    def ends(told: Identified, rows: pa.Table) -> tuple[float, float]:
        found, _ = simulated.simulated_intervals(plan, noisy, {}, values, told, rows, ["v"], 0.95)
        return float(found["v"][0][0]), float(found["v"][1][0])

    own = identified(plan.post, [plan.releases[0].name], {})
    assert own is not None
    low, high = ends(own, pa.table({own.ids[0]: [99]}))
    assert 19700 < low < 19800 < high < 19900
    low, high = ends(Identified(own.post, ("h",)), pa.table({"h": [19]}))
    assert not low < 19800 < high


def test_ends_are_in_order_around_the_value() -> None:
    own = np.array([5.0, 5.0, 9.0, np.nan, 5.0])
    low, high = around(own, (np.array([7.0, 4, 1, np.nan, -np.inf]), np.array([3.0, 6, 2, np.nan, np.inf])))
    assert low.tolist()[:3] == [3, 4, 1]
    assert high.tolist()[:3] == [7, 6, 9]
    assert np.isnan([low[3], high[3]]).all()
    assert (low[4], high[4]) == (-np.inf, np.inf)


WHOLE = {
    "division": "SELECT h, a, COUNT(*) // 7 AS v FROM data GROUP BY h, a",
    "remainder": "SELECT h, a, COUNT(*) // 3 + COUNT(*) % 3 AS v FROM data GROUP BY h, a",
    "sum": f"{LISTED} SELECT h, SUM(n // 7) AS v FROM r GROUP BY h",
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_stay_whole_in_draws(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The fault: draws are doubles, of which `//` and `%` make no whole numbers, and which are never equal."""

    def ends() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return np.stack(answered(session, WHOLE[name], np.full(100, 100)).intervals["v"])

    right = ends()
    assert (right == np.rint(right)).all()
    truth = {"division": 14, "remainder": 34, "sum": 70}[name]
    held = (right[0] <= truth) & (truth <= right[1])
    assert held.mean() >= 0.95 - 6.5 * np.sqrt(0.95 * 0.05 / len(held))
    if name != "division":  # which is made of one number, and not drawn
        monkeypatch.setattr(simulated, "_as_answered", lambda values, whole: arrow.column(values))
        wrong = ends()
        assert (wrong != np.rint(wrong)).any()


@pytest.mark.parametrize("sql", [
    f"{LISTED} SELECT COUNT(DISTINCT n) AS v FROM r",
    f"{LISTED} SELECT h, a, DENSE_RANK() OVER (ORDER BY n) AS v FROM r",
])  # fmt: skip
def test_ties_are_possible(session: dp.Session, sql: str) -> None:
    """All groups lie within 8 of each other, less than the width of any band at scale 2: all may be equal."""
    plan = inside.plan_of(session, sql, Fraction(1, 2))
    noisy = [NoisyIntegers(one, 100 + np.arange(100)[:, np.newaxis] % 9) for one in plan.releases]
    low, _ = finish(plan, noisy, {}, 0.95).intervals["v"]
    assert (low == 1).all()


@pytest.mark.parametrize("sql", [
    "SELECT h, a, COUNT(*) / (1 + COUNT(*)) AS v FROM data GROUP BY h, a",
    pytest.param(f"{LISTED} SELECT h, a, n / SUM(n) OVER () AS v FROM r", marks=deep),  # drawn as the next one is
    f"{LISTED} SELECT h, MAX(n) AS v FROM r GROUP BY h",
])  # fmt: skip
def test_a_higher_confidence_has_a_wider_interval(session: dp.Session, sql: str) -> None:
    """8,000 draws at 99.9 %, 4 beyond each end: wider than the 100 of 4,000 that are beyond it at 95 %."""
    plan = inside.plan_of(session, sql, Fraction(1, 2))
    noisy = [NoisyIntegers(one, np.full((100, len(one.measures)), 100)) for one in plan.releases]
    ends = [finish(plan, noisy, {}, confidence).intervals["v"] for confidence in (0.8, 0.95, 0.99, 0.999)]
    for (low, high), (lower, higher) in pairwise(ends):
        assert ((lower <= low) & (high <= higher)).all()
        assert (higher - lower > high - low).any()
    assert closed_form.needed(0.999) == 8000


@pytest.mark.parametrize("rest", ["", " ORDER BY s DESC LIMIT 2"])
def test_a_sum_beyond_64_bits_lies_in_its_interval(rest: str) -> None:
    people = pa.table({"x": [2**61 + 1] * 150, "k": ["a", "b", "c"] * 50})
    with shared.protect(
        people, privacy_unit="row", bounds={"x": (0, 2**62)}, keys={"k": ["a", "b", "c"]}, budget=9
    ) as session:
        answer = session.sql(f"SELECT k, SUM(x) AS s FROM data GROUP BY k{rest}", 1).to_dict()
    for low, value, high in zip(answer["s_low"], answer["s"], answer["s_high"], strict=True):
        assert low <= value <= high


@pytest.mark.parametrize(("levels", "known"), [(6, True), (9, False), (40, False)])
def test_a_query_that_is_joined_with_itself_again_and_again_gets_no_identity(
    session: dp.Session, levels: int, known: bool
) -> None:
    """Its hidden columns double with each level: twenty of them filled the memory of a service, for nothing."""
    steps = [
        f"c{at + 1} AS (SELECT a.h, a.n FROM c{at} AS a JOIN c{at} AS b ON a.h = b.h)" for at in range(levels)
    ]
    first = "c0 AS (SELECT h, COUNT(*) AS n FROM data GROUP BY h)"
    plan = inside.plan_of(
        session, f"WITH {', '.join([first, *steps])} SELECT h, n FROM c{levels}", Fraction(1)
    )
    found = identified(plan.post, [plan.releases[0].name], {})
    assert (found is not None) is known


def test_an_answer_whose_draws_are_nested_too_deeply_has_no_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was charged, and its values are there."""
    table = pa.table({"h": [0, 1] * 50})
    sql = "WITH r AS (SELECT h, COUNT(*) AS n FROM data GROUP BY h) SELECT MAX(n) - MIN(n) AS v FROM r"

    def too_deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(simulated, "simulated_intervals", too_deep)
    with shared.protect(table, privacy_unit="row", keys={"h": [0, 1]}, budget=1) as session:
        release = session.sql(sql, epsilon=1)
        assert release.values.num_rows == 1
        assert not list(release.low)
        assert session.budget.spent == 1
        assert session.sql(sql, epsilon=1).values.equals(release.values)
