"""Draws the errors of other libraries in times ours: one panel for each case, one row for each line.

python -m benchmarks.peers.twelve.picture > docs/figures/peers.svg
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from html import escape

from benchmarks.peers.twelve.measure import OURS, Error
from benchmarks.peers.twelve.saved import everything
from benchmarks.peers.twelve.table import CASES, COLUMNS, LINES, Results, errors

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
LEFT, PANEL, GAP, ROW, TOP, MOST = 240, 300, 24, 22, 64, 16.0
LEAST = 0.5


def across(times: float) -> float:
    """The place of a ratio inside a panel, on a logarithmic scale."""
    inside = min(max(times, LEAST), MOST)
    return PANEL * math.log(inside / LEAST) / math.log(MOST / LEAST)


def svg(results: Results) -> str:
    """The picture."""
    width, height = LEFT + len(CASES) * (PANEL + GAP), TOP + ROW * (len(LINES) + 2) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" role="img"><title>Errors of other libraries, in times ours</title>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
    ]
    for at, name in enumerate(COLUMNS):
        x = LEFT + at * 150
        parts.append(
            f'<circle cx="{x}" cy="20" r="5" fill="{COLOURS[at]}"/><text x="{x + 10}" y="24">{escape(name)}</text>'
        )
    for at, (line, (name, _)) in enumerate(LINES.items()):
        y = TOP + ROW * (at + 1)
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        for panel, case in enumerate(CASES):
            parts += _row(LEFT + panel * (PANEL + GAP), y, errors(results.get(case, {}), line))
    for panel, title in enumerate(CASES.values()):
        parts += _axis(LEFT + panel * (PANEL + GAP), title)
    return "".join(parts) + "</svg>\n"


def _row(left: float, y: float, found: dict[str, Error]) -> Iterator[str]:
    yield f'<line x1="{left}" x2="{left + PANEL}" y1="{y}" y2="{y}" stroke="#eee"/>'
    for at, name in enumerate(COLUMNS):
        if name not in found or OURS.name not in found or not found[OURS.name].rms:
            continue
        times, spread = found[name].times(found[OURS.name])
        middle = y + (at - (len(COLUMNS) - 1) / 2) * 3
        ends = left + across(times - 2 * spread), left + across(times + 2 * spread)
        yield (
            f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{middle}" y2="{middle}" stroke="{COLOURS[at]}"/>'
            f'<circle cx="{left + across(times):.1f}" cy="{middle}" r="3.5" fill="{COLOURS[at]}"/>'
        )


def _axis(left: float, title: str) -> Iterator[str]:
    bottom = TOP + ROW * (len(LINES) + 0.6)
    yield f'<text x="{left + PANEL / 2}" y="{TOP - 14}" text-anchor="middle" font-weight="bold">{escape(title)}</text>'
    for times in (0.5, 1, 2, 4, 8, 16):
        x = left + across(times)
        colour = "#000" if times == 1 else "#ccc"
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="{colour}"/>'
        label = f"{times:g}" + ("+" if times == MOST else "")
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{label}</text>'


if __name__ == "__main__":
    sys.stdout.write(svg(everything()))
