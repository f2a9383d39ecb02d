"""Cells of H3 on Spark are those of DuckDB, on the worst values too."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from tests import servers

import discreet as dp
from discreet.engines.spark import hexagons
from discreet.errors import QueryRefused

AWKWARD = [0.0, -0.0, 1.5, 5e-324, -2.0, math.inf, -math.inf, math.nan, None]
SQL = "SELECT h3_cell(y, x, 4) AS cell, COUNT(*) AS n FROM data GROUP BY cell"


def test_spark_has_the_cells_of_duckdb() -> None:
    rows = [(x, y) for x in AWKWARD for y in AWKWARD]
    table = pa.table(
        {name: pa.array([row[at] for row in rows], pa.float64()) for at, name in enumerate("xy")}
    )
    given = {"privacy_unit": "row", "budget": 1000, "bounds": {"x": (-2, 2), "y": (-3, 5)}}
    answers = []
    for source in (table, servers.spark().createDataFrame(table)):
        asked = dp.protect(source, **given)  # type: ignore[arg-type]
        answers.append(asked.sql(SQL, 400).to_dict())  # a count is off with a chance of e^-400
    assert answers[0]["cell"] == answers[1]["cell"]
    assert answers[0]["n"] == answers[1]["n"]
    assert sum(answers[0]["n"]) == 49


def test_a_cluster_of_spark_without_the_library_is_refused_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacking(finest: int) -> Any:
        def cell(lat: float | None, lng: float | None, resolution: int | None) -> int | None:
            raise ModuleNotFoundError("h3")

        return cell

    monkeypatch.setattr(hexagons, "_function", lacking)
    table = servers.spark().createDataFrame(pa.table({"x": [1.0], "y": [1.0]}))
    asked = dp.protect(table, privacy_unit="row", budget=1000, bounds={"x": (-2, 2), "y": (-3, 5)})
    with pytest.raises(QueryRefused, match="every machine of the cluster needs the library h3"):
        asked.sql(SQL, 1)
    assert asked.budget.spent == 0
