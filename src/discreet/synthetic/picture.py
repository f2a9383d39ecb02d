"""The picture of a report: a dot for the bound of each marginal, in a panel for each number of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from discreet.plots.theme import COLOURS, Picture, Size, altair, axis, data, finish, size_of

if TYPE_CHECKING:
    from discreet.synthetic.errors import MarginalError

KINDS = ("measured", "not measured")
SIDE_BY_SIDE: Final = 600
"""Panels of a narrower picture stand above each other, as on a phone."""


class Errors(Protocol):
    """The errors of marginals, as a report has them."""

    @property
    def orders(self) -> list[int]:
        """The numbers of columns of the marginals."""

    def of_order(self, order: int) -> list[MarginalError]:
        """The errors of the marginals of so many columns, the least bound first."""

    def words(self, columns: Sequence[int]) -> str:
        """The names of some columns."""


def picture_of_errors(report: Errors, size: str | Size = "slide") -> Picture:
    """Draw the bounds of the errors of all marginals, in order, a panel for each number of columns.

    Args:
        report: of a synthetic table.
        size: "slide" or "column".
    """
    alt = altair()
    fit = size_of(size)
    rows: list[dict[str, Any]] = []
    unknown = 0
    for order in report.orders:
        found = report.of_order(order)
        known = [error for error in found if error.most is not None]
        unknown += len(found) - len(known)
        for place, error in enumerate(known):
            rows.append(
                {
                    "order": f"{order} column{'s' * (order > 1)}", "x": (place + 0.5) / len(known), "y": error.most,
                    "kind": KINDS[not error.measured], "columns": report.words(error.columns),
                }
            )  # fmt: skip
    top = min(1.0, 1.1 * max((row["y"] for row in rows), default=1.0) or 1.0)
    x = axis("x", "marginals, the best known first", domain=(0, 1), labels=False, ticks=False)
    y = axis("y", "share of rows misplaced, at most", domain=(0, top), format="%")
    kinds = alt.Color("kind:N", title=None, legend=alt.Legend(orient="top")).scale(
        domain=list(KINDS), range=[COLOURS[0], COLOURS[1]]
    )
    shape = alt.Shape("kind:N", title=None).scale(domain=list(KINDS), range=["circle", "triangle-up"])
    side = fit.width >= SIDE_BY_SIDE
    part = fit.part(across=max(1, len(report.orders))) if side else fit
    chart = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=70 if side else 35, opacity=1)
        .encode(
            x=alt.X(**x), y=alt.Y(**y), color=kinds, shape=shape,
            tooltip=[alt.Tooltip("columns:N"), alt.Tooltip("y:Q", title="at most", format=".1%")],
        )
        .properties(width=part.width, height=part.height)
    )  # fmt: skip
    panels = (
        chart.facet(column=alt.Column("order:N", title=None))
        if side
        else chart.facet(facet=alt.Facet("order:N", title=None), columns=1)
    )
    below = "From released numbers alone; all bounds hold together with 95 %."
    if unknown:
        below += f" Of {unknown:,} marginals nothing is known."
    return finish(panels, "Errors of the marginals of a synthetic table", fit, below)
