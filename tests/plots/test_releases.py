"""A release is drawn as fits its keys, with its intervals, and with marks where there is nothing to read."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import DEEP
from tests.plots.test_figures import _rows

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.plots import save
from discreet.plots.examples import Example, counts, sightings
from discreet.plots.release_rows import MOST_BARS
from discreet.plots.releases import release
from discreet.plots.theme import AXIS, BOLD, PLAIN, Size, fitted


def _shown(keys: dict[str, list[Any]], values: list[Any], width: float = 1.0) -> Example:
    table = pa.table({**keys, "n": values})
    ends = [
        pa.array([None if v is None else v + side * width for v in values], pa.float64()) for side in (-1, 1)
    ]
    return Example(table, {"n": ends[0]}, {"n": ends[1]}, Fraction(1))


def _kinds(chart: Any) -> set[str]:
    spec = chart.to_dict()
    parts = spec.get("hconcat", [spec])
    return {layer["mark"]["type"] for part in parts for layer in part.get("layer", [part])}


def test_a_text_key_gives_bars_with_their_intervals() -> None:
    chart = release(_shown({"county": ["A", "B", "C"]}, [10, 0, None]))
    assert {"bar", "rule", "tick", "text"} <= _kinds(chart)
    rows = {row["key"]: row for row in _rows(chart, "key", "sure")}
    assert (rows["A"]["l"], rows["A"]["h"], rows["A"]["sure"]) == (9, 11, True)
    assert not rows["B"]["sure"]  # the interval holds 0: the noise alone could have made it
    assert [row["key"] for row in _rows(chart, "key", "words")] == ["C"]
    assert "no answer" in chart.to_dict()["title"]["subtitle"][0]


def test_an_ordered_key_gives_points_with_a_band() -> None:
    days = [dt.date(2025, 1, 1) + dt.timedelta(day) for day in range(20)]
    for keys in (days, list(range(20))):
        chart = release(_shown({"day": keys}, [*range(10), None, *range(9)]))
        assert {"area", "line", "point", "text"} == _kinds(chart)
    assert "bar" in _kinds(release(_shown({"day": days[:5]}, [1] * 5)))


def test_codes_are_not_joined_by_a_line() -> None:
    codes = [401, 402, 407, 502, 503, 509, 601, 602, 611, 702, 720, 801, 802]
    assert "bar" in _kinds(release(_shown({"code": codes}, [5] * len(codes))))
    many = [100 * at + at % 7 for at in range(MOST_BARS + 20)]
    assert _kinds(release(_shown({"code": many}, [5] * len(many)))) == {"rule", "point"}
    assert (
        "lines are the intervals"
        in release(_shown({"code": many}, [5] * len(many))).to_dict()["title"]["subtitle"][0]
    )
    years = list(range(2001, 2021))
    assert '"format": "d"' in json.dumps(release(_shown({"year": years}, [5] * 20)).to_dict()), (
        "2013, not 2,013"
    )
    assert {"line", "area"} <= _kinds(release(_shown({"year": years}, [5] * 20)))
    assert {"line", "area"} <= _kinds(release(_shown({"band": [10 * at for at in range(12)]}, [5] * 12)))


def test_rows_that_share_a_key_are_not_joined_by_a_line() -> None:
    """GROUP BY age, sex without the sex among the columns: two rows for each age."""
    for keys in [1 + at // 2 for at in range(32)], [at // 2 for at in range(2 * MOST_BARS)]:
        assert "line" not in _kinds(release(_shown({"age": keys}, [5] * len(keys))))


@pytest.mark.parametrize("keys", [["A", "B", "C"], list(range(12))])
def test_a_row_without_an_answer_does_not_stretch_an_axis(keys: list[Any]) -> None:
    shown = _shown({"key": keys}, [*([10] * (len(keys) - 1)), None])
    ends = {
        side: {"n": pa.array([*([10.0 + sign] * (len(keys) - 1)), sign * 1e12])}
        for side, sign in (("low", -1), ("high", 1))
    }
    chart = release(Example(shown.values, ends["low"], ends["high"], Fraction(1)))
    scales = json.dumps(chart.to_dict())
    domains = [json.loads(found) for found in re.findall(r'"domain": (\[-?[0-9.e+]+, -?[0-9.e+]+\])', scales)]
    assert domains
    assert all(abs(end) <= 11 for domain in domains for end in domain)


def test_two_keys_give_a_grid_with_what_is_missing() -> None:
    keys = {"x": [0, 0, 1, 1, 2, 2, 0], "y": [0, 1, 0, 1, 0, 1, 2]}
    chart = release(_shown(keys, [5, 6, 7, 0, None, 9, 3]))
    marks = {(row["x"], row["y"]): row["mark"] for row in _rows(chart, "mark") if row["mark"]}
    cross = "\N{MULTIPLICATION SIGN}"
    assert marks == {("1", "1"): "○", ("2", "0"): cross, ("1", "2"): cross, ("2", "2"): cross}


def test_a_large_error_is_written_out() -> None:
    chart = release(_shown({"x": [0, 0, 1, 1, 2, 2, 0], "y": [0, 1, 0, 1, 0, 1, 2]}, [5] * 7, width=2340.0))
    assert "within ± 2,340 at 95 %" in chart.to_dict()["title"]["subtitle"][0]


def test_many_rows_are_cut_and_it_is_said_and_equal_names_stay_apart() -> None:
    chart = release(_shown({"name": [f"g{at}" for at in range(MOST_BARS + 7)]}, [1] * (MOST_BARS + 7)))
    assert "7 of 47 rows are not shown" in chart.to_dict()["title"]["subtitle"][0]
    twins = release(_shown({"a": ["x · y", "x"], "b": ["z", "y · z"]}, [1, 2]))
    assert len({row["key"] for row in _rows(twins, "key", "sure")}) == 2


def _panels(chart: Any) -> dict[str, list[int]]:
    """The keys of the points of each panel, by its title."""
    found = {}
    for panel in chart.to_dict()["vconcat"]:
        inner = panel.get("hconcat", panel.get("vconcat", [panel]))[0]
        layers = [layer for layer in inner["layer"] if layer["mark"]["type"] == "point"]
        given = layers[0].get("data") or inner.get("data") or panel["data"]
        rows = given["values"] if "values" in given else chart.to_dict()["datasets"][given["name"]]
        found[panel["title"]["text"]] = [row["k"] for row in rows]
    return found


@pytest.mark.parametrize(
    ("keys", "drawn"),
    [
        ({"sex": ["f", "m"]}, 4),
        ({"day": list(range(20))}, 4),
        ({"x": [1, 2, 3] * 3, "y": [1] * 3 + [2] * 3 + [3] * 3}, 1),
    ],
)
def test_columns_that_are_not_drawn_are_counted(keys: dict[str, list[Any]], drawn: int) -> None:
    ends = pa.array([1.0] * len(next(iter(keys.values()))))
    names = [f"m{at}" for at in range(6)]
    wide = Example(
        pa.table({**keys, **dict.fromkeys(names, ends)}),
        dict.fromkeys(names, ends),
        dict.fromkeys(names, ends),
        Fraction(1),
    )
    assert f"shown: {drawn} of 6 columns" in " ".join(release(wide).to_dict()["title"]["subtitle"])
    assert "shown:" not in " ".join(release(wide, measure="m5").to_dict()["title"]["subtitle"])


def test_an_empty_text_is_written_as_in_tables() -> None:
    chart = release(_shown({"place": ["", "north"], "sex": ["m", "m"]}, [5, 6]))
    assert {row["key"] for row in _rows(chart, "key", "sure")} == {'"" · m', "north · m"}
    grid = release(_shown({"place": ["", "a", "b"] * 3, "sex": list("xxxyyyzzz")}, [5] * 9))
    assert {row["x"] for row in _rows(grid, "x", "mark")} == {'""', "a", "b"}


def test_few_series_over_an_ordered_key_are_points_below_each_other() -> None:
    ages, sexes = list(range(18, 96)), ["F", "M"]
    keys: dict[str, list[Any]] = {
        "age": [age for _ in sexes for age in ages],
        "sex": [sex for sex in sexes for _ in ages],
    }
    chart = release(_shown(keys, [300] * 156))
    assert _panels(chart) == {"sex: F": ages, "sex: M": ages}, "each of the 156 groups is drawn"
    (said,) = chart.to_dict()["title"]["subtitle"]
    assert "the band is the interval" in said
    assert "not shown" not in said
    ends = set(re.findall(r'"domain": \[[^]]*\]', json.dumps(chart.to_dict())))
    assert len(ends) == 2, "both panels have the same axes"
    wards = {**keys, "ward": ["north"] * 78 + ["south"] * 78}
    assert set(_panels(release(_shown(wards, [300] * 156)))) == {
        "sex · ward: F · north",
        "sex · ward: M · south",
    }
    assert "bar" in _kinds(release(_shown({name: some[::8] for name, some in keys.items()}, [300] * 20)))
    many: dict[str, list[Any]] = {"age": ages * 2, "name": [f"g{at}" for at in range(156)]}
    assert "bar" in _kinds(release(_shown(many, [300] * 156)))


def test_a_float_without_interval_is_no_key() -> None:
    chart = release(_shown({"county": ["A", "B"], "rank": [0.25, 0.5]}, [1, 2]))
    assert {row["key"] for row in _rows(chart, "key", "sure")} == {"A", "B"}


def test_nothing_to_draw_is_said() -> None:
    shown = _shown({"county": ["A"]}, [1])
    with pytest.raises(InvalidParameter, match="no measure county"):
        release(shown, measure="county")
    with pytest.raises(InvalidParameter, match="nothing to draw"):
        release(_shown({"county": []}, []))
    with pytest.raises(InvalidParameter, match="nothing to draw"):
        release(Example(shown.values, {}, {}, Fraction(1)))


def test_the_examples_have_the_noise_that_they_say() -> None:
    visits, grid = counts(), sightings()
    assert visits.high["visits"][0].as_py() - visits.values["visits"][0].as_py() == 90
    assert grid.high["sightings"][0].as_py() - grid.values["sightings"][0].as_py() == 24


def test_a_session_s_answer_draws_itself(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    days = [dt.date(2025, 1, 1) + dt.timedelta(day) for day in range(14)]
    table = pa.table({"day": [days[at] for at in rng.integers(0, 14, 900)], "age": rng.integers(0, 90, 900),
                      "sex": rng.choice(["f", "m"], 900)})  # fmt: skip
    with shared.protect(table, privacy_unit="row", bounds={"age": (0, 90)}, keys={"sex": ["f", "m"], "day": days},
                    budget=100) as session:  # fmt: skip
        by_day = session.sql("SELECT day, COUNT(*) AS n FROM data GROUP BY day", 1)
        assert "area" in _kinds(by_day.plot())
        both = session.sql("SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM data GROUP BY sex", 1)
        assert both.plot(title="People").to_dict()["title"]["text"] == "People"
        assert len(both.plot().to_dict()["hconcat"]) == 2
        assert "hconcat" not in both.plot(measure="age").to_dict()
        whole = session.sql("SELECT COUNT(*) AS n FROM data", 1)
        assert {row["key"] for row in _rows(whole.plot(), "key", "sure")} == {"all"}
        shown = {row["key"]: row["v"] for row in _rows(both.plot(measure="n"), "key", "sure")}
        assert shown == dict(zip(*[both.to_dict()[name] for name in ("sex", "n")], strict=True))
        for at, answer in enumerate((by_day, both, whole) if DEEP else (both,)):
            assert save(answer.plot(size="column"), tmp_path / f"{at}.svg").stat().st_size > 1000


def test_groups_that_were_left_out_are_said_to_be() -> None:
    cities = pa.table({"who": range(600), "city": ["Alder"] * 400 + ["Birch"] * 190 + ["Cedar"] * 10})
    with shared.protect(
        cities, privacy_unit="who", max_rows=1, budget=dp.Budget(epsilon=1, delta=1e-6)
    ) as session:
        found = session.sql("SELECT city, COUNT(*) AS n FROM data GROUP BY city", 1, delta=1e-6)
    said = found.plot().to_dict()["title"]["subtitle"][0]
    assert said.startswith("ε = 1, δ = 1e-06; small groups are left out; lines are")


@pytest.mark.parametrize(("question", "label"), [("GROUP BY ROLLUP (g)", "all"), ("GROUP BY g", "none")])
def test_a_total_is_called_all(question: str, label: str) -> None:
    one = SimpleNamespace(**vars(_shown({"g": ["a", None]}, [5, 9])), columns=["g", "n"], question=question)
    assert {row["key"] for row in _rows(release(one), "key", "sure")} == {"a", label}


def test_no_word_runs_out_of_a_narrow_picture_in_whichever_font() -> None:
    """On a phone the title was cut where the screen has a wider font than the one that drew the picture."""
    shown = _shown({"a key of many words": list(range(30))}, [5] * 30)
    for width, font in ((260, 12), (800, 16)):
        drawn = release(shown, "number of the visits of all people by their age", size=Size(width, 230, font))
        title = drawn.to_dict()["title"]
        lines = title["text"] if isinstance(title["text"], list) else [title["text"]]
        assert max(map(len, lines)) * BOLD * (font + 3) <= width + AXIS
        assert max(map(len, title["subtitle"])) * PLAIN * title["subtitleFontSize"] <= width + AXIS
        assert " ".join(lines) == "number of the visits of all people by their age"
    assert fitted("x" * 100, 260, 15) != ["x" * 100]


def test_measures_stand_below_each_other_where_there_is_no_room_beside() -> None:
    shown = _shown({"k": ["a", "b"]}, [5, 6])
    two = replace(
        shown, values=shown.values.append_column("m", shown.values.column("n")),
        low={**shown.low, "m": shown.low["n"]}, high={**shown.high, "m": shown.high["n"]},
    )  # fmt: skip
    assert "vconcat" in release(two, size=Size(260, 230, 12)).to_dict()
    assert "hconcat" in release(two).to_dict()


def test_panels_beside_each_other_have_room_for_the_labels_of_their_axes() -> None:
    shown = _shown({"k": ["a", "b"]}, [5, 90_000])
    two = replace(
        shown, values=shown.values.append_column("m", shown.values.column("n")),
        low={**shown.low, "m": shown.low["n"]}, high={**shown.high, "m": shown.high["n"]},
    )  # fmt: skip
    alone, both = (json.dumps(release(one, size="column").to_dict()) for one in (shown, two))
    ticks = [{int(n) for n in re.findall(r'"tickCount": (\d+)', one)} for one in (alone, both)]
    assert max(ticks[1]) < max(ticks[0])


@pytest.mark.parametrize("keys", [
    {"k": ["a", "b"]}, {"k": list(range(20))}, {"k": ["a", "b", "a", "b"], "j": ["x", "x", "y", "y"]},
])  # fmt: skip
def test_a_zero_among_large_numbers_is_a_zero(tmp_path: Path, keys: dict[str, list[Any]]) -> None:
    """Vega gives all labels of an axis one prefix, as in 0k, and D3 a zero of its own."""
    few = len(keys["k"])
    chart = release(_shown(keys, [0, *[400_000] * (few - 1)]))
    path = save(chart, tmp_path / "picture.svg")
    texts = re.findall(r">([^<>]+)</text>", path.read_text("utf-8"))
    assert any(one.endswith("k") for one in texts)
    assert not {"0k", "0M", "0.0"} & set(texts)
    assert "0" in texts
