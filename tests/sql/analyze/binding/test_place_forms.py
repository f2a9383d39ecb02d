"""grid and h3_cell as keys: the cells that are meant, listed from bounds, alike on engines, of no row in particular."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import h3
import pyarrow as pa
import pytest
from tests import servers
from tests.depth import few

import discreet as dp
from discreet.engines import hexagons
from discreet.engines.duckdb import hexagons as in_duckdb
from discreet.errors import QueryRefused
from discreet.sql.analyze.binding import place_forms

SURE = 500
"""At this epsilon no count of a few thousand is off: one is with a chance of e^-500."""
AWKWARD = [
    0.0,
    -0.0,
    0.3,
    0.1 * 3,
    0.1,
    -0.1,
    5e-324,
    -5e-324,
    1.0,
    2.0,
    1 - 2**-53,
    math.nan,
    math.inf,
    -math.inf,
]
BOUNDS = {"x": (-2, 2), "y": (-3, 5)}
GRID = "SELECT grid(x, y, 0.1, 1) AS cell, COUNT(*) AS n FROM data GROUP BY cell"
H3 = "SELECT h3_cell(y, x, 5) AS cell, COUNT(*) AS n FROM data GROUP BY cell"


def points(at: Sequence[float | None]) -> pa.Table:
    pairs = [(x, y) for x in at for y in at]
    return pa.table(
        {
            "x": pa.array([x for x, _ in pairs], pa.float64()),
            "y": pa.array([y for _, y in pairs], pa.float64()),
        }
    )


def session(source: object, **more: object) -> dp.Session:
    given = {"privacy_unit": "row", "budget": 10**6, "bounds": BOUNDS, **more}
    return dp.protect(source, **given)  # type: ignore[arg-type]


def counts(asked: dp.Session, sql: str) -> dict[str, int]:
    found = asked.sql(sql, SURE).to_dict()
    return {cell: n for cell, n in zip(found["cell"], found["n"], strict=True) if n}


def clamped(value: float, bounds: tuple[int, int]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def truth(cell: object) -> Counter[str]:
    """The counts of Python: NaN and NULL have no cell, all else is clamped."""
    assert callable(cell)
    known = [value for value in AWKWARD if not math.isnan(value)]
    return Counter(cell(clamped(x, BOUNDS["x"]), clamped(y, BOUNDS["y"])) for x in known for y in known)


def test_a_cell_of_a_grid_is_column_and_row() -> None:
    expected = truth(lambda x, y: f"{math.floor(x / 0.1)}:{math.floor(y)}")
    assert counts(session(points([*AWKWARD, None])), GRID) == expected
    assert expected["0:0"] > expected["1:0"] > 0


def test_a_hexagon_is_that_of_the_library() -> None:
    assert counts(session(points([*AWKWARD, None])), H3) == truth(lambda x, y: h3.latlng_to_cell(y, x, 5))


def test_postgresql_has_the_same_grid_and_refuses_hexagons_before_the_charge() -> None:
    url = servers.postgres()
    with servers.connect(url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS maps CASCADE; CREATE SCHEMA maps")
        connection.execute("CREATE TABLE maps.data (x float8, y float8)")
        with connection.cursor() as cursor, cursor.copy("COPY maps.data FROM STDIN") as copy:
            for row in points([*AWKWARD, None]).to_pylist():
                copy.write_row((row["x"], row["y"]))
    asked = session(f"{url}#maps.data", table="data", ledger=":memory:")
    assert counts(asked, GRID) == counts(session(points([*AWKWARD, None])), GRID)
    spent = asked.budget.spent
    with pytest.raises(
        QueryRefused, match=r"h3_cell is not possible on this engine.*Write grid\("
    ) as refused:
        asked.sql(H3, 1)
    assert "Nothing was charged" in str(refused.value)
    assert asked.budget.spent == spent


def differs_by_order() -> bool:
    """Whether the counts of near points hang on the row that is met first."""
    spread = [0.3 + 0.001 * step for step in range(400)]
    forth = pa.table({"x": spread, "y": spread})
    return counts(session(forth), H3) != counts(session(forth.take(pa.array(range(399, -1, -1)))), H3)


def test_a_cell_does_not_depend_on_the_row_met_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault remembers a cell for all points near the first."""
    assert not differs_by_order()

    def remembering(lat: object, lng: object, resolution: object) -> object:
        found, none = hexagons.cells(lat, lng, resolution)  # type: ignore[arg-type]
        found[:] = found[0]
        return found, none

    monkeypatch.setattr(in_duckdb, "cells", remembering)
    assert differs_by_order()


