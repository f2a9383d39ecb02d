"""Cost against size: seconds of an answer for 10^5 to 10^8 rows and for 1 to 10^6 groups, and the picture of it.

    python -m benchmarks cost                          # measures, writes results/cost.json and docs/figures/cost.svg
    DISCREET_ROWS=10000000 python -m benchmarks cost   # up to as many rows
    python -m benchmarks.cost                          # draws results/cost.json again

The question is that of `scale`: count and mean by group. Linear is a slope of 1 on logarithmic axes; it is fitted
where the work outweighs what a question costs anyway.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.line import Line
from benchmarks.scale import KEPT, QUESTION, ROWS, Ask, asker, generate, spark_session, turns
from discreet.plots.render import save
from discreet.plots.theme import COLOURS, Size, altair, axis, dots, finish, words
from discreet.plots.theme import lines as drawn

MEASURED = Path(__file__).parent / "results" / "cost.json"
PICTURE = Path(__file__).parent.parent / "docs" / "figures" / "cost.svg"
ROW_SIZES = [rows for rows in (10**5, 10**6, 10**7, 10**8) if rows <= ROWS]
SPARK_SIZES = [rows for rows in ROW_SIZES if rows <= 10**7]
GROUP_SIZES = [10**k for k in range(7)]
GROUPS, GROUPED_ROWS = 100, 10**6
WITHOUT, ROW, USER = "without privacy", "a row is one person", f"a user counts with {KEPT} rows"
PANELS = {
    "duckdb rows": f"DuckDB, {GROUPS} groups",
    "spark rows": f"Spark, {GROUPS} groups",
    "duckdb groups": f"DuckDB, {GROUPED_ROWS:,} rows",
}
LARGE = {"duckdb rows": 10**6, "spark rows": 10**6, "duckdb groups": 10**4}
"""From which size on the slope is fitted."""
MOST_SLOPE = 1.05

Point = dict[str, Any]


def lines() -> Iterator[Line]:
    """Measure everything, draw it, and give the slopes."""
    points: list[Point] = []
    with tempfile.TemporaryDirectory(prefix="discreet-cost-") as folder:
        for point in _points(Path(folder)):
            points.append(point)
            yield Line(
                f"{PANELS[point['panel']]}, {point['size']:,} {point['panel'].split()[1]}, {point['series']}",
                point["seconds"], WITHOUT, point["without"], point["seconds"] / point["without"], "", True,
            )  # fmt: skip
    MEASURED.parent.mkdir(exist_ok=True)
    MEASURED.write_text(json.dumps(points, indent=1) + "\n")
    draw(points)
    for panel, shown in PANELS.items():
        for series in (ROW, USER):
            found = slope(points, panel, series)
            if found is not None:
                name = f"{shown}: exponent, {series} (not seconds)"
                yield Line(name, found, "linear", 1.0, found, f"at most {MOST_SLOPE:g}", found <= MOST_SLOPE)


def _points(folder: Path) -> Iterator[Point]:
    for rows in ROW_SIZES:
        data = generate(folder, rows, GROUPS, f"rows{rows}")
        yield from _duckdb("duckdb rows", rows, data, folder, GROUPS, runs=_runs(rows))
    spark = spark_session(folder)
    for rows in SPARK_SIZES:
        yield from _spark(spark, rows, folder / f"rows{rows}", folder, runs=min(3, _runs(rows)))
    spark.stop()
    for groups in GROUP_SIZES:
        data = generate(folder, GROUPED_ROWS, groups, f"groups{groups}")
        yield from _duckdb("duckdb groups", groups, data, folder, groups, runs=5)


def _runs(rows: int) -> int:
    return 7 if rows < 10**7 else 3 if rows < 10**8 else 1


def _duckdb(panel: str, size: int, data: Path, folder: Path, groups: int, runs: int) -> Iterator[Point]:
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"CREATE VIEW visits AS FROM '{data}/*.parquet'")
    asks = [
        lambda: connection.sql(QUESTION).to_arrow_table(),
        *(asker(f"{data}/*.parquet", unit, folder, groups) for unit in ("row", "u")),
    ]
    yield from _three(panel, size, asks, runs)


def _spark(spark: Any, size: int, data: Path, folder: Path, runs: int) -> Iterator[Point]:
    frame = spark.read.parquet(str(data))
    frame.createOrReplaceTempView("visits")
    asks = [lambda: spark.sql(QUESTION).toArrow(), *(asker(frame, unit, folder) for unit in ("row", "u"))]
    yield from _three("spark rows", size, asks, runs)


def _three(panel: str, size: int, asks: list[Ask], runs: int) -> Iterator[Point]:
    """The points of one size, after a warm-up where it is cheap."""
    if size < 10**7:
        turns(asks, 2)
    without, *ours = turns(asks, runs)
    for series, seconds in zip((ROW, USER), ours, strict=True):
        yield {"panel": panel, "size": size, "series": series, "seconds": seconds, "without": without}


def slope(points: list[Point], panel: str, series: str) -> float | None:
    """The exponent of the cost in the size, by least squares on logarithms; None with fewer than two sizes."""
    large = [p for p in points if (p["panel"], p["series"]) == (panel, series) and p["size"] >= LARGE[panel]]
    if len(large) < 2:
        return None
    sizes, seconds = (np.log([p[key] for p in large]) for key in ("size", "seconds"))
    return float(np.polyfit(sizes, seconds, 1)[0])


def draw(points: list[Point]) -> None:
    """Draw the picture of what was measured."""
    fit = Size(960, 330, 13)
    part = fit.part(len(PANELS))
    seconds = [p[key] for p in points for key in ("seconds", "without")]
    ends = (min(seconds) / 2, max(seconds) * 20)  # room above for the names of the lines
    charts = [_panel(points, panel, part, ends, first=at == 0) for at, panel in enumerate(PANELS)]
    chart = finish(
        altair().hconcat(*charts, spacing=40), "Seconds of an answer: count and mean by group", fit,
        "By number of rows and of groups; in brackets the exponent, from a million rows or ten thousand groups on.",
    )  # fmt: skip
    save(chart, PICTURE)


def _panel(points: list[Point], panel: str, part: Size, ends: tuple[float, float], first: bool) -> Any:
    mine = [p for p in points if p["panel"] == panel]
    sizes = sorted({p["size"] for p in mine})
    x = axis("x", panel.split()[1], log=True, domain=(sizes[0], sizes[-1]), values=sizes, format="~s")
    marks = [10.0**k for k in range(-4, 5) if ends[0] <= 10.0**k <= ends[1]]
    y = axis("y", "seconds" if first else "", log=True, domain=ends, values=marks, format="~g")
    series = {
        USER: [(p["size"], p["seconds"]) for p in mine if p["series"] == USER],
        ROW: [(p["size"], p["seconds"]) for p in mine if p["series"] == ROW],
        WITHOUT: [(p["size"], p["without"]) for p in mine if p["series"] == ROW],
    }
    rows = [
        {"x": at, "y": value, "at": at, "series": name}
        for name, places in series.items()
        for at, value in places
    ]
    chart = drawn(rows, x, y, list(series))
    for at, ((name, places), ink) in enumerate(zip(series.items(), COLOURS, strict=False)):
        chart += dots(places, x, y, size=36, ink=ink)
        found = slope(points, panel, name)
        said = name if found is None else f"{name} ({found:.2f})"
        # in the order of the lines, from above
        chart += words([(sizes[0], ends[1], said, ink)], x, y, dx=8, dy=10 + 17 * at, size=12, bold=True)
    title = altair().TitleParams(PANELS[panel], fontSize=part.font, anchor="start", fontWeight="bold")
    return chart.properties(width=part.width, height=part.height, title=title)


if __name__ == "__main__":
    draw(json.loads(MEASURED.read_text()))
