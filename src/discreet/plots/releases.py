"""A release as a picture, with its intervals: bars, points over an ordered key, a few series of them, or a grid.

A release is taken by its shape, not by its class: `release_rows.DrawableRelease` lists the attributes that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from discreet.arrow import is_nested
from discreet.errors import InvalidParameter
from discreet.escaping import picture
from discreet.plots.panels.points import (
    CROSS,
    LEAST_PANEL,
    MOST_POINTS,
    domain_of,
    ends_of,
    number_labels,
    points,
    series,
)
from discreet.plots.release_rows import (
    MOST_BARS,
    DrawableRelease,
    has_interval,
    is_explained,
    is_key,
    joined,
    kind_of,
    label_of,
    line_of,
    nothing_of,
    ordered,
    reach_of,
    rows_of,
    series_of,
    sorted_values,
    text_of,
)
from discreet.plots.theme import (
    COLOURS,
    INK,
    PALE,
    RULE,
    Picture,
    Size,
    altair,
    axis,
    data,
    finish,
    size_of,
)
from discreet.plots.unfolded import unfolded

MOST_PANELS = 4
LEAST_TICK = 90
"""A label of an axis has so much room at least."""
GROUND: Final = "#9a9a9a"

EXPLAINED: Final = "the noise alone could have made it"
_NONE: Final = f"{CROSS} no answer"


def release(
    shown: DrawableRelease, title: str = "", measure: str | None = None, size: str | Size = "slide"
) -> Picture:
    """Draw a release in the form that fits its keys.

    The columns with intervals are the measures, the others the keys, unless they hold floats. No key or one of
    text: bars with their intervals. One ordered key (a number, a date) with more than ten groups: points and a
    band. More groups than bars, of one such key and few groups of the others: points and a band for each of these,
    below each other. Two keys of many groups: a grid, darker for more. A group without an answer (NULL, or a cell
    that is not there) is marked with a cross; a pale bar or a hollow point has an interval that holds 0, so that the
    noise alone could have made it. On a grid these cells have a ring, or are grey where cells are small, and the
    noise of all cells together is reckoned with: of a thousand cells without anybody, fifty would stand out at 95 %
    each. Of the numbers of a list, a map or a struct each is a row, named by its place; the first such measure is
    drawn alone.

    Args:
        shown: a `discreet.Release`, or anything of that shape.
        title: the words above the picture; by default the measures.
        measure: which measure to draw; by default the first four of bars and points, and the first of a grid; the words
            below the title say how many are left out.
        size: "slide" or "column".

    Raises:
        InvalidParameter: no measure has this name, or there is no measure at all, or no row.

    Example:
        >>> from discreet.plots.examples import counts
        >>> drawn = release(counts()).to_dict()
        >>> drawn["title"]["text"], drawn["title"]["subtitle"]
        ('visits by county', ['ε = 0.1; lines are the intervals of the noise at 95 %; ... no answer'])
    """
    fit = size_of(size)
    means: Mapping[str, str] = getattr(shown, "meanings", {})
    keys = [name for name in shown.columns if name not in shown.low and is_key(shown, name)]
    measures = [name for name in shown.columns if name in shown.low]
    if measure is not None and measure not in measures:
        raise InvalidParameter(
            f"There is no measure {measure}.", f"Choose from {', '.join(measures) or 'none'}."
        )
    if not measures or not len(shown.values):
        raise InvalidParameter(
            "There is nothing to draw: no row, or no number with an interval.", "Ask for a count."
        )
    asked = measures if measure is None else [measure]
    wanted = asked[:MOST_PANELS]
    shown, keys, wanted, several = _each_number(shown, keys, wanted)
    rows = rows_of(shown, keys, wanted)
    kind = kind_of(rows, keys)
    kind = "bars" if several and kind == "grid" else kind  # a grid has no intervals
    noise = _noise(shown)
    percent = f"at {100 * shown.confidence:g} %"
    if getattr(shown, "simultaneous", False):
        percent += " for all numbers together"
    if kind == "grid":
        chart, marks = _grid(rows, keys, wanted[0], fit, (reach_of(shown), nothing_of(shown)))
        error = max(
            (row[f"h {wanted[0]}"] - row[f"l {wanted[0]}"] for row in rows if has_interval(row, wanted[0])),
            default=0,
        )
        says = f"{noise}the noise is within ± {_rounded(error / 2)} {percent}{_shown_of(1, asked)}"
        says += "".join(f"; {mark}" for mark in marks)
        return finish(chart, title or _title(wanted[:1], keys, means), fit, says)
    left = len(rows) - (MOST_BARS if kind == "bars" else MOST_POINTS)
    cut = f"; {left:,} of {len(rows):,} rows are not shown" if left > 0 else ""
    cut += _shown_of(len(wanted), asked)
    along = line_of(rows, keys) if kind == "series" else keys[0] if kind == "points" else ""
    if kind == "series":
        chart = series(rows[:MOST_POINTS], (keys, str(along)), wanted, fit, nothing_of(shown))
    else:
        labels = _labels(rows, keys, nothing_of(shown)) if kind == "bars" else None
        chart = _panels(rows, keys, wanted, fit, labels)
    others = [key for key in keys if key != along]
    banded = bool(along) and joined(series_of(rows, others).values(), str(along))
    shape = "the band" if banded else "lines"
    verb = "is the interval" if banded else "are the intervals"
    lost = any(row[f"v {name}"] is None for row in rows for name in wanted)
    if along and any(is_explained(row, name) for row in rows for name in wanted):
        cut += f"; hollow: {EXPLAINED}"
    says = f"{noise}{shape} {verb} of the noise {percent}{cut}{f'; {_NONE}' if lost else ''}"
    return finish(chart, title or _title(wanted, keys, means), fit, says)


def _panels(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    wanted: Sequence[str],
    fit: Size,
    labels: list[str] | None,
) -> Any:
    """The panels of the measures, beside each other or, where these would be too narrow, below each other."""
    stacked = fit.part(len(wanted)).width < LEAST_PANEL
    kind = "points" if labels is None else "bars"
    part = _panel(fit, 1 if stacked else len(wanted), len(rows), kind)
    if labels is None:
        panels = [points(rows, keys, name, part) for name in wanted]
    else:
        panels = [
            _bars(rows, (keys, labels), name, part, first=stacked or index == 0)
            for index, name in enumerate(wanted)
        ]
    join = altair().vconcat if stacked else altair().hconcat
    return panels[0] if len(panels) == 1 else join(*panels, spacing=20)


def _each_number(
    shown: DrawableRelease, keys: list[str], wanted: list[str]
) -> tuple[DrawableRelease, list[str], list[str], bool]:
    """The same with a row for each number of the first measure that holds several; the last says whether one does."""
    several = next((name for name in wanted if is_nested(shown.values, name)), None)
    if several is None:
        return shown, keys, wanted, False
    each = unfolded(shown, keys, several)
    if not len(each.values):
        raise InvalidParameter("There is nothing to draw: no number.", "Ask for a count.")
    return each, [name for name in each.columns if name != several], [several], True


def _noise(shown: DrawableRelease) -> str:
    """The price; with a delta the groups were found, and those with too few people for that were not."""
    delta = float(getattr(shown, "delta", 0))
    return f"ε = {float(shown.epsilon):g}{f', δ = {delta:g}; small groups are left out' if delta else ''}; "


def _shown_of(drawn: int, asked: Sequence[str]) -> str:
    """How many of the measures are drawn, where some are not."""
    return f"; shown: {drawn} of {len(asked):,} columns" if drawn < len(asked) else ""


def _title(measures: Sequence[str], keys: Sequence[str], means: Mapping[str, str]) -> str:
    named = [f"{measure} ({means[measure]})" if measure in means else measure for measure in measures]
    return picture(", ".join(named) + (f" by {' and '.join(keys)}" if keys else ""))


def _rounded(value: float) -> str:
    """A number to three digits, and above a thousand to whole ones."""
    return f"{value:,.0f}" if 1000 <= value < 1e12 else f"{value:,.3g}"


def _panel(fit: Size, panels: int, rows: int, kind: str) -> Size:
    if kind == "bars":
        step = int(1.9 * fit.font)
        return Size(fit.part(panels).width, max(3 * step, min(rows, MOST_BARS) * step), fit.font)
    return Size(fit.part(panels).width, fit.height, fit.font)


def _labels(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], nothing: str) -> list[str]:
    """The names of the rows that bars are drawn of; two groups of one name stay two."""
    out: list[str] = []
    for row in rows[:MOST_BARS]:
        label = label_of(row, keys, nothing)
        while label in out:
            label += " "
        out.append(label)
    return out


def _bars(
    rows: Sequence[Mapping[str, Any]],
    named: tuple[Sequence[str], list[str]],
    name: str,
    part: Size,
    first: bool,
) -> Any:
    alt = altair()
    keys, order = named
    table: list[dict[str, Any]] = []
    for row, label in zip(rows, order, strict=False):
        value, low, high = (row[f"{field} {name}"] for field in "vlh")
        sure = None in (low, high) or not low <= 0 <= high
        table.append({"key": label, "v": value, "l": low, "h": high, "sure": sure})
    y = alt.Y(
        "key:N",
        sort=order,
        title=picture(" · ".join(keys)) or None,
        axis=alt.Axis(labels=first, ticks=False, domain=False, labelPadding=8),
    )
    if not first:
        y = alt.Y("key:N", sort=order, title=None, axis=alt.Axis(labels=False, ticks=False, domain=False))
    x = axis("v", picture(name), zero=True)
    ends = ends_of(table)
    x["scale"] = alt.Scale(domain=domain_of([0.0, *ends]), nice=True)
    # The last label stands within the panel, beside the one before.
    ticks = min(4, max(2, part.width // LEAST_TICK))
    x["axis"] = alt.Axis(tickCount=ticks, **number_labels(ends))
    given = [row for row in table if row["v"] is not None]
    lost = [{"key": row["key"], "v": 0.0, "words": _NONE} for row in table if row["v"] is None]
    bars = (
        alt.Chart(data(given))
        .mark_bar(color=COLOURS[2], stroke=COLOURS[0], strokeWidth=1, height={"band": 0.62})
        .encode(y=y, x=alt.X(**x), fillOpacity=alt.condition("datum.sure", alt.value(0.75), alt.value(0.12)))
    )
    lines = alt.Chart(data(given)).mark_rule(color=INK, strokeWidth=2).encode(y=y, x=alt.X(**{**x, "shorthand": "l:Q"}),
                                                                              x2="h:Q")  # fmt: skip
    chart = bars + lines
    for end in "lh":
        chart += alt.Chart(data(given)).mark_tick(color=INK, thickness=2, height={"expr": "9"}).encode(
            y=y, x=alt.X(**{**x, "shorthand": f"{end}:Q"})
        )  # fmt: skip
    if lost:
        chart += alt.Chart(data(lost)).mark_text(align="left", dx=5, color=RULE, fontSize=part.font - 2).encode(
            y=y, x=alt.X(**x), text="words:N"
        )  # fmt: skip
    return chart.properties(width=part.width, height=part.height)


def _grid(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str], name: str, fit: Size, how: tuple[float, str]
) -> tuple[Picture, list[str]]:
    """The grid, and the meaning of the marks on it."""
    alt = altair()
    reach, nothing = how
    across, down = (sorted_values({row[f"k {key}"] for row in rows}) for key in keys)
    cells = {(row[f"k {keys[0]}"], row[f"k {keys[1]}"]): row for row in rows}
    table: list[dict[str, Any]] = []
    for left in across:
        for top in down:
            row = cells.get((left, top), {})
            value = row.get(f"v {name}")
            mark = CROSS if value is None else "○" if is_explained(row, name, reach) else ""
            table.append({"x": text_of(left, nothing), "y": text_of(top, nothing), "v": value, "mark": mark})
    side = min(fit.width / len(across), 1.25 * fit.height / len(down), 64)
    upwards = all(ordered(value) for value in down)
    names = [text_of(value, nothing) for value in (reversed(down) if upwards else down)]
    thin = alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False)
    x = alt.X("x:N", sort=[text_of(value, nothing) for value in across], title=picture(keys[0]), axis=thin)
    y = alt.Y("y:N", sort=names, title=picture(keys[1]), axis=thin)
    given = [row for row in table if row["v"] is not None]
    most, least = max((row["v"] for row in given), default=1.0), min((row["v"] for row in given), default=0.0)
    legend = alt.Legend(**number_labels([most]), gradientLength=int(0.6 * fit.height))
    colour = alt.Color("v:Q", title=picture(name), legend=legend).scale(
        range=["#f4f8fc", "#9fc3e0", "#3d7fb5", "#12355b"], domain=[min(0.0, least), max(most, least + 1e-9)],
        interpolate="lab",
    )  # fmt: skip
    wide = side > 7
    coloured = given if wide else [row for row in given if not row["mark"]]
    tiles = alt.Chart(data(coloured)).mark_rect(stroke="white", strokeWidth=1 if wide else 0.3).encode(
        x=x, y=y, color=colour
    )  # fmt: skip
    if len(coloured) < len(given):
        grey = [row for row in given if row["mark"]]
        tiles += alt.Chart(data(grey)).mark_rect(color=PALE, stroke="white", strokeWidth=0.3).encode(x=x, y=y)
    chart = tiles
    if lost := [row for row in table if row["v"] is None]:
        empty = alt.Chart(data(lost)).mark_rect(color="#ffffff", stroke=GROUND, strokeWidth=0.6)
        chart += empty.encode(x=x, y=y)
    marked = [row for row in table if row["mark"]]
    if marked and wide:
        chart += alt.Chart(data(marked)).mark_text(color=RULE, fontSize=min(fit.font, int(0.6 * side))).encode(
            x=x, y=y, text="mark:N"
        )  # fmt: skip
    seen = {row["mark"] for row in marked}
    means = (
        {CROSS: _NONE, "○": f"○ {EXPLAINED}"}
        if wide
        else {CROSS: "white: no answer", "○": f"grey: {EXPLAINED}"}
    )
    drawn = chart.properties(width=int(side * len(across)), height=int(side * len(down)))
    return drawn, [words for mark, words in means.items() if mark in seen]
