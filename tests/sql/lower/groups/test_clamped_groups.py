"""On PostgreSQL a key within bounds is clamped by group: the integers are those of a clamp on every row."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, servers, shared

import discreet as dp
from discreet.sql.expressions.expression import leaves
from discreet.sql.lower import compile as compiling
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.groups import clamped_groups, group_numbers
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.plan import PlannedRelease

LEAST, MOST = -(2**63), 2**63 - 1
KEYS = [None, LEAST, -5, -1, 0, 1, 2, 3, 4, 2**31, MOST]
TABLE = pa.table({
    "g": pa.array([KEYS[row % len(KEYS)] for row in range(330)], pa.int64()),
    "h": pa.array([row % 9 - 3 if row % 5 else None for row in range(330)], pa.int32()),
    "x": [None if row % 7 == 0 else float(row % 13) for row in range(330)],
    "c": ["a" if row % 2 else "b" for row in range(330)],
    "u": [row // 4 for row in range(330)],
})  # fmt: skip
POLICY = {"bounds": {"g": (0, 3), "h": (-2, 2), "x": (0, 10)}, "keys": {"c": ["a", "b"]}, "budget": 9}
MERGED = [
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT g, COUNT(x) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY g",
    "SELECT h, COUNT(*) AS n, STDDEV(x) AS s FROM t WHERE x < 5 AND h > -1 GROUP BY h",
    "SELECT g, SUM(g) AS s FROM t WHERE g < 2 GROUP BY g",
]
"""Questions whose rows are summed by the stored key."""
DISTINCT = "SELECT g, COUNT(DISTINCT c) AS n FROM t GROUP BY g"
OTHERS = [
    DISTINCT,
    "SELECT g, MEDIAN(x) AS m FROM t GROUP BY g",
    "SELECT g, CORR(x, h) AS r FROM t GROUP BY g",
    "SELECT g, MIN(x) AS m FROM t GROUP BY g",
    "SELECT g, COUNT(*) AS n FROM (SELECT g, x + 1 AS y FROM t) WHERE y > 3 GROUP BY g",
    "SELECT g, c, COUNT(*) AS n FROM t GROUP BY g, c",
    "SELECT c, COUNT(*) AS n FROM t GROUP BY c",
    "SELECT g + 1 AS k, COUNT(*) AS n FROM t GROUP BY g + 1",
    "SELECT COUNT(*) AS n FROM t",
]
"""Questions whose rows are not."""


@pytest.fixture(scope="module")
def place() -> str:
    return servers.load(servers.postgres(), "clamped_groups", {"t": TABLE})["t"]


@pytest.fixture(scope="module")
def session(place: str) -> Iterator[dp.Session]:
    with shared.protect({"t": place}, privacy_unit="row", **POLICY) as session:
        yield session


def planned(session: dp.Session, sql: str) -> PlannedRelease:
    (release,) = inside.plan_of(session, sql, Fraction(1)).releases
    release.memo.clear()
    return release


def same(session: dp.Session, sql: str) -> bool:
    """Whether the fastest words give the integers of the portable ones."""
    engine = inside.engine_of(session)
    quick, plain = (
        exact_integers(planned(session, sql), engine, 5, portable=portable) for portable in (False, True)
    )
    return np.array_equal(quick, plain)


def merged(release: PlannedRelease, dialect: str = "postgres", quick: bool = True) -> bool:
    return "AS stored" in compile_part(release, 0, dialect, 5, quick=quick).sql


@pytest.mark.parametrize("sql", [*MERGED, *OTHERS])
def test_the_integers_are_those_of_a_clamp_on_every_row(session: dp.Session, sql: str) -> None:
    assert merged(planned(session, sql)) == (sql in MERGED)
    assert same(session, sql)


def test_identities_and_other_engines_know_nothing_of_it(session: dp.Session) -> None:
    release = planned(session, MERGED[1])
    assert not merged(release, quick=False)
    assert not any(merged(release, dialect) for dialect in ("duckdb", "spark", "clickhouse"))


def test_a_column_of_the_name_of_a_stored_one_is_not_mistaken_for_it() -> None:
    """Nobody can name it in a question, but it is there."""
    table = TABLE.select(["g", "h"]).rename_columns(["g", "__stored_g"])
    place = servers.load(servers.postgres(), "clamped_raw", {"t": table})["t"]
    with shared.protect({"t": place}, privacy_unit="row", bounds={"g": (0, 3)}, budget=9) as session:
        assert not merged(planned(session, MERGED[0]))
        assert same(session, MERGED[0])


def test_rows_of_a_unit_are_chosen_by_the_clamped_key(place: str) -> None:
    with shared.protect({"t": place}, privacy_unit="u", max_rows=3, **POLICY) as session:
        assert not merged(planned(session, MERGED[1]))


BOUNDED = {
    "one within bounds": (POLICY, "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g", True),
    "two of three, one of them a text": (POLICY, "SELECT g, c, h, SUM(x) AS s FROM t GROUP BY g, c, h", True),
    "computed": (POLICY, "SELECT g + h AS k, COUNT(*) AS n FROM t WHERE x < 9 GROUP BY g + h", True),
    "some of its values": (POLICY, "SELECT g, COUNT(*) AS n FROM t WHERE g IN (1, 2) GROUP BY g", False),
    "listed": ({"keys": {"h": [0, 1]}, "bounds": {"x": (0, 10)}, "budget": 9},
               "SELECT h, SUM(x) AS s FROM t GROUP BY h", False),
}  # fmt: skip
"""Questions where rows of a unit are bounded, and whether all their keys but NULL are public for certain."""


def asked_of_groups(session: dp.Session, sql: str) -> bool:
    """Whether groups are asked whether their key is public, instead of rows."""
    return "WHERE g.k0 BETWEEN" in compile_part(planned(session, sql), 0, "postgres", 5, quick=True).sql


@pytest.mark.parametrize("name", BOUNDED)
def test_a_row_whose_key_is_clamped_is_not_asked_again(
    place: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, sql, clamped = BOUNDED[name]
    with shared.protect({"t": place}, privacy_unit="u", max_rows=2, **policy) as session:
        assert asked_of_groups(session, sql) == clamped
        integers = exact_integers(planned(session, sql), inside.engine_of(session), 5)
        monkeypatch.setattr(compiling, "clamped_axes", lambda *_: [])
        assert not asked_of_groups(session, sql)
        assert np.array_equal(integers, exact_integers(planned(session, sql), inside.engine_of(session), 5))


@pytest.mark.parametrize("asked", [True, False])
def test_a_key_outside_enters_no_group_where_a_span_is_wrong(
    place: str, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    """A unit has four rows, so none is dropped; without the question to the groups the planted fault is seen."""
    policy, sql, _ = BOUNDED["listed"]

    def all_ranges(release: PlannedRelease, *_: Any) -> Any:
        return [(number,) for number, key in enumerate(release.keys) if key.range()]

    def numbering(*args: Any) -> Any:
        tables, items, joins, ranges = group_numbers.numbering(*args)
        return tables, items, joins, ranges if asked else []

    with shared.protect({"t": place}, privacy_unit="u", max_rows=4, **policy) as session:
        integers = exact_integers(planned(session, sql), inside.engine_of(session), 5)
        monkeypatch.setattr(compiling, "clamped_axes", all_ranges)
        monkeypatch.setattr(compiling, "numbering", numbering)
        try:
            found = exact_integers(planned(session, sql), inside.engine_of(session), 5)
        except (IndexError, dp.errors.DiscreetError):
            assert not asked
        else:
            assert np.array_equal(integers, found) == asked


def test_a_sum_of_groups_that_do_not_add_up_would_be_seen(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clamped_groups, "_adds_up", lambda _: True)
    assert merged(planned(session, DISTINCT))
    assert not same(session, DISTINCT)


def test_a_key_that_is_not_clamped_would_be_seen(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unclamped(groups: str, key: Any, entries: int, dialect: Any) -> str:
        (stored,) = set(leaves(key))
        return clamped_groups.added_up(groups, stored, entries, dialect)

    monkeypatch.setattr("discreet.sql.lower.compile.added_up", unclamped)
    assert not same(session, MERGED[0])
