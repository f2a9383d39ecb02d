"""`discreet map` writes a picture, a page and files for map tools, and refuses before it charges."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Run
from tests.spatial.invented import sightings

POLICY = """\
budget = { epsilon = 5 }
source = { url = "parquet:sightings.parquet" }
[tables.sightings]
privacy_unit = "observer"
max_rows = 4
[tables.sightings.columns]
lat = { bounds = [50, 54] }
lng = { bounds = [3, 8] }
"""
GIVEN = ("map", "sightings", "--cell", "10km", "--area", "4.3,51.5,6.0,52.7", "-e", "0.5")


@pytest.fixture
def birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pq.write_table(sightings(), tmp_path / "sightings.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_POLICY", raising=False)
    return tmp_path


def test_a_map_in_every_form(birds: Path, run: Run) -> None:
    shown = run(*GIVEN)
    assert shown.exit_code == 0, shown.stderr
    assert "cells of 10km" in shown.stdout
    assert len(shown.stdout.splitlines()) > 5
    for name in ("map.png", "map.svg", "map.html", "map.geojson", "map.parquet"):
        done = run(*GIVEN, "-o", name)
        assert done.stdout == shown.stdout  # one release, whatever is made of it
        assert f"wrote {name}" in done.stderr
    assert (birds / "map.png").read_bytes()[:4] == b"\x89PNG"
    page = (birds / "map.html").read_text()
    assert "<script" in page
    assert 'src="http' not in page
    collection = json.loads((birds / "map.geojson").read_text())
    assert collection["features"][0]["geometry"]["type"] == "Polygon"
    table = pq.read_table(birds / "map.parquet")
    geo = json.loads((table.schema.metadata or {})[b"geo"])
    assert geo["columns"]["geometry"]["encoding"] == "WKB"
    assert len(table) == len(collection["features"])
    assert json.loads(run(*GIVEN, "--json").stdout) == collection
    assert len(json.loads(run("budget", "--json").stdout)["charges"]) == 1


def test_adaptive_and_smooth(birds: Path, run: Run) -> None:
    adaptive = json.loads(run(*GIVEN, "--adaptive", "--json").stdout)
    assert len({one["properties"]["side"] for one in adaptive["features"]}) > 1
    smooth = run(*GIVEN, "--smooth", "1", "--json")
    assert "smoothing" in json.loads(smooth.stdout)["notes"][-1]
    assert run(*GIVEN, "--smooth", "1", "--adaptive").exit_code == 2


def test_hexagons_and_people(birds: Path, run: Run) -> None:
    area = ("--area", "4.3,51.5,6.0,52.7", "-e", "0.5")
    found = run("map", "sightings", "--h3", "6", *area, "-o", "map.svg")
    assert found.exit_code == 0, found.stderr
    assert "cells of H3 resolution 6" in found.stdout
    assert (birds / "map.svg").read_text().startswith("<svg")
    people = json.loads(
        run("map", "sightings", "--h3", "5", *area, "--people", "observer", "--cap", "4", "--json").stdout
    )
    assert {"cell", "people", "explained"} <= set(people["features"][0]["properties"])
    for wrong in (
        ("--h3", "6", "--cell", "3km"),
        (),
        ("--h3", "6", "--adaptive"),
        ("--h3", "6", "--crs", "EPSG:28992"),
        ("--h3", "16"),
        ("--cell", "3km", "--people", "observer", "--sum", "lat"),
    ):
        assert run("map", "sightings", *wrong, *area).exit_code == 2
    assert len(json.loads(run("budget", "--json").stdout)["charges"]) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        ("--cell", "3 miles"),
        ("--area", "4,51,6"),
        ("-o", "map.pdf"),
        ("--x", "longitude"),
        ("--where", "1 ="),
    ],
)
def test_bad_usage_is_free(birds: Path, run: Run, wrong: tuple[str, str]) -> None:
    done = run(*GIVEN, *wrong)
    assert done.exit_code == 2, done.stdout
    assert json.loads(run("budget", "--json").stdout)["charges"] == []


def test_a_file_without_a_policy_needs_no_bounds_of_its_points(birds: Path, run: Run) -> None:
    rows = sightings().to_pylist()
    lines = [f"{row['observer']},{row['lat']},{row['lng']}" for row in rows]
    (birds / "points.csv").write_text("\n".join(["observer,lat,lng", *lines, "9999999,52.1,170.5"]))
    at = ("--source", "points.csv", "--unit", "observer", "--max-rows", "20", "--budget", "900")
    made = run("map", "points", *at, *GIVEN[2:-1], "200", "--json")
    assert made.exit_code == 0, made.stderr
    assert _total(made.stdout) == pytest.approx(
        _inside(rows, 4.3, 51.5, 6.0, 52.7), abs=100
    )  # a deviation of 2
    dutch = [f"{row['observer']},{row['lat'] * 1e5 - 48e5},{row['lng'] * 1e5 - 38e4}" for row in rows]
    (birds / "points.csv").write_text("\n".join(["observer,lat,lng", *dutch]))
    metres = ("--crs", "EPSG:28992", "--area", "2e4,3e5,12e4,5e5", "--cell", "100km", "-e", "200")
    flat = run("map", "points", *at, *metres, "--json")
    assert flat.exit_code == 0, flat.stderr
    assert _total(flat.stdout) == pytest.approx(_inside(rows, 4, 51, 5, 53), abs=100)


@pytest.mark.parametrize("shape", [("--cell", "10km"), ("--cell", "10km", "--adaptive"), ("--h3", "5")])
def test_an_area_with_latitudes_first_is_refused_in_words_of_the_map(
    shape: tuple[str, ...], birds: Path, run: Run
) -> None:
    """The most usual mistake; the refusal of SQL alone tells of a FLOOR that nobody wrote."""
    if "--h3" in shape:
        pytest.importorskip("h3")
    done = run("map", "sightings", "--area", "51.5,4.3,52.7,6.0", "-e", "0.5", *shape)
    said = " ".join(done.stderr.split())
    assert done.exit_code == 2
    assert "the cells of the map, from 51.5 to 52.7 in lng and from 4.3 to 6.0 in lat" in said
    assert "charged: nothing" in said
    typed = run(*GIVEN, "--x", "lnge")
    assert (typed.exit_code, "cells of the map" in typed.stderr) == (2, False)


def test_metres_in_place_of_degrees_name_the_option(birds: Path, run: Run) -> None:
    done = run(*GIVEN[:4], "--area", "1e5,4e5,2e5,5e5", "-e", "0.5")
    assert done.exit_code == 2
    assert "--crs EPSG:28992" in done.stderr


def _total(text: str) -> float:
    return float(sum(one["properties"]["n"] for one in json.loads(text)["features"]))


def _inside(rows: list[dict[str, float]], west: float, south: float, east: float, north: float) -> int:
    return sum(west <= row["lng"] < east and south <= row["lat"] < north for row in rows)


def test_more_cells_than_are_printed_are_named(
    birds: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.cli.commands.structures.map.SHOWN", 2)
    _, legend, first, second, more = run(*GIVEN).stdout.splitlines()
    assert legend == "  each by its middle, east before north, with its number and interval"
    east, north = map(float, first.partition(":")[0].split(","))
    assert 4.3 < east < 6.0
    assert 51.5 < north < 52.7
    assert second.startswith("  ")
    assert more.startswith("  … and ")
    assert "--json, or -o map.geojson" in more
    monkeypatch.setattr("discreet.cli.commands.structures.map.SHOWN", 10**6)
    assert "more above the noise" not in run(*GIVEN).stdout


def test_cells_beyond_the_area_and_columns_of_nobody_are_refused_for_nothing(birds: Path, run: Run) -> None:
    for wrong, said in (
        (("--cell", "300km"), "smaller than one cell of 300km"),
        (("--cell", "5deg"), "smaller than one cell of 5deg"),
        (("--people", "lat"), "Write --people observer"),
    ):
        done = run(*GIVEN, *wrong)
        assert done.exit_code == 2
        assert said in done.stderr
        assert "charged: nothing" in done.stderr
    assert json.loads(run("budget", "--json").stdout)["charges"] == []
