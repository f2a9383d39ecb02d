"""Every picture draws, shows the numbers of its formula, and can be told apart in grey."""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.depth import DEEP, few
from tests.test_examples import REAL

from discreet.errors import InvalidParameter
from discreet.local import half_width
from discreet.plots import (
    FIGURES,
    SIZES,
    densities,
    draw,
    gallery,
    mean_release,
    mean_releases,
    neighbours,
    save,
)
from discreet.plots.theme import COLOURS, DASHES, MissingExtra, altair, finish


@cache
def drawn(name: str) -> dict[str, Any]:
    """The picture of the code beside it, drawn once for all tests, as Altair takes most of a second to see it right."""
    space: dict[str, Any] = {}
    exec(FIGURES[name].code, space)
    spec: dict[str, Any] = space["chart"].to_dict()
    return spec


def test_a_picture_is_copied_once_for_its_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each copy of joined panels copies every layer: six more took three quarters of the time of a picture."""
    kind, made = altair().VConcatChart, [0]
    copied = kind.copy

    def copy(self: Any, *args: Any, **more: Any) -> Any:
        made[0] += 1
        return copied(self, *args, **more)

    panel = altair().Chart(altair().Data(values=[])).mark_point()
    chart = altair().vconcat(panel, panel)
    monkeypatch.setattr(kind, "copy", copy)
    looks = finish(chart, "title", SIZES["column"]).to_dict()["config"]
    assert made[0] <= 2  # and once to be written down
    assert looks["view"]["stroke"] is None
    assert {*looks} == {"axis", "font", "header", "legend", "title", "view"}


def _rows(chart: Any, *fields: str) -> list[dict[str, Any]]:
    """The rows of a picture's data that have these fields."""
    found: list[dict[str, Any]] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            values = part.get("data", {}).get("values", []) if isinstance(part.get("data"), dict) else []
            found.extend(row for row in values if set(fields) <= set(row))
            for each in part.values():
                walk(each)
        elif isinstance(part, list):
            for each in part:
                walk(each)

    walk(chart if isinstance(chart, dict) else chart.to_dict(validate=False))
    return found


