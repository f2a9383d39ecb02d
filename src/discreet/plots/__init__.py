"""Pictures: of the noise, of errors and budgets, and of releases with their intervals.

Each function returns an Altair chart, which shows itself in a notebook; `save` writes SVG, PNG, HTML or
JSON without a browser or a network. `draw(name)` and `gallery(folder)` know all of them. Needs the extra
`plots`; nothing heavy is loaded before a picture is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.imports import lazy_names

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

_NAMES = {
    "catalogue": "FIGURES Figure draw",
    "theme": "SIZES Size",
    "budget": "composition one_plus_epsilon",
    "laplace": "densities functions memorylessness neighbours",
    "precision": "errors randomized_response",
    "page": "gallery",
    "height_curve": "heights",
    "means": "mean_release mean_releases",
    "releases": "release",
    "render": "save",
}
__getattr__, __dir__ = lazy_names(__name__, _NAMES, __all__)
