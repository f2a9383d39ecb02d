"""Points over an ordered key with their intervals, of one series or of a few below each other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

from discreet.escaping import picture
from discreet.plots.release_rows import is_explained, joined, series_of
from discreet.plots.theme import BAND, COLOURS, RULE, Size, altair, axis, data

MOST_POINTS: Final = 2000
LEAST_PANEL: Final = 100
"""Panels that would be narrower beside each other stand below each other."""
SERIES: Final = 0.55
"""The height of the panel of one of several series, as a part of that of a picture."""
CROSS: Final = "\N{MULTIPLICATION SIGN}"
"""The mark of a group without an answer."""


def series(
    rows: Sequence[Mapping[str, Any]],
    named: tuple[Sequence[str], str],
    wanted: Sequence[str],
    fit: Size,
    nothing: str,
) -> Any:
    """A panel for each group of all keys but one, below each other, on the same axes; and for each measure."""
    alt = altair()
    keys, along = named
    others = [key for key in keys if key != along]
    part = fit.part(len(wanted))
    stacked = part.width < LEAST_PANEL
    part = Size(fit.width if stacked else part.width, int(SERIES * fit.height), fit.font)
    below = []
    groups = series_of(rows, others, nothing)
    for name, group in groups.items():
        words = alt.TitleParams(picture(f"{' · '.join(others)}: ") + name, anchor="start", fontSize=fit.font)
        beside = [points(group, [along], measure, part, list(groups.values())) for measure in wanted]
        panels = alt.vconcat(*beside, spacing=8) if stacked else alt.hconcat(*beside, spacing=20)
        below.append((beside[0] if len(beside) == 1 else panels).properties(title=words))
    return alt.vconcat(*below, spacing=16)


def points(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    name: str,
    part: Size,
    groups: Sequence[Sequence[Mapping[str, Any]]] = (),
) -> Any:
    """Points over a key; the axes reach over the rows of all groups that have a panel, where there are several."""
    alt = altair()
    (key,) = keys
    table = _placed(rows[:MOST_POINTS], key, name)
    every = _placed([row for group in groups for row in group], key, name) if groups else table
    x = _along(every, key, held=bool(groups))
    ends = ends_of(every)
    y = axis("v", picture(name))
    y["scale"] = alt.Scale(domain=domain_of(ends or [0.0]), nice=True)
    y["axis"] = alt.Axis(tickCount=5, **number_labels(ends))
    low = min(ends, default=0.0)
    given = [row for row in table if row["v"] is not None]
    lost = [{**row, "v": low} for row in table if row["v"] is None]
    base = alt.Chart(data(given))
    thick = 34 if len(table) <= 60 else 12 if len(table) <= 200 else 5
    marks = base.mark_point(filled=True, stroke=COLOURS[0], strokeWidth=1.2, size=thick, opacity=1).encode(
        x=x, y=alt.Y(**y), fill=alt.condition("datum.sure", alt.value(COLOURS[0]), alt.value("white"))
    )
    span = {"x": x, "y": alt.Y(**{**y, "shorthand": "l:Q"}), "y2": "h:Q"}
    if joined(groups or [rows], key):
        line = base.mark_line(color=COLOURS[0], strokeWidth=1.2 if thick > 5 else 0.8)
        chart = base.mark_area(color=BAND, line=False).encode(**span) + line.encode(x=x, y=alt.Y(**y)) + marks
    else:
        chart = base.mark_rule(color=COLOURS[2], strokeWidth=1.5).encode(**span) + marks
    if lost:
        chart += alt.Chart(data(lost)).mark_text(text=CROSS, color=RULE, fontSize=part.font + 2, dy=-8).encode(
            x=x, y=alt.Y(**y)
        )  # fmt: skip
    return chart.properties(width=part.width, height=part.height)


def _placed(rows: Sequence[Mapping[str, Any]], key: str, name: str) -> list[dict[str, Any]]:
    """The places of rows along a key, in order, with their numbers."""
    ordered = sorted(rows, key=lambda row: row[f"k {key}"])
    dated = isinstance(ordered[0][f"k {key}"], dt.date)
    return [
        {
            "k": _instant(row[f"k {key}"]) if dated else row[f"k {key}"],
            "v": row[f"v {name}"],
            "l": row[f"l {name}"],
            "h": row[f"h {name}"],
            "sure": not is_explained(row, name),
        }
        for row in ordered
    ]


def _along(table: Sequence[Mapping[str, Any]], key: str, held: bool) -> Any:
    """The axis of an ordered key; `held` keeps its ends where few of the rows are drawn."""
    alt = altair()
    dated = isinstance(table[0]["k"], str)
    plain: dict[str, Any] = {"nice": False, "padding": 8}
    plain |= {"type": "utc"} if dated else {"zero": False}
    if held and not dated:
        plain["domain"] = domain_of([row["k"] for row in table])
    whole = all(isinstance(row["k"], int) for row in table)  # a year or a code, perhaps
    labels = alt.Axis(
        labelOverlap=True,
        labelSeparation=10,
        tickCount=8,
        **({"format": "d", "tickMinStep": 1} if whole else {}),
    )
    return alt.X(f"k:{'T' if dated else 'Q'}", title=picture(key), scale=alt.Scale(**plain), axis=labels)


def _instant(when: dt.date) -> str:
    """A date or date-time as browsers read it in UTC, wherever they are."""
    zone = "Z" if isinstance(when, dt.datetime) and when.tzinfo is None else ""
    return when.isoformat() + zone


def ends_of(table: Sequence[Mapping[str, Any]]) -> list[float]:
    """All that an axis must reach. A row without an answer may have an interval, of anything; it is not drawn."""
    return [row[end] for row in table if row["v"] is not None for end in "vlh" if row[end] is not None]


def domain_of(ends: Sequence[float]) -> list[float]:
    """The domain of an axis that reaches over these, which are at least one."""
    low, high = min(ends), max(ends)
    return [low, high] if low < high else [low, low + 1]


def number_labels(ends: Sequence[float]) -> dict[str, str]:
    """How numbers are written on an axis or in a legend: whole while that is short; Vega would write a zero as 0k."""
    if max(map(abs, ends), default=0.0) < 100_000:
        return {"format": ",~f"}
    return {"format": "~s", "labelExpr": "datum.value == 0 ? '0' : datum.label"}
