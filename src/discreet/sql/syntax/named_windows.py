"""Windows with a name of their own, `OVER w … WINDOW w AS (…)`, written out where they are used."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from discreet.errors import QueryRefused

PARTS = ("partition_by", "order", "spec", "exclude")


def write_out(nodes: Iterable[exp.Expr]) -> None:
    """Put the definition of each named window in the place of its name, and take the WINDOW clause away.

    A window that stands on one with a name adds an order or a frame to it.

    Raises:
        QueryRefused: a name is not defined in its SELECT.

    Example:
        >>> import sqlglot
        >>> text = "SELECT SUM(n) OVER w, LAG(n) OVER (w ORDER BY m) FROM t WINDOW w AS (PARTITION BY k)"
        >>> query = sqlglot.parse_one(text, read="duckdb")
        >>> write_out(query.walk())
        >>> query.sql("duckdb")
        'SELECT SUM(n) OVER (PARTITION BY k), LAG(n) OVER (PARTITION BY k ORDER BY m) FROM t'
    """
    defined: dict[int, dict[str, exp.Window]] = {}
    listed = list(nodes)
    for select in listed:
        windows = select.args.get("windows") if isinstance(select, exp.Select) else None
        if windows:
            known = defined.setdefault(id(select), {})
            for window in windows:
                _complete(window, known)
                known.setdefault(window.name.lower(), window)
            select.set("windows", None)
    for window in listed:
        if isinstance(window, exp.Window):
            _complete(window, defined.get(id(window.parent_select), {}))


def _complete(window: exp.Window, known: dict[str, exp.Window]) -> None:
    """Give a window the parts of the one that it names, beside its own."""
    named = window.args.get("alias")
    if named is None:
        return
    base = known.get(named.name.lower())
    if base is None:
        raise QueryRefused(
            f"There is no window {named.name} here.",
            f"Write OVER (ORDER BY …), or WINDOW {named.name} AS (ORDER BY …) behind FROM and WHERE.",
        )
    window.set("alias", None)
    for part in PARTS:
        value = base.args.get(part)
        if value and not window.args.get(part):
            window.set(part, [child.copy() for child in value] if isinstance(value, list) else value.copy())
