"""Words about dates and hours: a part of one as the question spells it, and how texts are turned into them."""

from __future__ import annotations

import re

from sqlglot import exp


def as_spelled(usage: str, written: str) -> str:
    """The usage of a part of a date, as `hour(a)` where the question has hour(t) and not extract(hour FROM t).

    Example:
        >>> as_spelled("extract(hour FROM a)", "Hour(t)"), as_spelled("extract(hour FROM a)", "date_part('hour', t)")
        ('hour(a)', "date_part('hour', a)")
        >>> as_spelled("extract(hour FROM a)", "EXTRACT(hour FROM t)"), as_spelled("abs(a)", "abs(t)")
        ('extract(hour FROM a)', 'abs(a)')
    """
    part = re.fullmatch(r"extract\((\w+) FROM a\)", usage)
    name = re.match(r"(\w+)\s*\(", written)
    if part is None or name is None or name[1].lower() == "extract":
        return usage
    said = name[1].lower()
    return f"{said}('{part[1]}', a)" if "part" in said else f"{said}(a)"


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
    """The hour of a text like 9:27AM, in SQL; clamped, or hours from -11 on would be groups, too."""
    hour = f"CAST(split_part({x}, ':', 1) AS BIGINT) % 12 + CASE WHEN {x} ILIKE '%PM' THEN 12 ELSE 0 END"
    return f"clamp({hour}, 0, 23)"
