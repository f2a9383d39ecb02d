"""Pictures: of the noise, of errors and budgets, and of releases with their intervals.

Each function returns an Altair chart, which shows itself in a notebook; `save` writes SVG, PNG, HTML or
JSON without a browser or a network. `draw(name)` and `gallery(folder)` know all of them. Needs the extra
`plots`; nothing heavy is loaded before a picture is drawn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.plots.budget import composition, one_plus_epsilon
    from discreet.plots.catalogue import FIGURES, Figure, draw
    from discreet.plots.height_curve import heights
    from discreet.plots.laplace import densities, functions, memorylessness, neighbours
    from discreet.plots.means import mean_release, mean_releases
    from discreet.plots.page import gallery
    from discreet.plots.precision import errors, randomized_response
    from discreet.plots.releases import release
    from discreet.plots.render import save
    from discreet.plots.theme import SIZES, Size

_WHERE = {
    "FIGURES": "catalogue",
    "Figure": "catalogue",
    "SIZES": "theme",
    "Size": "theme",
    "composition": "budget",
    "densities": "laplace",
    "draw": "catalogue",
    "errors": "precision",
    "functions": "laplace",
    "gallery": "page",
    "heights": "height_curve",
    "mean_release": "means",
    "mean_releases": "means",
    "memorylessness": "laplace",
    "neighbours": "laplace",
    "one_plus_epsilon": "budget",
    "randomized_response": "precision",
    "release": "releases",
    "save": "render",
}

__all__ = [
    "FIGURES",
    "SIZES",
    "Figure",
    "Size",
    "composition",
    "densities",
    "draw",
    "errors",
    "functions",
    "gallery",
    "heights",
    "mean_release",
    "mean_releases",
    "memorylessness",
    "neighbours",
    "one_plus_epsilon",
    "randomized_response",
    "release",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"discreet.plots.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'discreet.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
