"""Keys as axes: independent ones, partitions within partitions, and the value more of rows that have none."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from benchmarks.corpus.judge import silence
from tests import shared
from tests.inside import plan_of
from tests.sql.plan.workloads.test_together import protect

import discreet as dp
from discreet.sql.plan.plan import JointWorkload


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return protect()


def workload(session: dp.Session, keys: str) -> JointWorkload | None:
    """Of `GROUP BY <keys>`; columns g and h are the age by fours and by eights."""
    sql = f"SELECT COUNT(*) AS n FROM (SELECT *, age // 4 AS g, age // 8 AS h, age // 3 AS d FROM data) GROUP BY {keys}"
    found = plan_of(session, sql, Fraction(1)).workloads
    return found[0] if found else None


@pytest.mark.parametrize(
    ("keys", "sizes"),
    [
        ("ROLLUP (sex, age)", (2, 16)),
        ("ROLLUP (g, age)", (4, 4)),
        ("ROLLUP (h, g, age)", (2, 2, 4)),
        ("ROLLUP (h, age), sex", (2, 8, 2)),
        ("GROUPING SETS ((age, g, sex), (g), ())", (4, 4, 2)),
        ("ROLLUP (d, age)", None),  # the last of its groups is smaller
        ("CUBE (g, age)", None),  # the age alone is within nothing
    ],
)
def test_the_axes_of_keys(session: dp.Session, keys: str, sizes: tuple[int, ...] | None) -> None:
    found = workload(session, keys)
    assert (None if found is None else sorted(found.sizes)) == (None if sizes is None else sorted(sizes))


def test_what_is_within_is_measured_with_it_only(session: dp.Session) -> None:
    found = workload(session, "ROLLUP (h, g, age), sex")
    assert found is not None
    for _, marginal in found.marginals:
        names = {str(key.expression) for key in marginal.keys}
        assert len(names) == len(marginal.keys)
        cells = 1
        for size in {len(key.values) for key in marginal.keys}:
            cells *= size
        assert marginal.cells == cells


@pytest.mark.parametrize(("key", "more"), [("sex", 1), ("age > 3", 0), ("age", 1)])
def test_rows_without_a_public_value_have_a_place_of_their_own(
    session: dp.Session, key: str, more: int
) -> None:
    sql = f"SELECT 'all' AS k, COUNT(*) AS n FROM data UNION ALL SELECT 'one', COUNT(*) FROM data GROUP BY {key}"
    plan = plan_of(session, sql, Fraction(1))
    (found,) = plan.workloads
    shown = plan.releases[1].cells
    assert found.sizes == (shown + more,)
    assert not found.closed


def test_rows_of_unlisted_values_are_in_the_totals_where_null_is_a_group() -> None:
    """A listed 2 is NULL, and an unlisted 3 is no group, but a row of the other table."""
    table = pa.table({"a": [1, 2, 3, 3, None], "b": [0, 0, 0, 1, 1]})
    asked = "SELECT b, COUNT(*) AS n FROM data GROUP BY b UNION ALL SELECT NULLIF(a, 2), COUNT(*) FROM data GROUP BY 1"
    with (
        shared.protect(table, privacy_unit="row", budget=9, keys={"a": [1, 2], "b": [0, 1]}) as made,
        silence(),
    ):
        assert made.sql(asked, 1)["n"] == [3, 2, 1, 2]