def test_the_gallery_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = {name: FIGURES[name] for name in ("one-plus-epsilon", "grid")}
    monkeypatch.setattr("discreet.plots.page.FIGURES", some)  # the others are drawn below
    seen: list[tuple[int, int]] = []
    page = gallery(tmp_path / "pictures", png=False, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (2, 2)
    text = page.read_text("utf-8")
    for target in re.findall(r'(?:href|src)="([^"#]+)"', text):
        assert (page.parent / target).read_text("utf-8").startswith("<svg"), target
    for figure in some.values():
        part = text.partition(f'<section id="{figure.name}">')[2].partition("</section>")[0]
        assert f'href="#{figure.name}"' in text
        assert figure.formula in part
        assert f"discreet plot {figure.name} -o" in part
        assert part.count("<tr>") >= 2
    assert "http" not in text
    with pytest.raises(InvalidParameter, match="is a file"):
        gallery(page)
    with pytest.raises(InvalidParameter, match="no folder"):
        gallery(tmp_path / "a" / "b")


# Those that tests below look at; a deep run draws all, as the examples of their functions do in each run.
DRAWN = FIGURES if DEEP else ("composition", "errors", "functions", "release")


@pytest.mark.parametrize("name", DRAWN)
def test_the_code_beside_a_picture_draws_it(name: str) -> None:
    spec = drawn(name)
    assert spec["title"]["text"]
    assert len(FIGURES) == 12
    assert len(FIGURES[name].says) > 20
    assert "url" not in json.dumps({**spec, "$schema": ""}), "a picture must need no network"
    assert len(_rows(spec)) < 5000  # Altair's own limit


def test_the_numbers_are_those_of_the_checklist() -> None:
    numbers = {words: value for figure in FIGURES.values() for words, value in figure.numbers()}
    assert [numbers[f"peak at b = {b}"] for b in (1, 2, 4, 7)] == ["0.5", "0.25", "0.125", "0.0714"]
    assert [numbers[f"gap at ε = {e}"] for e in ("0.1", "0.5", "1")] == ["0.47 %", "9.91 %", "35.9 %"]
    assert numbers["their ratio, and the bound"] == "2.7183 ≤ 2.7183"
    assert numbers["loss of the output 38.2 for answers 37.9 and 38.9, ε = .5"] == "0.2"
    assert numbers["mean of the largest of 3,143: bound b (ln d + 1)"] == "181.06"
    assert numbers["the same exactly, b H_d"] == "172.61"
    assert numbers["mean and rms error of one"] == "20, 28.28"
    sizes = [numbers[f"people for an error of .01, ε = {e}: {of}"] for e in ("0.1", "1")
             for of in ("Laplace", "randomised response")]  # fmt: skip
    assert sizes == ["1,414", "999,167", "141", "9,207"]
    # 2,400 errors of 6 points: .05046 +- .0008; six deviations.
    assert float(numbers["measured error / b"]) == pytest.approx(0.0505, abs=0.005)


def test_the_peaks_are_drawn_where_they_are() -> None:
    top: dict[str, float] = {}
    for row in _rows(densities([1, 2, 4, 7]), "series"):
        top[row["series"]] = max(top.get(row["series"], 0), row["y"])
    assert [round(each, 4) for each in top.values()] == [0.5, 0.25, 0.125, 0.0714]


# A deep run asks epsilon 1, too.
@pytest.mark.parametrize("epsilon", few([0.25, 1, 2], 2))
def test_the_other_density_stays_in_the_band_and_touches_it(epsilon: float) -> None:
    curves: dict[str, dict[float, float]] = {}
    for row in _rows(neighbours(epsilon), "series"):
        curves.setdefault(row["series"], {})[row["x"]] = row["y"]
    first, second = curves["answer 0"], curves["answer 1"]
    ratios = [second[x] / first[x] for x in first]
    assert max(ratios) == pytest.approx(math.exp(epsilon), rel=1e-6)
    assert min(ratios) == pytest.approx(math.exp(-epsilon), rel=1e-6)
    # The fault of a scale that is too small: it leaves the band.
    shrunk = [(second[x] / first[x]) ** 1.5 for x in first]
    assert max(shrunk) > math.exp(epsilon) * 1.05


def test_the_band_of_the_mean_holds_what_it_says() -> None:
    # 70 cases of 400 releases at 95 %: the share is off by .0013, so .009 is 7 deviations; a band of b ln 10 or
    # noise of sensitivity 16 instead of 15 is seen (90 %, 94.0 %).
    cases = mean_releases(rounds=400)
    shares = [case.coverage for case in cases]
    assert len(cases) == 14 * 5
    assert sum(shares) / len(shares) == pytest.approx(0.95, abs=0.009)
    assert {case.epsilon for case in cases} == {1, 0.32, 0.1, 0.03, 0.01}
    # A private n costs two noises, of which a mean near the middle pays half each: the band is narrower. 24 cases.
    hidden = mean_releases(rounds=400, epsilons=[1, 0.32], people=range(400, 1501, 100), private=True)
    assert sum(case.coverage for case in hidden) / len(hidden) == pytest.approx(0.95, abs=0.016)
    assert hidden[0].radius < cases[2].radius
    assert cases[0].radius == pytest.approx(15 / 200 * math.log(20))
    bad: list[dict[str, Any]] = [
        {"bounds": (1, 1)},
        {"rounds": 0},
        {"alpha": 1},
        {"values": [1, 2]},
        {"people": [0]},
    ]
    for more in bad:
        with pytest.raises(InvalidParameter):
            mean_releases(**more)


LARGE_ALPHA = 1e-9


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize(
    ("share", "people", "epsilon"), [(0.5, 50, 1), (0.1, 50, 0.1), (0.95, 200, 0.02), (0.3, 20, 1)]
)
def test_the_radius_covers_what_is_said(
    private: bool, alpha: float, share: float, people: int, epsilon: float
) -> None:
    # 20,000 releases: fewer hits than that have a probability below 1e-9 (binomial) where the radius covers 1 - alpha.
    rounds = 20_000
    values = np.full(people, 120 * share)
    (case,) = mean_releases(values, (0, 120), people=[people], epsilons=[epsilon], rounds=rounds, alpha=alpha,
                            private=private)  # fmt: skip
    hits = round(case.coverage * rounds)
    assert hits >= binom.ppf(LARGE_ALPHA, rounds, 1 - alpha)


def test_the_fault_is_caught_that_the_radius_is_to_first_order() -> None:
    # As it was: the noise of the divisor is left out, and 1 in 10 lies outside what should hold 95 %.
    (case,) = mean_releases(
        np.full(50, 60.0), (0, 120), people=[50], epsilons=[0.2], rounds=20_000, private=True
    )
    first = 120 * half_width([0.5 / (50 * 0.2)] * 2, 0.95)
    assert (
        (np.abs(case.errors) <= first).sum() < binom.ppf(LARGE_ALPHA, 20_000, 0.95) <= case.coverage * 20_000
    )


def test_the_captions_of_the_mean_are_read_from_what_is_drawn() -> None:
    cases = mean_releases(
        np.linspace(0, 120, 90), (0, 120), people=[40, 90], epsilons=[1], rounds=50, alpha=0.1
    )
    text = json.dumps(mean_release(cases).to_dict(), ensure_ascii=False)
    for said in (
        "Values 0 to 120, public n",
        "b ln 10",
        "b = 120/(n ε)",
        "of 100 releases",
        "band: 90 % of the noise",
    ):
        assert said in text
    for constant in ("1 to 16", "ln 20", "95 %", "15/(n"):
        assert constant not in text
    hidden = mean_releases(
        np.linspace(0, 120, 90), (0, 120), people=[90], epsilons=[1], rounds=50, private=True
    )
    said = mean_release(hidden).to_dict()["title"]["subtitle"]
    assert "private n" in said[0]
    assert "b ln" not in json.dumps(said)


def test_points_beyond_the_axes_are_counted_in_the_caption() -> None:
    (case,) = mean_releases(np.full(50, 8.0), people=[50], epsilons=[1], rounds=30)
    far = replace(case, errors=np.array([*case.errors[:28].clip(0.01, 0.5), 1e3, -1e3]))
    assert "Not drawn: 2 of 60 points" in mean_release([far]).to_dict()["title"]["subtitle"][-1]
    near = replace(case, errors=np.full(30, case.scale))
    assert "Not drawn" not in mean_release([near]).to_dict()["title"]["subtitle"][-1]


def test_the_picture_of_composition_names_its_bounds_beside_our_accountants() -> None:
    chart = drawn("composition")
    names = {row["words"] for row in _rows(chart, "words")}
    assert {"sum: k ε", "advanced composition, 2010", "accountant zcdp", "disjoint data: ε"} <= names
    said = " ".join(chart["title"]["subtitle"])
    for number in (
        "bound of 2010 6.308",
        "advanced 5.756",
        "zcdp 5.222",
        "pld 4.775",
        "30 by sums, 37 with zcdp",
    ):
        assert number in said
    at_end = {row["series"]: row["y"] for row in _rows(chart, "series") if row["x"] == 100}
    assert round(at_end["advanced composition, 2010"], 3) == 6.308
    assert round(at_end["accountant zcdp"], 3) == 5.222


def test_panels_that_are_compared_share_a_scale() -> None:
    first, second, _ = drawn("errors")["hconcat"]
    scales = [panel["layer"][0]["encoding"]["y"]["scale"]["domain"] for panel in (first, second)]
    assert scales[0] == scales[1]
    panels = [panel for row in drawn("functions")["vconcat"] for panel in row["hconcat"]]
    tops = [json.dumps(panel) for panel in panels]
    found = [re.search(r'"domain": (\[0, [0-9.]+\]), "nice": false, "zero": true', text) for text in tops]
    shared = {match[1] for at, match in enumerate(found) if match is not None and at in (0, 3, 5)}
    assert len(shared) == 1
    for panel in (panels[3], panels[4], panels[5]):
        match = re.search(r'"domain": \[0, ([0-9.]+)\], "nice": false, "zero": true', json.dumps(panel))
        assert match is not None
        heights = (
            [row["y"] for row in panel["layer"][0]["data"]["values"]] if "data" in panel["layer"][0] else []
        )
        assert all(height <= float(match[1]) for height in heights)


@pytest.mark.skipif(not (REAL / "PUMS5extract10000.csv").is_file(), reason="the census file is not here")
def test_the_mean_of_the_real_education_is_released_too() -> None:
    text = (REAL / "PUMS5extract10000.csv").read_text("utf-8")
    header, *lines = (line.split(",") for line in text.replace("\r", "\n").split("\n") if line)
    levels = [int(line[header.index("educ")]) for line in lines]
    assert set(levels) <= set(range(1, 17))
    cases = mean_releases(levels, people=[200, 1500], epsilons=[1, 0.1], rounds=500)
    # 500 releases each: .95 +- .0097, seven deviations below.
    assert min(case.coverage for case in cases) > 0.88


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_lines_differ_in_grey_and_in_dashes() -> None:
    lights = [_luminance(colour) for colour in COLOURS]
    assert lights == sorted(lights)
    # Contrast of at least 1.4 between neighbours in the order of use: seen side by side in grey.
    assert all((b + 0.05) / (a + 0.05) > 1.4 for a, b in itertools.pairwise(lights))
    assert len({tuple(dash) for dash in DASHES}) == len(DASHES) == len(COLOURS)


@cache
def one_density() -> Any:
    """A small picture, made once for all kinds of files."""
    return densities([1])


@pytest.mark.parametrize("ending", ["svg", "png", "json", "html"])
def test_files_are_of_the_kind_that_they_are_called(ending: str, tmp_path: Path) -> None:
    written = save(one_density(), tmp_path / f"a.{ending}", scale=1).read_bytes()
    starts = {"svg": b"<svg", "png": b"\x89PNG", "json": b"{", "html": b"<!DOCTYPE html>"}
    assert written.lstrip().startswith(starts[ending])
    if ending == "html":
        assert b"<script src=" not in written  # whole, without a network
        assert b'<html lang="en">\n<head>\n  <title>Laplace noise: the density' in written


def test_a_title_is_no_markup_of_a_page(tmp_path: Path) -> None:
    chart = densities([1]).properties(title="<script>a</script> & b")
    written = save(chart, tmp_path / "a.html").read_text()
    assert "<title>&lt;script&gt;a&lt;/script&gt; &amp; b</title>" in written


def test_bad_names_and_a_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for call in (
        lambda: draw("nothing"),
        lambda: draw("densities", "huge"),
        lambda: save(None, tmp_path / "a.gif"),
        lambda: save(None, tmp_path / "b" / "a.svg"),
    ):
        with pytest.raises(InvalidParameter):
            call()
    assert set(SIZES) == {"slide", "column"}
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"pip install .discreet\[plots\]"):
        draw("densities")
