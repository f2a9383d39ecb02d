"""The numbers of a list, a map or a struct are drawn, each a row with its interval."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tests.plots.test_figures import _rows

from discreet.errors import InvalidParameter
from discreet.plots.examples import Example
from discreet.plots.releases import release
from discreet.plots.unfolded import unfolded


def shown(values: list[Any], low: list[Any], high: list[Any], kind: pa.DataType) -> Example:
    table = pa.table({"g": ["a", "b"], "v": pa.array(values, kind), "n": [1, 2]})
    below, above = ({"v": pa.array(end, kind), "n": pa.array([0.0, 0.0])} for end in (low, high))
    return Example(table, below, above, Fraction(1))


def drawn(chart: Any) -> dict[str, Any]:
    return {row["key"]: row for row in _rows(chart, "key", "sure")}


LIST = shown(
    [[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [2.0, 3.0]], [[2.0, 3.0], [4.0, 5.0]], pa.list_(pa.float64())
)
OF_MAPS = pa.map_(pa.int64(), pa.float64())
MAP = shown([[(7, 1.0)], [(7, 3.0)]], [[(7, 0.0)], [(7, 2.0)]], [[(7, 2.0)], [(7, 4.0)]], OF_MAPS)
STRUCT = shown([{"k": 1.0}, None], [{"k": 0.0}, None], [{"k": 2.0}, None], pa.struct([("k", pa.float64())]))


@pytest.mark.parametrize(
    ("one", "labels"),
    [(LIST, ["a · 1", "a · 2", "b · 1", "b · 2"]), (MAP, ["a · 7", "b · 7"]), (STRUCT, ["a · k"])],
)
def test_each_number_is_a_row_with_its_interval(one: Example, labels: list[str]) -> None:
    rows = drawn(release(one))
    assert list(rows) == labels
    assert all(row["l"] == row["v"] - 1 and row["h"] == row["v"] + 1 for row in rows.values())


def test_a_measure_beside_it_is_drawn_by_its_name() -> None:
    assert list(drawn(release(LIST, measure="n"))) == ["a", "b"]


def test_many_groups_of_a_list_are_no_grid() -> None:
    table = pa.table({"g": list("abcd"), "v": [[1.0, 2.0, 3.0]] * 4})
    chart = release(Example(table, {"v": table["v"]}, {"v": table["v"]}, Fraction(1)))
    assert len(drawn(chart)) == 12


def test_a_place_has_a_name_of_its_own() -> None:
    table = pa.table({"place": ["a"], "v": [[1.0]]})
    found = unfolded(Example(table, {"v": table["v"]}, {"v": table["v"]}, Fraction(1)), ["place"], "v")
    assert found.columns == ["place", "place_", "v"]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("SELECT g, HISTOGRAM(age) AS v FROM t GROUP BY g", "v by g and age"),
        ('SELECT g, histogram(t."the age") AS "v", histogram(x) AS w FROM t', "v by g and the age"),
        ("SELECT g, histogram(age // 2) AS v, histogram(x) AS w FROM t", "v by g and place"),
        ("SELECT g, histogram(age), histogram(x) FROM t", "v by g and place"),
        ("SELECT g, v FROM (SELECT g, v FROM t)", "v by g and place"),
    ],
)
def test_the_keys_of_a_histogram_have_the_name_of_its_column(question: str, title: str) -> None:
    called = SimpleNamespace(**vars(MAP), question=question, columns=MAP.columns)
    assert release(called, measure="v").to_dict()["title"]["text"] == title
    listed = SimpleNamespace(**vars(LIST), question=question, columns=LIST.columns)
    assert release(listed, measure="v").to_dict()["title"]["text"] == "v by g and place"


def test_no_number_at_all_is_refused() -> None:
    nothing = shown([None, None], [None, None], [None, None], pa.list_(pa.float64()))
    with pytest.raises(InvalidParameter, match="nothing to draw"):
        release(nothing)
