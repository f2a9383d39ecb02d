"""Functions of ours that DuckDB does not have, above releases and over public tables: clamp and grid, but not h3_cell.

Over private rows they are lines of the table of functions. Elsewhere DuckDB computes their formulas.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from discreet.errors import QueryRefused

_CELL = "CAST(TRY_CAST(floor(CAST({0} AS DOUBLE) / {1}) AS BIGINT) AS VARCHAR)"
_GRID = f"({_CELL.format('_0', '_2')} || ':' || {_CELL.format('_1', '_3')})"
FORMULAS = {
    ("clamp", 3): "CASE WHEN _0 < _1 THEN _1 WHEN _0 > _2 THEN _2 ELSE _0 END",
    ("grid", 3): _GRID.replace("_3", "_2"),
    ("grid", 4): _GRID,
}
"""By name and number of arguments, which are `_0`, `_1` and so on."""
USAGES = {"clamp": "clamp(x, 0, 100)", "grid": "grid(x, y, 3000)"}
_HEXAGONS = ("h3_cell", "h3_latlng_to_cell_string")


def write_out(query: exp.Expr) -> None:
    """Put their formulas in the place of our functions.

    Raises:
        QueryRefused: one has another number of arguments, or is computed over private rows alone.

    Example:
        >>> query = sqlglot.parse_one("SELECT clamp(n, 0, 9) AS n FROM t", read="duckdb")
        >>> write_out(query)
        >>> query.sql("duckdb")
        'SELECT (CASE WHEN n < 0 THEN 0 WHEN n > 9 THEN 9 ELSE n END) AS n FROM t'
    """
    for node in reversed(list(query.find_all(exp.Anonymous))):
        name = node.name.lower()
        if name in _HEXAGONS:
            raise QueryRefused(
                f"{name} is computed over private rows alone, not above their groups or over public tables.",
                "Write it in the sub-query over private rows, as SELECT h3_cell(lat, lng, 7) AS cell, COUNT(*) AS n … "
                "GROUP BY cell; of a public table make it a column, with the library h3.",
            )
        if name not in USAGES:
            continue
        formula = FORMULAS.get((name, len(node.expressions)))
        if formula is None:
            raise QueryRefused(
                f"{name} takes another number of arguments than {len(node.expressions)}.",
                f"Write {USAGES[name]}.",
            )
        written = node.sql("duckdb", comments=False)
        made: exp.Expr = exp.paren(sqlglot.parse_one(formula, read="duckdb"))
        for column in list(made.find_all(exp.Column)):
            argument = node.expressions[int(column.name[1:])]
            simple = isinstance(argument, exp.Column | exp.Literal)
            column.replace(argument.copy() if simple else exp.paren(argument.copy()))
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            made = exp.alias_(made, exp.to_identifier(written, quoted=True))
        if node.parent is not None:
            node.replace(made)
