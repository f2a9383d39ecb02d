"""Writes docs/architecture.md and its picture: the way of one question through the rooms, drawn from the code itself.

    python docs/architecture.py text > docs/architecture.md
    python docs/architecture.py picture > docs/figures/architecture.svg

One question is asked while Python's profiler notes each function of discreet that is entered. A room that is only
passed through shows in no picture that was drawn by hand; here it does.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import discreet

HERE = Path(__file__).parent
TEMPLATE = HERE / "architecture.in.md"
HOUSE = Path(discreet.__file__).parent
QUESTION = "SELECT department, COUNT(*) AS n FROM visits GROUP BY department HAVING COUNT(*) > 10"
LOADING = "SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 10"
SENTENCE = re.compile(r"\S.*?[.](?=\s|$)")
FLOORS = (
    ("cli", "session"),
    ("sql.inspect", "sql.finish", "sql.intervals"),
    ("sql.lower", "sql.plan", "sql.measures"),
    ("sql.analyze", "sql.algebra", "sql.dialects"),
    ("sql.functions", "sql.expressions", "sql.syntax"),
    ("release",),
    ("engines", "ledger", "policy", "planning"),
    ("mechanisms", "accounting", "noise"),
)
"""The rooms that the picture has, from the top down; those beside them, such as `plots`, no question enters."""

RECORDS = "discreet.records"


@dataclass
class Way:
    """The way of one question.

    Attributes:
        modules: every module entered, in the order of its first call.
        steps: the rooms in the order in which they were entered, without repetition in a row.
        loading: how many modules are being loaded, one by another; calls of these are no part of the way.
    """

    modules: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    loading: int = 0

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Take one call down; for `sys.setprofile`."""
        name = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "<module>":
            self.loading += {"call": 1, "return": -1}.get(event, 0)
        if event != "call" or self.loading or not name.startswith("discreet."):
            return
        if name == RECORDS or frame.f_code.co_filename.startswith("<"):
            return  # a method of a data class that nobody wrote, which versions of Python make in other places
        module = name.removeprefix("discreet.")
        if module not in self.modules:
            self.modules.append(module)
        if room(module) not in self.steps:
            self.steps.append(room(module))


def room(module: str) -> str:
    """The room of a module: the package, or the sub-package of `sql`."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "sql" and len(parts) > 2 else parts[0]


def walk(question: str = QUESTION) -> Way:
    """Ask one question of invented data and note its way; a first one, unnoted, has done all that is done once."""
    # So many patients that every department passes the HAVING: an answer without rows would go another way.
    rows = {"patient": list(range(800)), "department": ["a", "b", "a", "c"] * 200}
    way = Way()
    with discreet.protect(
        pa.table(rows), table="visits", privacy_unit="patient", max_rows=3, keys={"department": ["a", "b", "c"]},
        budget=10, ledger=":memory:",
    ) as session:  # fmt: skip
        session.sql(LOADING, epsilon=1)
        sys.setprofile(way.note)
        try:
            release = session.sql(question, epsilon=1)
            repr(release)
        finally:
            sys.setprofile(None)
    return way


def sentences(name: str) -> str:
    """The first two sentences of a room's docstring, on one line."""
    tree = ast.parse((HOUSE / name.replace(".", "/") / "__init__.py").read_text("utf-8"))
    return " ".join(SENTENCE.findall(" ".join((ast.get_docstring(tree) or "").split()))[:2])


def text(way: Way) -> str:
    """The page."""
    return (
        TEMPLATE.read_text("utf-8")
        .replace("{question}", QUESTION)
        .replace("{modules}", str(len(way.modules)))
        .replace("{way}", "\n".join(_steps(way)))
        .replace("{rooms}", "\n".join(_rooms()))
    )


def _steps(way: Way) -> Iterator[str]:
    for number, step in enumerate((step for step in way.steps if step in drawn()), 1):
        entered = [name.rsplit(".", 1)[-1] for name in way.modules if room(name) == step]
        yield f"{number}. **`{step.replace('.', '/')}/`**: {', '.join(f'`{name}`' for name in entered)}"


def _rooms() -> Iterator[str]:
    for floor in FLOORS:
        for name in floor:
            yield f"| `{name.replace('.', '/')}/` | {sentences(name)} |"


def drawn() -> set[str]:
    """The rooms that the picture has."""
    return {name for floor in FLOORS for name in floor}


WIDTH, HIGH, GAP, MARGIN = 960, 66, 26, 24
INK, PALE, LINE = "#1f2933", "#eef3f8", "#2f6f9f"


def picture(way: Way) -> str:
    """The floors as an SVG, each room with the modules that the question entered, numbered in the order of entry."""
    order = [step for step in way.steps if step in drawn()]
    height = 2 * MARGIN + len(FLOORS) * (HIGH + GAP) + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{MARGIN}" y="{MARGIN + 8}" font-size="15" fill="{INK}">{escape(QUESTION)}</text>',
    ]
    for level, floor in enumerate(FLOORS):
        top = MARGIN + 28 + level * (HIGH + GAP)
        wide = (WIDTH - 2 * MARGIN - GAP * (len(floor) - 1)) / len(floor)
        for place, name in enumerate(floor):
            left = MARGIN + place * (wide + GAP)
            entered = [m for m in way.modules if room(m) == name]
            lines += _box(name, left, top, wide, order.index(name) + 1 if name in order else 0, len(entered))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(name: str, left: float, top: float, wide: float, number: int, modules: int) -> Iterator[str]:
    edge, fill = (LINE, PALE) if number else ("#b8c2cc", "white")
    yield (
        f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{HIGH}" rx="8" fill="{fill}" '
        f'stroke="{edge}" stroke-width="1.5"/>'
    )
    shown = name.replace("sql.", "sql/")
    yield f'<text x="{left + 14:.1f}" y="{top + 28}" font-size="14" font-weight="600" fill="{INK}">{shown}</text>'
    told = _many(modules, "module") if number else "not entered"
    yield f'<text x="{left + 14:.1f}" y="{top + 50}" font-size="12" fill="{INK}">{told}</text>'
    if number:
        x, y = left + wide - 16, top + 16
        yield f'<circle cx="{x:.1f}" cy="{y}" r="11" fill="{LINE}"/>'
        yield f'<text x="{x:.1f}" y="{y + 4}" font-size="12" fill="white" text-anchor="middle">{number}</text>'


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"


KINDS: dict[str, Callable[[Way], str]] = {"text": text, "picture": picture}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in KINDS:
        sys.exit(f"Usage: python {sys.argv[0]} text|picture")
    sys.stdout.write(KINDS[sys.argv[1]](walk()))
