"""The Bernstein basis in integers: the vector of a row is non-negative with the sum R, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from tests.depth import few
from tests.sql.extremes import connection

from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.measures import bernstein

DEGREES = range(1, bernstein.MOST_DEGREE + 1)


def vectors(r: int, degree: int, values: str) -> list[tuple[int, ...]]:
    """T and its vector without b0, for some values of t."""
    items = ", ".join(bernstein.integers("t", r, degree, DUCKDB))
    return (
        connection()
        .execute(f"SELECT t, {items} FROM (SELECT CAST(unnest({values}) AS BIGINT) AS t)")
        .fetchall()
    )


def faults(r: int, degree: int, values: str) -> list[int]:
    """The values whose vector is not what the proof says."""
    out = []
    for t, *rest in vectors(r, degree, values):
        own = [
            Fraction(comb(degree, k) * t**k * (r - t) ** (degree - k), r ** (degree - 1))
            for k in range(1, degree + 1)
        ]
        rounded = all(0 <= exact - given < 13 for exact, given in zip(own, rest, strict=True))
        if min(rest) < 0 or sum(rest) > r or not rounded:
            out.append(t)
    return out


@pytest.mark.parametrize("degree", DEGREES)
def test_every_vector_of_small_grids_is_non_negative_with_the_sum_r(degree: int) -> None:
    for r in (*few(range(1, 33), 5), 100, 255, 256):  # a deep run: every grid up to 32
        assert faults(r, degree, f"range({r + 1})") == []


@pytest.mark.parametrize("degree", DEGREES)
def test_so_it_is_on_the_finest_grid_with_no_overflow(degree: int) -> None:
    r = 2**30
    assert (
        faults(r, degree, f"list_concat(range(0, {r}, {r // 4099}), [{r}, {r - 1}, {r // 2}, {r // 2 + 1}])")
        == []
    )


def test_a_binomial_that_is_too_large_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = bernstein.integers
    monkeypatch.setattr(bernstein, "integers", lambda *a: [one.replace("6 *", "7 *") for one in real(*a)])
    assert faults(64, 4, "range(65)")


def test_powers_are_those_of_the_variable() -> None:
    for degree in DEGREES:
        for of in range(degree + 1):
            r = 2**20
            for t, *rest in vectors(r, degree, f"range(0, {r}, {r // 7})"):
                got = bernstein.power(degree, of) @ [r - sum(rest), *rest] / r
                assert abs(got - (t / r) ** of) < 1e-4
