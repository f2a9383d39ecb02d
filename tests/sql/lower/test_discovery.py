"""Groups that nobody listed: found by a thresholded count of units, or not shown at all."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import BudgetExceeded, InvalidParameter, QueryRefused
from discreet.ledger import Loss

# 40 towns of 400 people each, and 300 villages of one; a person has two rows, in one place.
PEOPLE = [*(at % 40 for at in range(16_000)), *range(40, 340)]
TABLE = pa.table(
    {
        "who": np.repeat(np.arange(len(PEOPLE)), 2),
        "place": [f"place {at}" for at in PEOPLE for _ in range(2)],
        "year": np.tile([2020, 2021], len(PEOPLE)),
        "x": np.tile([1.0, 3.0], len(PEOPLE)),
    }
)
QUERY = "SELECT place, COUNT(*) AS n, AVG(x) AS x FROM data GROUP BY place ORDER BY place"
DELTA = 1e-9
"""So a village is shown in a run of a test with a probability of 300 * 1e-9 / m at most, and a town of 400 units,
whose noise would have to be below -330 at scale 6, is missed with one of 1e-20."""


def protect(budget: object = None, **policy: Any) -> dp.Session:
    """The table under a policy that grants a delta."""
    given: dict[str, Any] = {
        "privacy_unit": "who",
        "max_rows": 2,
        "bounds": {"x": (0, 4), "year": (2020, 2021)},
    }
    given |= policy
    return shared.protect(TABLE, budget=budget or dp.Budget(epsilon=100, delta=1e-6), **given)


def test_large_groups_are_found_and_single_units_are_not() -> None:
    release = protect().sql(QUERY, epsilon=1, delta=DELTA / 300)
    assert release.to_dict()["place"] == sorted(f"place {at}" for at in range(40))
    for low, high in zip(release.low["n"].to_pylist(), release.high["n"].to_pylist(), strict=True):
        assert low < 1200
        assert high > 400
    assert any("not shown" in note for note in release.notes)
    assert "delta" in release.card()


def test_the_delta_is_charged_beside_the_epsilon() -> None:
    session = protect()
    session.sql(QUERY, epsilon=1, delta="1e-9")
    assert session.ledger.spent("the data set") == Loss(1, "1e-9")
    assert session.budget.delta_left == Fraction("1e-6") - Fraction("1e-9")
    assert "delta" in repr(session.budget)


def test_public_groups_spend_no_delta() -> None:
    session = protect()
    release = session.sql("SELECT year, COUNT(*) AS n FROM data GROUP BY year", epsilon=1, delta=DELTA)
    assert release.delta == 0
    assert session.budget.delta_spent == 0


def test_without_a_delta_the_groups_are_refused() -> None:
    with pytest.raises(QueryRefused, match="give a delta"):
        protect().sql(QUERY, epsilon=1)


def test_a_budget_without_a_delta_refuses_it() -> None:
    session = protect(budget=3)
    with pytest.raises(BudgetExceeded, match="No delta is granted"):
        session.sql(QUERY, epsilon=1, delta=DELTA)
    with pytest.raises(BudgetExceeded, match="a smaller delta"):
        protect().sql(QUERY, epsilon=1, delta=0.5)
    assert session.budget.spent == 0


@pytest.mark.parametrize("delta", [1, -1e-9, "nan", True])
def test_a_delta_out_of_range(delta: object) -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        protect().sql(QUERY, epsilon=1, delta=delta)  # type: ignore[arg-type]


def test_the_same_question_is_free_and_has_the_same_groups_at_any_confidence() -> None:
    session = protect()
    first = session.sql(QUERY, epsilon=1, delta=DELTA)
    again = session.sql(QUERY, epsilon=1, delta=DELTA)
    wider = session.sql(QUERY, epsilon=1, delta=DELTA, confidence=0.99)
    assert first.values.equals(again.values)
    assert first.values.equals(wider.values)
    assert again.replayed
    assert wider.replayed
    assert wider.high["n"][0].as_py() > first.high["n"][0].as_py()
    assert session.budget.spent == 1
    assert session.sql(QUERY, epsilon=1, delta=2 * DELTA).replayed is False


def test_unknown_keys_beside_public_ones() -> None:
    query = "SELECT place, year, COUNT(*) AS n FROM data GROUP BY place, year ORDER BY place, year"
    release = protect().sql(query, epsilon=5, delta=DELTA / 300)
    assert len(release) == 80  # every public year of every town that was found
    assert set(release.to_dict()["year"]) == {2020, 2021}
    assert np.allclose(release.to_dict()["n"], 400, atol=60)


def test_several_unknown_keys_are_found_together() -> None:
    query = "SELECT place, x + year * 10 AS mixed, COUNT(*) AS n FROM data GROUP BY place, mixed"
    release = protect(bounds={}).sql(query, epsilon=5, delta=DELTA / 300)
    rows = set(zip(release.to_dict()["place"], release.to_dict()["mixed"], strict=True))
    assert rows == {(f"place {at}", mixed) for at in range(40) for mixed in (20201.0, 20213.0)}


def test_counts_of_units_are_the_counts_that_found_them() -> None:
    session = protect()
    query = "SELECT place, COUNT(DISTINCT who) AS n FROM data GROUP BY place"
    seen = session.explain(query, 1, delta=DELTA)
    assert "the integers of measure 1" in repr(seen)
    release = session.sql(query, epsilon=1, delta=DELTA / 300)
    threshold = dp.mechanisms.ThresholdedCounts(1, DELTA / 300, 2).threshold
    assert min(release.to_dict()["n"]) >= threshold
    assert len(release) == 40


def test_every_row_a_unit() -> None:
    release = protect(privacy_unit="row", max_rows=None).sql(
        "SELECT place, COUNT(*) AS n FROM data GROUP BY place", epsilon=1, delta=DELTA / 300
    )
    assert len(release) == 40


def test_groups_alone_may_be_asked_for() -> None:
    release = protect().sql("SELECT place FROM data GROUP BY place", epsilon=1, delta=DELTA / 300)
    assert len(release) == 40


def test_no_group_at_all() -> None:
    release = protect().sql(
        "SELECT place, COUNT(*) AS n, MEDIAN(x) AS x FROM data WHERE x > 3 GROUP BY place",
        epsilon=1,
        delta=DELTA,
    )
    assert len(release) == 0
    assert release.columns == ["place", "n", "x"]
    assert release.values.schema.field("n").type == pa.int64()


def test_null_is_no_group() -> None:
    table = pa.table({"who": range(1000), "place": ["a", None] * 500})
    session = shared.protect(table, privacy_unit="who", max_rows=1, budget=dp.Budget(epsilon=1, delta=1e-6))
    release = session.sql("SELECT place FROM data GROUP BY place", epsilon=1, delta=DELTA)
    assert release.to_dict() == {"place": ["a"]}


def test_fewer_groups_of_a_unit_need_fewer_units() -> None:
    session = protect(max_rows=20)
    all_of_them = session.preview(QUERY, epsilon=1, delta=DELTA)
    one = session.preview(QUERY, epsilon=1, delta=DELTA, max_groups=1)
    assert one.shown_from < all_of_them.shown_from / 10
    assert "units or more" in repr(one)
    assert one.to_dict()["shown_from"] == one.shown_from


def test_neither_preview_nor_explanation_reads_data(tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "people.parquet"
    pq.write_table(TABLE, path)
    session = shared.protect(
        path, table="data", privacy_unit="who", max_rows=2, budget=dp.Budget(epsilon=1, delta=1e-6)
    )
    path.unlink()
    query = "SELECT place, COUNT(*) AS n FROM data GROUP BY place"
    assert session.preview(query, epsilon=1, delta=DELTA).delta == Fraction("1e-9")
    assert "so its values are found" in repr(session.explain(query, 1, delta=DELTA))


def test_keys_of_groups_that_are_not_shown_never_leave_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine hands out is watched: counts for the choice, and then the keys of chosen groups."""
    seen: list[Any] = []
    keys, integers = DuckDBEngine.keys, DuckDBEngine.integers

    def watched(self: DuckDBEngine, sql: str, tables: Mapping[str, pa.Table], choose: Any) -> pa.Table:
        def look(counts: Any) -> Any:
            assert counts.dtype == np.int64
            return choose(counts)

        table = keys(self, sql, tables, look)
        seen.append(table)
        return table

    def also(self: DuckDBEngine, sql: str, tables: Mapping[str, pa.Table] = {}) -> pa.Table:
        table = integers(self, sql, tables)
        assert all(column.type == pa.int64() for column in table.itercolumns())
        return table

    monkeypatch.setattr(DuckDBEngine, "keys", watched)
    monkeypatch.setattr(DuckDBEngine, "integers", also)
    protect().sql(QUERY, epsilon=1, delta=DELTA / 300)
    (table,) = seen
    assert sorted(table.column("k0").to_pylist()) == sorted(f"place {at}" for at in range(40))


def test_the_engine_forgets_the_groups() -> None:
    engine = DuckDBEngine.open({"t": pa.table({"a": ["x", "x", "y"]})})
    sql = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"
    kept = engine.keys(sql, {}, lambda counts: np.flatnonzero(counts > 1))
    assert kept.to_pydict() == {"a": ["x"]}
    with pytest.raises(dp.errors.EngineError):
        engine.integers("SELECT n FROM __discreet_groups")


def test_roll_ups_of_unknown_keys() -> None:
    query = "SELECT place, year, COUNT(*) AS n FROM data GROUP BY ROLLUP(place, year)"
    release = protect().sql(query, epsilon=20, delta=DELTA / 300)
    assert len(release) == 1 + 40 + 80
    assert release.delta == Fraction(str(DELTA / 300))


def test_a_costly_column_does_not_starve_the_search() -> None:
    query = "SELECT place, MEDIAN(x) AS x FROM data GROUP BY place"
    (release,) = inside.plan_of(protect(), query, Fraction(1), delta=Fraction(str(DELTA))).releases
    assert release.discovery is not None
    assert release.discovery.share >= Fraction(1, 4)
    assert release.epsilon == 1
