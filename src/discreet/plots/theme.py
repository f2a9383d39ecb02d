"""The looks of every picture: sizes, colours that differ in grey too, and the few shapes that all are made of.

Lines differ in colour, in lightness and in their dashes, and carry their name beside them, so that nothing
hangs on a colour alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from discreet import escaping
from discreet.errors import InvalidParameter
from discreet.errors import MissingExtra as MissingExtra
from discreet.plots.library import altair as altair
from discreet.plots.library import unchecked
from discreet.records import dataclass

Row: TypeAlias = Mapping[str, Any]
Picture: TypeAlias = Any
"""An Altair chart; to name its class in a type would be to load Altair."""

COLOURS: Final = ("#12355b", "#b8401a", "#4698d2", "#e2b33c")
"""Dark to light: relative luminance .03, .14, .28, .49, and blue against orange rather than red against green."""
DASHES: Final[tuple[list[int], ...]] = ([1, 0], [7, 4], [2, 3], [10, 3, 2, 3])
BAND, RULE, INK, FAINT, PALE = "#c9d8e8", "#5a5a5a", "#1c1c1c", "#e6e6e6", "#dedcd8"
PLAIN, BOLD, AXIS = 0.56, 0.66, 40
"""The width of a letter of the widest font, in sizes of it, and the least room that an axis takes beside a picture."""
FONT: Final = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"


@dataclass(frozen=True)
class Size:
    """The size of a picture and of its words, in pixels of SVG.

    Attributes:
        width: of all panels together.
        height: of all panels together.
        font: of the words on the axes.

    Example:
        >>> Size(800, 400, 16).part(across=2).width
        365
    """

    width: int
    height: int
    font: int

    def part(self, across: int = 1, down: int = 1) -> Size:
        """The size of one of several panels beside or above each other."""
        return Size(
            (self.width - 70 * (across - 1)) // across, (self.height - 90 * (down - 1)) // down, self.font
        )


SIZES: Final = {"slide": Size(800, 400, 16), "column": Size(330, 230, 11)}
"""For a projector, and for a column of print."""


def size_of(size: str | Size) -> Size:
    """Read a size: `slide`, `column`, or a `Size`.

    Raises:
        InvalidParameter: there is no size of that name.

    Example:
        >>> size_of("column").width
        330
    """
    if isinstance(size, Size):
        return size
    if size not in SIZES:
        raise InvalidParameter(f"There is no size {size}.", f"Choose from {', '.join(SIZES)}.")
    return SIZES[size]


def data(rows: Iterable[Row]) -> Any:
    """Rows for the data of a picture, plain for JSON."""
    plain = ({key: _plain(value) for key, value in row.items()} for row in rows)
    with unchecked():  # each value is held against the grammar once, when the picture is drawn
        return altair().Data(values=tuple(plain))  # a list would be copied with each layer


def _plain(value: Any) -> Any:
    import math

    item = value.item() if hasattr(value, "item") else value
    if isinstance(item, float) and not math.isfinite(item):
        return None
    if isinstance(item, int | float | bool | None):
        return item
    return escaping.pictured(str(item))


def axis(
    field: str,
    title: str,
    *,
    log: bool = False,
    domain: Sequence[float] | None = None,
    zero: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """The arguments of a quantitative axis."""
    alt = altair()
    scale: dict[str, Any] = {"zero": zero, "nice": False}
    if log:
        scale = {"type": "log", "nice": False}
    if domain is not None:
        scale["domain"] = list(domain)
    settings = {"tickCount": 6, **more}
    return {
        "shorthand": f"{field}:Q",
        "title": escaping.pictured(title),
        "scale": alt.Scale(**scale),
        "axis": alt.Axis(**settings),
    }


def lines(
    rows: Iterable[Row],
    x: dict[str, Any],
    y: dict[str, Any],
    names: Sequence[str],
    *,
    width: float = 2.4,
    interpolate: str = "linear",
) -> Picture:
    """Lines of several series; rows have the field `series`, one of `names`."""
    alt = altair()
    shown = list(names)
    return (
        alt.Chart(data(rows))
        .mark_line(strokeWidth=width, clip=True, interpolate=interpolate)
        .encode(
            x=alt.X(**x),
            y=alt.Y(**y),
            color=alt.Color("series:N", legend=None).scale(domain=shown, range=list(COLOURS[: len(shown)])),
            strokeDash=alt.StrokeDash("series:N", legend=None).scale(
                domain=shown, range=[DASHES[index] for index in range(len(shown))]
            ),
            order=alt.Order("at:Q"),
        )
    )


def words(
    places: Iterable[tuple[float, float, str] | tuple[float, float, str, str]],
    x: dict[str, Any],
    y: dict[str, Any],
    *,
    align: str = "left",
    dx: int = 6,
    dy: int = 0,
    size: int = 14,
    bold: bool = False,
    baseline: str = "middle",
) -> Picture:
    """Words at places (x, y, words, colour)."""
    alt = altair()
    rows = [
        {"x": place[0], "y": place[1], "words": place[2], "ink": place[3] if len(place) > 3 else INK}
        for place in places
    ]
    return (
        alt.Chart(data(rows))
        .mark_text(
            align=align,
            baseline=baseline,
            dx=dx,
            dy=dy,
            fontSize=size,
            fontWeight="bold" if bold else "normal",
            lineBreak="\n",
        )
        .encode(
            x=alt.X(**{**x, "shorthand": "x:Q"}),
            y=alt.Y(**{**y, "shorthand": "y:Q"}),
            text="words:N",
            color=alt.Color("ink:N", legend=None, scale=None),
        )
    )


def dots(
    places: Iterable[tuple[float, float]], x: dict[str, Any], y: dict[str, Any], *, size: int = 70, ink: str = INK,
    opacity: float = 1.0,
) -> Picture:  # fmt: skip
    """Filled points at places (x, y)."""
    alt = altair()
    return (
        alt.Chart(data({"x": px, "y": py} for px, py in places))
        .mark_point(filled=True, size=size, color=ink, opacity=opacity, clip=True)
        .encode(x=alt.X(**{**x, "shorthand": "x:Q"}), y=alt.Y(**{**y, "shorthand": "y:Q"}))
    )


def rule(
    value: float, x: dict[str, Any], y: dict[str, Any], *, vertical: bool = True, dash: Sequence[int] = (4, 3)
) -> Picture:
    """A thin line across the picture."""
    alt = altair()
    made = alt.Chart(data([{"at": value}])).mark_rule(color=RULE, strokeDash=list(dash), strokeWidth=1.3)
    if vertical:
        return made.encode(x=alt.X(**{**x, "shorthand": "at:Q"}))
    return made.encode(y=alt.Y(**{**y, "shorthand": "at:Q"}))


def fitted(text: str, width: int, font: int, wide: float = PLAIN) -> list[str]:
    """A text in lines that stay inside a picture, whichever of its fonts a screen has.

    Who draws the picture measures its words in a font that the reader may not have, and a wider one would be cut.

    Args:
        text: a line of words.
        width: of the picture without its axes.
        font: the size of the letters.
        wide: the width of a letter of the widest of these fonts, in sizes of it.

    Example:
        >>> fitted("number of visits of people of that age by age", 260, 15, BOLD)
        ['number of visits of people of', 'that age by age']
    """
    return textwrap.wrap(text, max(12, int((width + AXIS) / (wide * font)))) or [""]


def finish(chart: Any, title: str, size: Size, subtitle: str | Sequence[str] = "") -> Any:
    """Give a picture its title and its looks. Nothing may be layered or joined afterwards."""
    alt = altair()
    small = max(9, size.font - 2)
    below = [subtitle] if isinstance(subtitle, str) and subtitle else list(subtitle)
    named = [escaping.pictured(line) for line in fitted(title, size.width, size.font + 3, BOLD)]
    said = [escaping.pictured(line) for words in below for line in fitted(words, size.width, small)]
    heading = alt.TitleParams(
        named if len(named) > 1 else "".join(named), subtitle=said, anchor="start",
        fontSize=size.font + 3, subtitleFontSize=small, subtitleColor=RULE, color=INK, font=FONT, subtitleFont=FONT,
        offset=12, subtitlePadding=5,
    )  # fmt: skip
    labels = {"labelFontSize": small, "titleFontSize": small}
    looks = alt.Config(
        font=FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            **labels, titleFontWeight="normal", labelColor=INK, titleColor=INK, gridColor=FAINT, domainColor=RULE,
            tickColor=RULE, titlePadding=8, labelLimit=260,
        ),
        header=alt.HeaderConfig(**labels, labelFontWeight="bold"),
        legend=alt.LegendConfig(**labels),
        title=alt.TitleConfig(anchor="start", fontSize=size.font, fontWeight="bold", color=INK, font=FONT),
    )  # fmt: skip
    # At once: each of Altair's `configure_…` copies the whole picture, its panels and layers one by one.
    made = chart.properties(title=heading, background="white", padding=12, config=looks)
    return drawn_here(made)


def drawn_here(chart: Any) -> Picture:
    """The same chart, which a notebook shows as SVG: Altair's own way loads scripts from the network.

    Where the user chose another renderer of Altair, that one draws.
    """
    alt, own = altair(), type(chart)

    def bundle(self: Any, *args: Any, **more: Any) -> Any:
        if alt.renderers.active != "default":
            return own._repr_mimebundle_(self, *args, **more)
        from discreet.plots.render import svg

        return {"image/svg+xml": svg(self), "text/plain": f"<{own.__name__} of discreet>"}

    kind = type(own.__name__, (own,), {"_repr_mimebundle_": bundle, "__module__": own.__module__})
    object.__setattr__(chart, "__class__", kind)  # Altair's own way to set would put it into the picture
    return chart
