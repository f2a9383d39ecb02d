"""Weeks between two moments, counted above a release in the same way as over private rows: how many Mondays pass.

The engine's own `date_diff('week', …)` counts full weeks of seven days, unlike that of every other unit, which counts
how often a unit begins.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

_FORMULA = "date_diff('day', date_trunc('week', _a), date_trunc('week', _b)) // 7"


def count_mondays(query: exp.Expr) -> None:
    """Write differences in weeks as differences of their Mondays.

    Example:
        >>> query = sqlglot.parse_one("SELECT date_diff('week', d, DATE '2025-03-31')", read="duckdb")
        >>> count_mondays(query)
        >>> "date_trunc" in query.sql("duckdb").lower()
        True
    """
    for node in reversed(list(query.find_all(exp.DateDiff))):  # one inside another comes first
        unit = node.args.get("unit")
        if unit is None or unit.name.lower() not in ("week", "weeks", "w"):
            continue
        ends = {"_a": node.expression, "_b": node.this}
        formula = exp.paren(sqlglot.parse_one(_FORMULA, read="duckdb"))
        for column in list(formula.find_all(exp.Column)):
            column.replace(ends[column.name].copy())
        node.replace(formula)
