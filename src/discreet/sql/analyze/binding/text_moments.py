"""How texts that hold dates and hours are turned into them, for advice."""

from __future__ import annotations

from sqlglot import exp


def text_moment(node: exp.Expr, argument: exp.Expr) -> str:
    """The fix where a text stands for a date or a time stamp."""
    x = argument.sql("duckdb")
    whole = node.copy()
    for column in list(whole.find_all(exp.Column)):
        if column.sql("duckdb") == x:
            column.replace(exp.cast(column.copy(), "TIMESTAMP"))
    fix = f"Write {whole.sql('duckdb')} where the texts are like 2024-01-31 09:27:00"
    if "hour" not in node.sql("duckdb").lower():
        return f"{fix}; a text that is no date is NULL."
    return f"{fix}; of texts like 9:27AM, write {clock_hour(x)}."


def clock_hour(x: str) -> str:
    """The hour of a text like 9:27AM, in SQL."""
    return f"CAST(split_part({x}, ':', 1) AS BIGINT) % 12 + CASE WHEN {x} ILIKE '%PM' THEN 12 ELSE 0 END"