# A deep run: all of them.
@pytest.mark.parametrize(
    ("text", "says"),
    few([
        ("grid(x, y)", "two numbers and the size"), ("grid(x, y, 1, 2, 3)", "two numbers and the size"),
        ("grid(x, y, 0)", "above zero"), ("grid(x, y, -1)", "above zero"), ("grid(x, y, x)", "above zero"),
        ("grid(x, y, '3km')", "above zero"), ("grid(x, y, NULL)", "above zero"), ("grid(x, 'y', 1)", "not a text"),
        ("h3_cell(x, y, 16)", "from 0 to 15"), ("h3_cell(x, y, x)", "from 0 to 15"), ("h3_cell(x, y)", "2 arguments"),
        ("h3_cell(x, y, 7) || grid(x, y, 0.0001)", "not public"),
    ], 7),
)  # fmt: skip
def test_other_calls_are_refused_for_nothing(text: str, says: str) -> None:
    with pytest.raises(QueryRefused, match=says):
        session(points(AWKWARD)).sql(f"SELECT {text} AS cell, COUNT(*) AS n FROM data GROUP BY cell", 1)


def test_without_the_library_hexagons_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_forms, "installed", lambda: False)
    with pytest.raises(QueryRefused, match=r"discreet\[maps\]"):
        session(points(AWKWARD)).sql(H3, 1)


def test_points_without_bounds_need_a_delta() -> None:
    many = pa.table({"x": [5.1] * 300, "y": [52.1] * 300})
    wide = {"bounds": {}, "budget": dp.Budget(epsilon=1000, delta=1e-3)}
    with pytest.raises(QueryRefused, match="not public"):
        session(many, **wide).sql(H3, 1)
    found = session(many, **wide).sql(H3, 50, delta=1e-9).to_dict()
    assert found["cell"] == [h3.latlng_to_cell(52.1, 5.1, 5)]
    far = pa.table({"x": [1e300] * 300, "y": [math.inf] * 300})
    assert session(far, **wide).sql(GRID, 50, delta=1e-9).to_dict()["cell"] == []


def test_preview_explain_and_mock_know_them() -> None:
    asked = session(points(AWKWARD))
    for sql in (GRID, H3):
        assert asked.preview(sql, 1).epsilon == 1
        assert "values" in str(asked.explain(sql))
        assert asked.mock(rows=20).sql(sql, 1).to_dict()["cell"]
    assert asked.budget.spent == 0


def test_cells_larger_than_the_bounds_are_refused() -> None:
    """As where a size in metres meets columns in degrees: all rows would be in a few cells that depend on no data."""
    table = points([0.5, 1.5])
    with session(table) as asked:
        with pytest.raises(QueryRefused, match="A cell is larger than all that the bounds"):
            asked.sql("SELECT grid(x, y, 20000) AS cell, COUNT(*) AS n FROM data GROUP BY cell", 1)
        assert asked.budget.spent == 0
        assert len(asked.sql("SELECT grid(x, y, 8) AS cell, COUNT(*) AS n FROM data GROUP BY cell", 1)) == 4
        assert (
            len(asked.sql("SELECT grid(x, y, 20000, 1) AS cell, COUNT(*) AS n FROM data GROUP BY cell", 1))
            > 4
        )
