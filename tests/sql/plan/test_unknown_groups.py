"""Groups that are found: where COUNT(*) is the count of units, one draw of noise finds the groups and counts them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.sql.plan.limits import NO_LIMITS, Limits
from discreet.sql.plan.planner import plan
from discreet.sql.plan.unknown_groups import once_each

QUESTION = "SELECT code, COUNT(*) AS n FROM visits GROUP BY code"
ROWS = pa.table({"person": [at // 3 for at in range(6000)], "code": [at % 7 for at in range(6000)]})
ONCE = Limits(max_groups=3, max_rows_per_group=1)


def session(max_rows: int = 3) -> dp.Session:
    return shared.protect(
        {"visits": ROWS},
        privacy_unit="person",
        max_rows=max_rows,
        budget=dp.Budget(epsilon=10**6, delta="0.1"),
    )


def counting(question: str, limits: Limits, max_rows: int = 3) -> tuple[int | None, tuple[Fraction, ...]]:
    catalog = session(max_rows)._queries.catalog
    release = plan(question, catalog, Fraction(1), limits, Fraction(1, 10**6)).releases[0]
    assert release.discovery is not None
    return release.discovery.measure, release.shares


def test_one_row_in_a_group_is_one_unit_so_that_the_count_finds_the_groups() -> None:
    assert counting(QUESTION, ONCE) == (0, (Fraction(1),))
    assert counting(QUESTION, NO_LIMITS) == (None, (Fraction(1, 2),))
    assert counting(QUESTION, Limits(max_rows_per_group=2)) == (None, (Fraction(1, 2),))
    # So many groups as are asked for would be more rows than are kept.
    assert counting(QUESTION, ONCE, max_rows=2)[0] is None


def test_the_count_beside_an_average_keeps_its_share() -> None:
    question = "SELECT code, COUNT(*) AS n, AVG(person) AS mean FROM visits GROUP BY code"
    rows = pa.table({"person": [1], "code": [2], "x": [3]})
    with_bounds = shared.protect(
        {"visits": rows}, privacy_unit="person", max_rows=3, bounds={"x": (0, 9)},
        budget=dp.Budget(epsilon=9, delta="0.1"),
    )  # fmt: skip
    catalog = with_bounds._queries.catalog
    release = plan(
        question.replace("AVG(person)", "AVG(x)"), catalog, Fraction(1), ONCE, Fraction(1, 10**6)
    ).releases[0]
    assert release.discovery is not None
    assert release.discovery.measure is None


def test_the_numbers_are_those_of_units() -> None:
    # Persons of three rows with codes that follow each other: each code is one of a person's once at most.
    truth = Counter(zip(ROWS["person"].to_pylist(), ROWS["code"].to_pylist(), strict=True))
    units = Counter(code for _, code in truth)
    told = session().sql(QUESTION, epsilon=1000, delta=1e-6, max_groups=3, max_rows_per_group=1).to_dict()
    # Noise of scale 3/1000 rounds to nothing but with a chance of e^-333.
    assert dict(zip(told["code"], told["n"], strict=True)) == units


def test_a_reading_that_takes_rows_for_units_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the limit is passed over, so that several rows of a person are one."""
    monkeypatch.setattr(
        "discreet.sql.plan.reading.once_each", lambda chosen, release, _: once_each(chosen, release, 1)
    )
    with pytest.raises(AssertionError):
        test_one_row_in_a_group_is_one_unit_so_that_the_count_finds_the_groups()
