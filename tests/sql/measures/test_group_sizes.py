"""Rows with the number of the rows like them, NULL among them, as DuckDB counts them."""

from __future__ import annotations

import pytest
from tests import shared

from discreet.sql.measures.group_sizes import between, with_sizes

ROWS = "SELECT * FROM (VALUES (1, 'a'), (1, 'a'), (1, NULL), (2, 'a'), (2, NULL), (2, NULL)) AS t(k0, t0)"


@pytest.mark.parametrize(("keys", "counts"), [([], [3, 3, 3, 3, 3, 3]), (["k0"], [2, 2, 1, 1, 2, 2])])
def test_each_row_has_the_number_of_its_like(keys: list[str], counts: list[int]) -> None:
    found = shared.plain().execute(with_sizes(ROWS, keys, ["t0"])).fetchall()
    assert sorted(row[-1] for row in found) == sorted(counts)
    assert len(found) == len(counts)


@pytest.mark.parametrize(
    ("least", "most", "held"), [(1, 1, [1]), (2, 3, [2, 3]), (3, None, [3, 4]), (1, None, [1, 2, 3, 4])]
)
def test_a_range_holds_its_ends(least: int, most: int | None, held: list[int]) -> None:
    rows = (
        shared.plain()
        .execute(f"SELECT n FROM range(1, 5) AS r(n) WHERE {between('n', least, most)}")
        .fetchall()
    )
    assert [n for (n,) in rows] == held
