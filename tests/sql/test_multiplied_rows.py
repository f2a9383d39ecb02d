"""Joins that repeat rows: the cap allows for all that can be where that follows, and a warning says where it does not.

The tables hold as many rows of each unit as the policy says, so a cap that follows leaves the count of DuckDB. There is
no noise and no chance of a false alarm. That the sensitivity keeps up with the cap is held by the harness of
neighbouring tables, whose sources have such joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.sql.analyze.joins import joins
from discreet.sql.analyze.joins import multiplicity as join_multiplicity
from discreet.sql.inspect import misleading, warnings
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.plan.planner import plan

RNG = np.random.default_rng(11)
PEOPLE = 60
TABLES = {
    "v": pa.table({"u": np.repeat(np.arange(PEOPLE), 3), "k": np.tile([1, 2, 3], PEOPLE),
                   "x": RNG.integers(0, 9, 3 * PEOPLE)}),
    "w": pa.table({"u": np.repeat(np.arange(PEOPLE), 2), "k": np.tile([1, 2], PEOPLE),
                   "y": RNG.integers(0, 9, 2 * PEOPLE)}),
    "one": pa.table({"u": np.arange(PEOPLE), "sex": RNG.choice(["f", "m"], PEOPLE)}),
    "pub": pa.table({"k": [1, 1, 2, 3], "year": [1, 2, 1, 1], "lo": [0, 3, 5, 7], "hi": [4, 6, 8, 9]}),
}  # fmt: skip
BOUNDED: dict[str, Any] = {"privacy_unit": "u", "max_rows": 3, "columns": {"k": {"keys": [1, 2, 3]}}}
POLICY = {
    "v": BOUNDED,
    "w": {**BOUNDED, "max_rows": 2},
    "one": {"privacy_unit": "u", "max_rows": 1, "columns": {"sex": {"keys": ["f", "m"]}}},
    "pub": {"public": True},
}
GROUPED = "(SELECT u, k, COUNT(*) AS n FROM {0} GROUP BY u, k) AS {0}"
FOLLOWS = {
    "v JOIN w ON v.u = w.u": 6,
    "v, w WHERE v.u = w.u": 6,
    "v LEFT JOIN w ON v.u = w.u": 6,
    "v JOIN one ON v.u = one.u": 3,
    "v JOIN w ON v.u = w.u AND w.y > 3": 6,
    "v JOIN v AS v2 ON v.u = v2.u JOIN w ON w.u = v.u": 18,
    "v JOIN (SELECT u, COUNT(*) AS n FROM w GROUP BY u) AS w ON v.u = w.u": 3,
    f"v JOIN {GROUPED.format('w')} ON v.u = w.u AND v.k = w.k": 3,
    f"v, {GROUPED.format('w')} WHERE v.u = w.u AND v.k = w.k": 3,
    f"v LEFT JOIN {GROUPED.format('w')} ON v.u = w.u AND v.k = w.k": 3,
    f"{GROUPED.format('v')} JOIN w ON v.u = w.u AND v.k = w.k": 2,
    f"{GROUPED.format('v')} LEFT JOIN w ON v.u = w.u AND v.k = w.k": 4,
    f"v JOIN {GROUPED.format('w')} ON v.u = w.u": 6,
    "v JOIN (SELECT DISTINCT u, k FROM w) AS w ON v.u = w.u AND w.k = v.k": 3,
    "v JOIN pub ON v.k = pub.k": 6,
    "v LEFT JOIN pub ON v.k = pub.k": 6,
    "v JOIN pub USING (k)": 6,
    "v, pub WHERE v.k = pub.k": 6,
    "v JOIN pub ON v.k = pub.k AND pub.year = 1": 3,
    "v JOIN pub ON v.k = pub.k WHERE pub.year = 1": 3,
    "v JOIN pub ON v.k = pub.k WHERE v.x > 2": 6,
    "v CROSS JOIN pub": 12,
    "v, UNNEST([1, 2]) AS n(x)": 6,
    "v JOIN w ON v.u = w.u JOIN pub ON v.k = pub.k": 12,
    "(SELECT u, COUNT(*) AS n FROM v GROUP BY u) AS v CROSS JOIN pub": 4,
}
"""Sources, and how many rows of a unit they can have."""
LOOSE = {
    "v JOIN w ON v.u = w.u AND v.k = w.k": (3, 6),
    "v JOIN w ON v.u = w.u AND v.k <= w.k": (3, 6),
    "v JOIN w ON v.u = w.u WHERE v.x > w.y": (3, 6),
    "v, pub WHERE v.x >= pub.lo AND v.x < pub.hi": (3, 12),
    "v JOIN pub ON v.x BETWEEN pub.lo AND pub.hi": (3, 12),
    "v LEFT JOIN pub ON v.x >= pub.lo": (3, 12),
    "v JOIN pub ON v.k = pub.k WHERE pub.hi > 4": (3, 6),
    "v JOIN w ON v.u = w.u AND v.k = w.k JOIN pub ON v.x >= pub.lo": (3, 24),
}
"""Sources of which nobody can tell how many rows of a unit they have: how many are kept, and how many there can be."""


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    with shared.protect(TABLES, policy=dp.Policy(budget=1000, tables=POLICY)) as opened:  # type: ignore[arg-type]
        yield opened


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with shared.plain() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        yield connection


def release_of(session: dp.Session, sql: str, **limits: int) -> PlannedRelease:
    (release,) = plan(sql, inside.catalog_of(session), Fraction(1), Limits(**limits)).releases
    return release


def counted(session: dp.Session, sql: str, **limits: int) -> int:
    return int(exact_integers(release_of(session, sql, **limits), inside.engine_of(session), 7).sum())


def truth(plain: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(plain.execute(sql).fetchall()[0][0])


# A deep run: all.
@pytest.mark.parametrize("source", few(FOLLOWS, 5))
def test_the_cap_follows(source: str, session: dp.Session, plain: duckdb.DuckDBPyConnection) -> None:
    sql = f"SELECT COUNT(*) AS n FROM {source}"
    release = release_of(session, sql)
    assert release.parts[0].cap == release.sensitivity(release.measures[0]) == FOLLOWS[source]
    assert counted(session, sql) == truth(plain, sql)
    assert not session.preview(sql, epsilon=1).warnings


@pytest.mark.parametrize("source", LOOSE)
def test_a_warning_says_where_it_does_not(
    source: str, session: dp.Session, plain: duckdb.DuckDBPyConnection
) -> None:
    sql, (kept, most) = f"SELECT COUNT(*) AS n FROM {source}", LOOSE[source]
    assert release_of(session, sql).parts[0].cap == kept
    (said,) = session.preview(sql, epsilon=1).warnings
    assert f"up to {most} rows, of which {kept} are kept" in said
    assert f"max_rows={most}" in said
    assert said in session.sql(sql, epsilon=1).warnings
    assert not session.preview(sql, epsilon=1, max_rows=most).warnings
    assert counted(session, sql, max_rows=most) == truth(plain, sql)


def test_the_warning_stands_beside_those_of_a_choice(session: dp.Session) -> None:
    sql = f"SELECT v.k, COUNT(*) AS n FROM {next(iter(LOOSE))} GROUP BY v.k ORDER BY n DESC LIMIT 1"
    said = session.sql(sql, epsilon=1).warnings
    assert len(said) == 2
    assert "max_rows=6" in said[0]


def test_one_row_for_each_unit_is_never_cut(session: dp.Session) -> None:
    sql = "SELECT AVG(least(n, 9)) AS n FROM (SELECT v.u, COUNT(*) AS n FROM v JOIN w ON v.u = w.u AND v.k = w.k "
    assert not session.preview(f"{sql}GROUP BY v.u)", epsilon=1).warnings


def test_a_join_multiplies_rows_and_not_groups(session: dp.Session) -> None:
    groups = {
        "SELECT v.k, COUNT(DISTINCT v.u) AS n FROM v JOIN w ON v.u = w.u GROUP BY v.k": 3,
        "SELECT w.k, COUNT(DISTINCT v.u) AS n FROM v JOIN w ON v.u = w.u GROUP BY w.k": 2,
        "SELECT w.k, v.k AS j, COUNT(DISTINCT v.u) AS n FROM v JOIN w ON v.u = w.u GROUP BY w.k, v.k": 6,
        "SELECT sex, COUNT(DISTINCT v.u) AS n FROM v JOIN one ON v.u = one.u GROUP BY sex": 1,
        "SELECT year, COUNT(DISTINCT v.u) AS n FROM v JOIN pub ON v.k = pub.k GROUP BY year": 2,
        "SELECT v.k, COUNT(DISTINCT v.u) AS n FROM v CROSS JOIN pub GROUP BY v.k": 3,
    }
    for sql, cap in groups.items():
        assert release_of(session, sql).parts[0].cap == cap, sql


def test_where_each_row_is_one_unit_it_counts_as_often_as_it_is_repeated() -> None:
    rows: Any = {"privacy_unit": "row", "columns": BOUNDED["columns"]}
    declared: Any = {"budget": 10, "tables": {"v": rows, "pub": {"public": True}}}
    sources = {"v JOIN pub ON v.k = pub.k": 2, "v JOIN pub ON v.x >= pub.lo": 4, "v CROSS JOIN pub": 4}
    one = pa.table({"u": [1], "k": [1], "x": [8]})
    with shared.protect({**TABLES, "v": one}, policy=dp.Policy(**declared)) as opened:
        for source, times in sources.items():
            sql = f"SELECT COUNT(*) AS n FROM {source}"
            release = release_of(opened, sql)
            assert counted(opened, sql) == release.sensitivity(release.measures[0]) == times
            assert not opened.preview(sql, epsilon=10).warnings  # nothing is cut


def test_caps_that_no_noise_could_cover_are_not_raised() -> None:
    tables = {"v": {**BOUNDED, "max_rows": 10**9}, "pub": {"public": True}}
    declared: Any = {"budget": 9, "tables": tables}
    with shared.protect({"v": TABLES["v"], "pub": TABLES["pub"]}, policy=dp.Policy(**declared)) as opened:
        answer = opened.sql("SELECT COUNT(*) AS n FROM v JOIN v AS o ON v.u = o.u", epsilon=1)
        assert "1,000,000,000 are kept" in answer.warnings[0]


def test_rows_that_are_cut_in_silence_are_caught(
    session: dp.Session, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def largest(left: Any, right: Any, *_: object) -> tuple[int, bool, int]:
        return max(left.rows.max_rows, right.rows.max_rows), False, 1

    sql = f"SELECT COUNT(*) AS n FROM {next(iter(FOLLOWS))}"
    with monkeypatch.context() as patched:
        patched.setattr(joins, "pairs_of", largest)
        assert counted(session, sql) < truth(plain, sql)
        patched.setattr(join_multiplicity, "_most_partners", lambda *_: 1)
        sql = "SELECT COUNT(*) AS n FROM v CROSS JOIN pub"
        assert counted(session, sql) < truth(plain, sql)
    for module in (warnings, misleading):
        monkeypatch.setattr(module, "cut_joins", lambda _: ())
    with (
        shared.protect(TABLES, policy=dp.Policy(budget=1000, tables=POLICY)) as unasked,  # type: ignore[arg-type]
        pytest.raises(ValueError, match="unpack"),
    ):
        test_a_warning_says_where_it_does_not(next(iter(LOOSE)), unasked, plain)
