"""Bounds that follow from max_rows are derived, enforced by clamping, and no wider or narrower than they should be."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.analyze.units import aggregates as unit_aggregates
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.planner import plan

BOUNDS = {"a": (2, 9), "b": (-1, 4)}
QUESTIONS = {
    # question -> the greatest and the least that a unit of 2 rows can have
    "SELECT SUM(s) AS t FROM (SELECT u, SUM(a) AS s FROM data GROUP BY u) AS v": (0, 18),
    "SELECT SUM(s) AS t FROM (SELECT u, SUM(b) AS s FROM data GROUP BY u) AS v": (-2, 8),
    "SELECT SUM(n) AS t FROM (SELECT u, COUNT(*) AS n FROM data GROUP BY u) AS v": (1, 2),
    "SELECT SUM(n) AS t FROM (SELECT u, COUNT(w) AS n FROM data GROUP BY u) AS v": (0, 2),
    "SELECT SUM(n) AS t FROM (SELECT u, COUNT(*) FILTER (WHERE w > 1) AS n FROM data GROUP BY u) AS v": (0, 2),
    "SELECT SUM(s) AS t FROM (SELECT u, SUM(a > 3) AS s FROM data GROUP BY u) AS v": (0, 2),
    "SELECT SUM(s + 1) AS t FROM (SELECT u, SUM(a) AS s FROM data GROUP BY u) AS v": (1, 19),
    "SELECT SUM(s) AS t FROM (SELECT * FROM (SELECT u, SUM(a) AS s FROM data GROUP BY u) WHERE s > 0)": (0, 18),
}  # fmt: skip


def table(rows_of_two: int) -> pa.Table:
    """Unit 1 with two rows of plain values, and unit 2 with as many rows as is said, of great ones."""
    size = 2 + rows_of_two
    return pa.table(
        {"u": [1, 1] + [2] * rows_of_two, "a": [3] * 2 + [9] * rows_of_two, "b": [1.0] * 2 + [4.0] * rows_of_two,
         "w": [7] * size}
    )  # fmt: skip


def session(rows_of_two: int) -> dp.Session:
    return shared.protect(table(rows_of_two), privacy_unit="u", max_rows=2, bounds=BOUNDS, budget=10)


def moved(question: str) -> tuple[int, int]:
    """By how many steps a unit of 50 rows moves the exact sum, and by how many it is said to move it at most."""
    sums = []
    for rows in (0, 50):
        with session(rows) as opened:
            (release,) = plan(question, inside.catalog_of(opened), Fraction(1)).releases
            sums.append(int(exact_integers(release, inside.engine_of(opened), 7)[0, 0]))
            most = release.sensitivity(release.measures[0])
    return abs(sums[1] - sums[0]), int(most)


# A deep run: all.
@pytest.mark.parametrize("question", few(QUESTIONS, 4))
def test_the_bounds_follow_and_are_kept(question: str) -> None:
    lo, hi = QUESTIONS[question]
    with session(2) as opened:
        assert f"clamped to {lo} … {hi} on" in repr(opened.explain(question)).replace("\u2212", "-")
    change, most = moved(question)
    assert 0 < change <= most


@pytest.mark.parametrize(
    ("window", "ends"),
    [
        ("SUM(a) OVER (PARTITION BY u) AS s FROM data", "0 … 18"),
        ("COUNT(*) OVER (PARTITION BY u) AS s FROM data", "1 … 2"),
        (
            "s, COUNT(*) OVER (PARTITION BY u) AS n FROM (SELECT u, SUM(a) AS s FROM data GROUP BY u) AS p",
            "0 … 18",
        ),
    ],
)
def test_they_follow_through_windows(window: str, ends: str) -> None:
    with session(2) as opened:
        assert f"clamped to {ends} on" in repr(
            opened.explain(f"SELECT SUM(s) FROM (SELECT u, {window}) AS v")
        )


def test_bounds_that_are_only_believed_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    question = next(iter(QUESTIONS))
    before = moved(question)
    monkeypatch.setattr(unit_aggregates, "of_sum", lambda span, step, rows: (Fraction(0), Fraction(1000)))
    assert moved(question) != before


@pytest.mark.parametrize(
    "question",
    [
        "SELECT SUM(s) FROM (SELECT u, SUM(w) AS s FROM data GROUP BY u) AS v",  # w has no bounds itself
        "SELECT SUM(s * 2) FROM (SELECT u, MAX(w) AS s FROM data GROUP BY u) AS v",
    ],
)
def test_where_nothing_follows_it_is_refused(question: str) -> None:
    with session(2) as opened, pytest.raises(QueryRefused, match="no bounds"):
        opened.preview(question, 1)


def test_bounds_that_are_given_count() -> None:
    with session(2) as opened:
        shown = repr(
            opened.explain("SELECT SUM(clamp(s, 0, 5)) FROM (SELECT u, SUM(a) AS s FROM data GROUP BY u)")
        )
    assert "clamped to 0 … 5 on" in shown
