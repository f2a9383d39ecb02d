"""Windows with a name of their own, `OVER w … WINDOW w AS (…)`, written out where they are used."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

PARTS = ("partition_by", "order", "spec", "exclude")


def write_out(nodes: Iterable[exp.Expr]) -> None:
    """Put the definition of each named window in the place of its name, and take the WINDOW clause away.

    A window that stands on one with a name adds an order or a frame to it. A name that is not defined stays.

    Example:
        >>> import sqlglot
        >>> text = "SELECT SUM(n) OVER w, LAG(n) OVER (w ORDER BY m) FROM t WINDOW w AS (PARTITION BY k)"
        >>> query = sqlglot.parse_one(text, read="duckdb")
        >>> write_out(query.walk())
        >>> query.sql("duckdb")
        'SELECT SUM(n) OVER (PARTITION BY k), LAG(n) OVER (PARTITION BY k ORDER BY m) FROM t'
    """
    for select in list(nodes):
        defined = select.args.get("windows") if isinstance(select, exp.Select) else None
        if not defined:
            continue
        known: dict[str, exp.Window] = {}
        for window in defined:
            _complete(window, known)
            known.setdefault(window.name.lower(), window)
        for window in list(select.find_all(exp.Window)):
            if window.parent_select is select and window not in defined:
                _complete(window, known)
        if not any(w.args.get("alias") for w in select.find_all(exp.Window) if w.parent_select is select):
            select.set("windows", None)


def _complete(window: exp.Window, known: dict[str, exp.Window]) -> None:
    """Give a window the parts of the one that it names, beside its own."""
    named = window.args.get("alias")
    base = None if named is None else known.get(named.name.lower())
    if base is None:
        return
    window.set("alias", None)
    for part in PARTS:
        value = base.args.get(part)
        if value and not window.args.get(part):
            window.set(part, [one.copy() for one in value] if isinstance(value, list) else value.copy())
