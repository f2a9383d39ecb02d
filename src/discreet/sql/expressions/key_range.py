"""The range of public keys: bounds of a column that has keys and no bounds."""

from __future__ import annotations

import datetime as dt

from discreet.sql.expressions.span import Span


def range_of_keys(span: Span) -> str:
    """The least and the greatest of public keys, as two literals of SQL; "" without such.

    Example:
        >>> from discreet.sql.expressions.span import of_values
        >>> range_of_keys(of_values([3, 0, 1])), range_of_keys(of_values(["a"])), range_of_keys(Span())
        ('0, 3', '', '')
    """
    keys = span.domain or ()
    numbers = [key for key in keys if isinstance(key, int | float) and not isinstance(key, bool)]
    if len(numbers) == len(keys) and len(set(numbers)) > 1:
        return f"{min(numbers)}, {max(numbers)}"
    days = [key for key in keys if isinstance(key, dt.date) and not isinstance(key, dt.datetime)]
    if len(days) == len(keys) and len(set(days)) > 1:
        return f"DATE '{min(days)}', DATE '{max(days)}'"
    return ""
