"""Writes docs/sql.md: docs/sql.in.md with the tables of functions and aggregates and the words of refusals filled in.

python docs/reference.py > docs/sql.md
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.schema import LIST_OF, ColumnSchema, TableSchema, Type
from discreet.errors import QueryRefused
from discreet.ledger import open_ledger
from discreet.policy import Policy
from discreet.session import Session
from discreet.sql import functions as fn
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.expressions.span import Span, Value, point
from discreet.sql.functions import aggregates
from discreet.sql.inspect.mock import invent
from discreet.sql.inspect.wording import ends

if TYPE_CHECKING:
    import pyarrow as pa

HERE = Path(__file__).parent
TEMPLATE = HERE / "sql.in.md"
BLOCK = re.compile(r"^```sql\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
REFUSED, DELTA = "-- refused\n", "-- delta\n"

SPANS = {
    Type.INTEGER: [(-2, 5), (1, 4), (2, 3), (0, 1)],
    Type.FLOAT: [(-2, 5), (1, 4), (2, 3), (0, 1)],
    Type.DATE: [(20_089, 20_453)] * 4,
    Type.TIMESTAMP: [(20_089 * 86_400_000_000, 20_454 * 86_400_000_000 - 1)] * 4,
}
"""The ranges of the arguments of an example, by type and place; the year 2025 in days and in microseconds."""
TYPES = {
    Type.BOOLEAN: "boolean", Type.INTEGER: "whole number", Type.FLOAT: "number", Type.TEXT: "text",
    Type.DATE: "date", Type.TIMESTAMP: "time stamp", Type.OTHER: "", **dict.fromkeys(LIST_OF.values(), "list"),
}  # fmt: skip
PARTS = re.compile(r"(?<=')(month|quarter|year|decade|century|millennium|week|day|hour|minute|\w*second)(?=')"
                   r"|(?<=INTERVAL n )\w+")  # fmt: skip
"""The part of a date in a usage: functions that differ in it alone make one row."""


def policy() -> Policy:
    """The policy that the page shows."""
    (text,) = re.findall(r"^```toml\n(.*?)^```$", TEMPLATE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return Policy(**tomllib.loads(text))


def schemas() -> dict[str, TableSchema]:
    """The columns of the tables that the page speaks of."""
    whole = (-(2**63), 2**63 - 1)
    visits = [
        ColumnSchema("patient_id", Type.INTEGER, *whole), ColumnSchema("age", Type.INTEGER, *whole),
        ColumnSchema("cost", Type.FLOAT), ColumnSchema("nights", Type.INTEGER, *whole), ColumnSchema("date", Type.DATE),
        ColumnSchema("county", Type.TEXT), ColumnSchema("department", Type.TEXT), ColumnSchema("note", Type.TEXT),
        ColumnSchema("diagnoses", Type.TEXTS), ColumnSchema("address", Type.OTHER, physical="struct"),
        ColumnSchema("address.town", Type.TEXT), ColumnSchema("form", Type.TEXT),
    ]  # fmt: skip
    tests = [
        ColumnSchema("patient_id", Type.INTEGER, *whole), ColumnSchema("result", Type.FLOAT),
        ColumnSchema("kind", Type.TEXT), ColumnSchema("date", Type.DATE),
    ]  # fmt: skip
    counties = [
        ColumnSchema("county", Type.TEXT), ColumnSchema("region", Type.TEXT),
        ColumnSchema("people", Type.INTEGER, *whole),
    ]  # fmt: skip
    tables = {"visits": visits, "tests": tests, "counties": counties}
    return {name: {column.name: column for column in columns} for name, columns in tables.items()}


def counties() -> pa.Table:
    """The public table."""
    import pyarrow as pa

    return pa.table(
        {
            "county": ["Alder", "Birch", "Cedar", "Elm"],
            "region": ["north", "north", "south", "south"],
            "people": [120_000, 45_000, 80_000, 30_000],
        }
    )


def session(rows: int = 2000) -> Session:
    """A session over invented tables in which the examples can be asked."""
    declared, public = policy(), {"counties": counties()}
    known = schemas()
    tables = invent(declared, known, Catalog.build(declared, known, public), rows)
    return Session(DuckDBEngine.open(tables), declared, open_ledger(None))


def page(template: str, answered: bool = True) -> str:
    """The page, filled in.

    Args:
        template: the page without what is made.
        answered: whether its queries that are answered are previewed.

    Raises:
        AssertionError: a query that the page shows as refused is not.
    """
    with session(rows=10) as asked:

        def filled(match: re.Match[str]) -> str:
            sql = match[1]
            if not sql.startswith(REFUSED):
                if answered:
                    asked.preview(sql.removeprefix(DELTA), 1, delta="1e-7" if sql.startswith(DELTA) else None)
                return match[0]
            try:
                asked.preview(sql.removeprefix(REFUSED), 1)
            except QueryRefused as refusal:
                return f"{match[0]}\n```text\n{refusal.text}\n```\n"
            raise AssertionError(f"This is not refused any more:\n{sql}")

        text = BLOCK.sub(filled, template)
    head = "<!-- Made by `make docs` from sql.in.md and the tables of functions and aggregates; edit those. -->\n"
    text = text.replace("<!-- aggregates -->", "\n".join(_aggregates()))
    return head + text.replace("<!-- functions -->", "\n".join(_tables()).strip())


# The table of aggregates -------------------------------------------------------------------------------------


def _aggregates() -> Iterator[str]:
    yield "| aggregate | bounds of | measured | estimated as | error | free beside it |\n|---|---|---|---|---|---|"
    for line in aggregates.TABLE:
        usages = ", ".join(f"`{_cell(usage)}`" for usage in line.usages)
        beside = (other.usages[0].partition("(")[0] for other in aggregates.TABLE if line.beside(other))
        free = ", ".join(f"`{name}`" for name in dict.fromkeys(beside) if name not in line.usages[0])
        yield (
            f"| {usages} | {line.bounded} | {line.measured} | {_cell(line.estimated)} | {_cell(line.error)} | {free} |"
        )


# The function table ------------------------------------------------------------------------------------------


def _tables() -> Iterator[str]:
    lines = [line for lines in fn.TABLE.values() for line in lines if line.usage]
    types: dict[str, set[Type]] = {}
    for line in lines:
        types.setdefault(line.usage, set()).update(line.takes[:1])
    sections: dict[str, list[fn.Function]] = {
        name: []
        for name in (
            "Numbers",
            "Texts",
            "Dates and times",
            "Lists and JSON texts",
            "Conditions",
            "Of every type",
            "Casts",
        )
    }
    for line in lines:
        sections[_section(line, types)].append(line)
    for title, mine in sections.items():
        yield from _table(title, mine)
    yield "### Of any number of arguments\n"
    yield "| write | bounds, by example | meaning |\n|---|---|---|"
    spans = [_span(Type.INTEGER, at) for at in range(3)]
    for several in fn.VARIADIC.values():
        shown = _shown(several.bounds(spans), Type.INTEGER)
        yield f"| `{_cell(several.usage)}` | {shown} | {_cell(several.meaning)} |"
    yield "| `CASE WHEN a THEN b … ELSE c END` | those of b and c together | the usual |"
    yield "| `a IN (b, c, …)` | | b, c and so on are literals |"
    yield "| `clamp(a, 0, 3)` | 0 … 3 | the nearest value between two literals |"
    yield (
        "| `grid(a, b, 0.5)`, `grid(a, b, 0.5, 2)` | | the cell of a grid from zero with a point in it, `column:row`: "
        "floor(a / 0.5) and floor(b / 2); NULL where one of them is |\n"
    )


def _section(line: fn.Function, types: Mapping[str, set[Type]]) -> str:
    if any(kind.item is not None for kind in (*line.takes, line.gives)) or line.name == "json_text":
        return "Lists and JSON texts"
    if line.usage.startswith("CAST("):
        return "Casts"
    if len(types[line.usage]) > 4:
        return "Of every type"
    if {Type.DATE, Type.TIMESTAMP} & {*line.takes, line.gives}:
        return "Dates and times"
    if Type.TEXT in (*line.takes, line.gives):
        return "Texts"
    return "Numbers" if {Type.INTEGER, Type.FLOAT} & {*line.takes} else "Conditions"


def _table(title: str, lines: Sequence[fn.Function]) -> Iterator[str]:
    """One row for each way of writing a function: lines that differ in their types alone are put together."""
    merged: dict[tuple[str, str], list[fn.Function]] = {}
    for line in lines:
        merged.setdefault((PARTS.sub("part", line.usage), PARTS.sub("part", _meaning(line))), []).append(line)
    shown: dict[str, list[fn.Function]] = {}
    for (usage, meaning), alike in merged.items():
        key = usage if PARTS.search(alike[0].usage) else f"{usage}\0{meaning}"
        shown.setdefault(key, []).extend(alike)
    yield f"### {title}\n"
    yield "| write | of | bounds, by example | meaning |\n|---|---|---|---|"
    for alike in shown.values():
        first = alike[0]
        usage, meaning = first.usage, _meaning(first)
        parts = list(dict.fromkeys(found[0] for line in alike if (found := PARTS.search(line.usage))))
        if len(parts) > 1:
            meaning = "; ".join(
                part for part in (meaning, f"in place of {parts[0]}: {', '.join(parts[1:])}") if part
            )
            alike = [line for line in alike if line.usage == usage]
        of = _types(alike) if title != "Of every type" else " and ".join(["any"] * len(first.takes))
        bounds = dict.fromkeys(_bounds(line) for line in alike)
        given = "; ".join(b for b in bounds if b) if title != "Of every type" else ""
        yield f"| `{_cell(usage)}` | {of} | {given} | {_cell(meaning)} |"
    yield ""


def _types(alike: Sequence[fn.Function]) -> str:
    """The types taken and given; "number" stands for a whole number, too, where both are."""
    found = dict.fromkeys(
        (tuple(_word(line, t, at) for at, t in enumerate(line.takes)), _given(line)) for line in alike
    )
    return "; ".join(f"{' and '.join(takes)} → {gives}" for takes, gives in found)


def _given(line: fn.Function) -> str:
    return "item" if line.name == "list_extract" else TYPES[line.gives]


def _word(line: fn.Function, kind: Type, at: int) -> str:
    """The word for a type; an item where it is that of the items of a list beside it."""
    return "item" if kind in [one.item for one in line.takes] and at not in line.literals else TYPES[kind]


def _meaning(line: fn.Function) -> str:
    letters = list(dict.fromkeys(re.findall(r"\b[a-z]\b", line.usage)))
    rules = [
        f"{letters[at] if at < len(letters) else 'it'} is {rule.says}" for at, rule in line.literals.items()
    ]
    said = [part for part in line.meaning.split("; ") if not (rules and re.search(r"\bliterals?\b", part))]
    return "; ".join(part for part in (*said, *rules) if part)


def _span(kind: Type, place: int) -> Span:
    if kind is Type.BOOLEAN:
        return Span(nullable=True, domain=(False, True))
    if kind not in SPANS:
        return Span()
    lo, hi = SPANS[kind][min(place, 3)]
    return Span(Fraction(lo), Fraction(hi))


def _bounds(line: fn.Function) -> str:
    spans = [
        point(_example(line.literals[at], at)) if at in line.literals else _span(kind, at)
        for at, kind in enumerate(line.takes)
    ]
    return _shown(line.bounds(*spans), line.gives)


def _example(rule: fn.Rule, place: int) -> Value:
    """A literal that is allowed: 2 in the second place, 4 in the third, or one of the rule's own."""
    return 2 * place if rule.allows(2 * place) else rule.examples[0]


def _shown(span: Span, kind: Type) -> str:
    if kind in (Type.BOOLEAN, Type.TEXT) or kind.item is not None:
        return ""
    if span.lo is None and span.hi is None:
        return "*none*"
    return ends(span, kind)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(TEMPLATE.read_text("utf-8")), end="")
