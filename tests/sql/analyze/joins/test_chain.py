"""Public tables of a list are joined along their equalities, so that the order of the list decides nothing."""

from __future__ import annotations

from itertools import permutations

import pytest
from benchmarks.corpus.judge import difference
from tests import inside
from tests.sql.fuzz import bench

from discreet.sql.analyze.joins.chain import Chain
from discreet.sql.plan.planner import plan

WHERE = "t.city = shops.city AND shops.shop = kinds.kind AND t.educ > 0"
KINDS = "(SELECT DISTINCT shop AS kind FROM shops) AS kinds"
ASKED = f"SELECT kind, COUNT(*) AS n FROM {{}} WHERE {WHERE} GROUP BY kind ORDER BY kind"


@pytest.mark.parametrize("order", list(permutations(["t", "shops", KINDS])))
def test_the_order_of_a_list_decides_nothing(order: tuple[str, ...]) -> None:
    sql = ASKED.format(", ".join(order))
    assert difference(bench.answered(sql).values, bench.plain(sql), ("kind",)) == ""


def test_tables_in_front_of_private_rows_are_moved_as_well() -> None:
    joins = f"{KINDS} JOIN shops ON shop = kind JOIN t ON t.city = shops.city AND t.educ > 0"
    sql = f"SELECT kind, COUNT(*) AS n FROM {joins} GROUP BY kind ORDER BY kind"
    assert difference(bench.answered(sql).values, bench.plain(sql), ("kind",)) == ""


def cap(order: str, most: int = 9) -> int:
    catalog = inside.catalog_of(bench.bench().session)
    sql = ASKED.format(order).replace("t.educ > 0", f"kind <> 'spa' AND t.educ < {most}")
    return plan(sql, catalog, bench.EPSILON).releases[0].parts[0].cap


def test_as_many_rows_are_kept_as_the_tables_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cap(f"t, {KINDS}, shops") == cap(f"t, shops, {KINDS}") == 3 * bench.MAX_ROWS
    monkeypatch.setattr(
        Chain, "after", lambda self, at, waiting, movable: None
    )  # planted: in the order of the text
    assert cap(f"t, shops, {KINDS}", 8) == 3 * bench.MAX_ROWS
    assert cap(f"t, {KINDS}, shops", 8) == bench.MAX_ROWS


def test_two_tables_that_wait_for_each_other_are_joined_in_the_end() -> None:
    sql = "SELECT COUNT(*) AS n FROM t, shops, towns WHERE shops.city = towns.city AND t.educ = 1"
    found = bench.answered(sql).values.column("n").to_pylist()
    assert len(found) == 1


def test_a_public_table_waits_for_the_private_rows_that_it_is_tied_to() -> None:
    # In front of the second private table each row would find all shops.
    catalog = inside.catalog_of(bench.bench().session)
    sql = "SELECT COUNT(*) AS n FROM {} WHERE t.id = s.id AND s.p = length(shops.shop) AND educ > 0"
    orders = [", ".join(order) for order in permutations(["t", "s", "shops"])]
    caps = {plan(sql.format(one), catalog, bench.EPSILON).releases[0].parts[0].cap for one in orders}
    assert len(caps) == 1
    first, *others = (bench.answered(sql.format(one)).values for one in orders)
    assert all(one.equals(first) for one in others)
