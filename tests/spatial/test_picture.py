"""The picture of a map is of the grammar, though nothing checks its data when it is drawn, and data is not copied."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from altair.utils import schemapi

from discreet.plots import save
from discreet.plots.library import unchecked
from discreet.spatial.cell import Cell
from discreet.spatial.picture import picture_of_cells
from tests.depth import DEEP
from tests.servers import PLAIN

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def drawn(skew: float, size: str = "slide") -> Any:
    cells, rings = [], []
    for column in range(6):
        west, south = 16 + 0.1 * column, 48.0
        cells.append(
            Cell(
                column,
                0,
                (west, south, west + 0.1, south + 0.1),
                5.0 * column,
                5.0 * column - 7,
                5.0 * column + 7,
            )
        )
        ring = [(0.0, 0.0), (0.1, skew), (0.1, 0.1 + skew), (0.0, 0.1), (0.0, 0.0)]
        rings.append([(west + x, south + y) for x, y in ring])
    return picture_of_cells(cells, rings, "n", "A map", "words " * 30, size)


@pytest.mark.parametrize("skew", [0.0, 0.01])
def test_it_is_of_the_grammar(skew: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemapi, "DEBUG_MODE", True)  # whatever a thread of another test left
    made = drawn(skew)
    assert schemapi.DEBUG_MODE  # only for the time of drawing it is not
    assert made.to_dict() == made.to_dict(validate=False)
    with unchecked(), pytest.raises(Exception, match="wide and high"):
        # Planted fault: a picture of another grammar passes unseen, and is found when it is checked.
        made.properties(width="wide and high").to_dict(validate=True)


@pytest.mark.parametrize("skew", [0.0, 0.01])
def test_layers_share_the_data(skew: float) -> None:
    def values(part: Any) -> list[Any]:
        if hasattr(part, "layer"):
            return [one for layer in part.layer for one in values(layer)]
        return [part.data.values]

    held = [one for one in values(drawn(skew)) if len(one) > 2]
    assert held
    assert all(isinstance(one, tuple) for one in held)


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")
def test_a_page_fits_a_phone_and_is_dark_where_that_is_wanted(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    save(drawn(0.01), tmp_path / "map.html", narrow=lambda: drawn(0.01, "column"))
    save(drawn(0.01), tmp_path / "one.html")  # planted: on a phone the picture of a projector shrinks
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", PLAIN])
        page, faults = browser.new_page(), []
        page.on("pageerror", lambda error: faults.append(str(error)))
        shrunk: Callable[[], float] = lambda: page.evaluate(  # noqa: E731
            "(m => m.getBoundingClientRect().width / m.viewBox.baseVal.width)(document.querySelector('svg.marks'))"
        )
        for name, width, scheme in (
            ("map", 360, "dark"), ("map", 1280, "light"), ("one", 360, "light"),
            *[("map", 768, "light"), ("map", 768, "dark"), ("map", 1280, "dark")] * DEEP,
        ):  # fmt: skip
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            page.goto((tmp_path / f"{name}.html").as_uri())
            page.wait_for_selector("svg.marks")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert (shrunk() > 0.8) == (name == "map")
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 18, 18)"
            assert dark == (scheme == "dark")
        browser.close()
    assert not faults
