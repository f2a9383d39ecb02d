"""Intervals of ranks, medians and rows that were found: they hold where the noise is as small as they allow for."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.inside import plan_of

import discreet as dp
from discreet.sql.finish import postprocess, sharper
from discreet.sql.finish.postprocess import finish
from discreet.sql.intervals.bands import banded
from discreet.sql.lower.run import NoisyIntegers

GROUPS = 30
D = "(SELECT h, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY h) AS d"
N = "(SELECT h, COUNT(*) AS n FROM visits GROUP BY h) AS d"
RANK = f"SELECT h, RANK() OVER (ORDER BY n DESC) AS v FROM {N}"


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    visits = pa.table({"u": [1], "age": [31], "h": [1]})
    with shared.protect(
        visits,
        table="visits",
        privacy_unit="u",
        max_rows=1,
        bounds={"age": (0, 100), "h": (0, GROUPS - 1)},
        budget=1,
    ) as made:
        yield made


def answered(session: dp.Session, sql: str, counts: Any) -> tuple[Any, Any, Any, Any]:
    """The values and the ends of a statement over counts; of several integers each group has the same ones."""
    plan = plan_of(session, sql, Fraction(1, 2))
    noisy = [NoisyIntegers(one, entries_of(one, counts)) for one in plan.releases]
    found = finish(plan, noisy, {}, 0.95)
    shown = found.values.column_names
    order = np.argsort(found.values.column("h").to_numpy()) if "h" in shown else np.zeros(1, int)
    low, high = found.intervals["v"]
    return found.values.column("v").to_numpy()[order], low[order], high[order], plan.releases[0]


def entries_of(release: Any, counts: Any) -> Any:
    return np.repeat(np.asarray(counts)[:, None], sum(measure.entries for measure in release.measures), 1)


def test_ranks_hold_where_all_differences_do(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    # The half-width of a difference, of all from the number of one row; ties among the true counts are frequent.
    def missed() -> int:
        rng, out, narrow = np.random.default_rng(7), 0, 0
        for _ in range(12):
            truth = rng.integers(0, 3, GROUPS) * rng.choice([1, 40], GROUPS)
            noise = rng.integers(-9, 10, GROUPS)
            _, low, high, one = answered(session, RANK, truth + noise)
            width = honest(one, "a0", 1 - 0.05 / (GROUPS - 1))
            fits = np.abs(noise[:, None] - noise).max(axis=1) <= width
            own = 1 + (truth[:, None] < truth).sum(axis=1)
            out += int((fits & ((own < low) | (own > high))).sum())
            narrow += int((fits & (high - low < GROUPS - 1)).sum())
        assert narrow > 100
        return out

    honest = banded.difference_half_width
    assert (honest(plan_of(session, RANK, Fraction(1, 2)).releases[0], "a0", 0.95) or 0) > 8
    assert missed() == 0
    # Planted fault: differences are said to err half as far as they do.
    monkeypatch.setattr(banded, "difference_half_width", lambda *of: honest(*of) / 4)  # type: ignore[operator]
    assert missed() > 0


def test_a_median_allows_for_half_of_the_groups(session: dp.Session) -> None:
    # 14 groups lead, and the median is the greatest of 16 others or less: the exact chance that one of them errs more.
    counts = np.where(np.arange(GROUPS) < GROUPS // 2 - 1, 9000, 200)
    value, low, high, one = answered(session, f"SELECT MEDIAN(n) AS v FROM {N}", counts)
    scale = float(one.scale(0))
    for beyond in (value - low, high - value):
        tail = np.exp(-(np.floor(beyond[0]) + 1) / scale) / (1 + np.exp(-1 / scale))
        assert 0.5 * 0.025 < (GROUPS // 2 + 1) * tail <= 0.025


def test_a_number_of_a_row_that_is_found_has_an_interval_of_its_own(session: dp.Session) -> None:
    # One group leads by far: its sum has the interval that 96 % gives it; two that are alike span both of theirs.
    leads = np.where(np.arange(GROUPS) == 3, 9000, 200)
    _, low, high, one = answered(session, f"SELECT arg_max(s, n) AS v FROM {D}", leads)
    noisy = NoisyIntegers(one, entries_of(one, leads))
    at = next(index for index, of in enumerate(one.aggregates) if of.quantity == "sum")
    own = postprocess.direct_ends(noisy, one.aggregates[at], np.array([3]), 0.96)
    assert (low[0], high[0]) == pytest.approx((own[0][0], own[1][0]))
    _, least, most, _ = answered(
        session, f"SELECT arg_max(s, n) AS v FROM {D}", np.where(leads > 200, 203, 200)
    )
    assert most[0] - least[0] >= high[0] - low[0]


@pytest.mark.parametrize(
    "sql",
    [f"SELECT MAX(n) - MIN(n) AS v FROM {N}", f"SELECT SUM(ABS(n)) AS v FROM {N}",
     f"SELECT SUM(n) AS v FROM (SELECT n FROM {N} ORDER BY n DESC LIMIT 5) AS e",
     f"SELECT h, n - (SELECT MAX(n) FROM {N}) AS v FROM {N}", RANK],
)  # fmt: skip
def test_they_are_sharper_than_bands_that_hold_all_together(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    counts = 200 + np.arange(GROUPS) * 3
    _, low, high, _ = answered(session, sql, counts)
    monkeypatch.setattr(sharper, "sharper_ends", lambda *of: {})
    _, least, most, _ = answered(session, sql, counts)
    assert np.mean(high - low) < 0.95 * np.mean(most - least)
