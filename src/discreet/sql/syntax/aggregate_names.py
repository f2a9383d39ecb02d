"""Aggregates that go by other names, written as the ones of the table that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import sqlglot
from sqlglot import exp

from discreet.sql.syntax.nodes import every

AVERAGES = frozenset({"mean", "favg"})
SUMS = frozenset({"fsum", "kahan_sum", "sumkahan", "sum_no_overflow"})
WEIGHTED = frozenset({"weighted_avg", "wavg"})
UNPARSED = frozenset({"histogram", "histogram_exact", "kurtosis_pop"})
"""Aggregates that the parser takes for functions of a row."""

SQUARES: dict[type[exp.Expr], str] = {
    exp.RegrSxy: "REGR_COUNT(_y, _x) * COVAR_POP(_y, _x)",
    exp.RegrSxx: "REGR_COUNT(_y, _x) * VAR_POP(CASE WHEN _y IS NOT NULL THEN _x END)",
    exp.RegrSyy: "REGR_COUNT(_y, _x) * VAR_POP(CASE WHEN _x IS NOT NULL THEN _y END)",
}
"""Sums of squares of pairs, each the number of pairs times a mean of squares."""
OTHERWISE: tuple[type[exp.Expr], ...] = (exp.ApproxDistinct, exp.Anonymous, exp.WithinGroup, *SQUARES)
RENAMED: tuple[type[exp.Expr], ...] = (exp.Avg, *OTHERWISE)
"""The kinds of nodes that may be written by another name."""
_WEIGHTED = "SUM(_x * _w) / SUM(CASE WHEN _x IS NOT NULL THEN _w ELSE 0 END)"


def has_other_names(nodes: Iterable[exp.Expr]) -> bool:
    """Whether some of these nodes may be written by another name."""
    return any(
        isinstance(node, OTHERWISE) or (isinstance(node, exp.Avg) and isinstance(node.this, exp.Distinct))
        for node in nodes
    )


def use_known_names(query: exp.Expr) -> None:
    """Write aggregates by the names that are known; each is the same number by definition.

    Example:
        >>> query = sqlglot.parse_one("SELECT approx_count_distinct(a), favg(b), weighted_avg(x, w)", read="duckdb")
        >>> use_known_names(query)
        >>> query.sql("duckdb")
        'SELECT COUNT(DISTINCT a), AVG(b), (SUM(x * w) / SUM(CASE WHEN NOT x IS NULL THEN w ELSE 0 END))'
    """
    for node in [node for node in every(query) if isinstance(node, RENAMED)]:
        made = _meant(node)
        if made is None:
            continue
        kept = node.parent if isinstance(node.parent, exp.Filter) and isinstance(made, exp.Paren) else None
        if kept is not None:
            node, made = kept, _filtered(made, kept)
        place = next((n.meta for n in node.walk() if "start" in n.meta), None)
        if place is not None:
            made.meta.update(place)
        node.replace(made)


def _meant(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.ApproxDistinct):
        if node.args.get("accuracy") is not None:
            return None
        return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]))
    if isinstance(node, exp.WithinGroup):
        ordered = node.expression.expressions
        plain = isinstance(node.this, exp.Mode) and node.this.this is None and len(ordered) == 1
        return exp.Mode(this=ordered[0].this.copy()) if plain else None
    if isinstance(node, exp.Avg):
        if not isinstance(node.this, exp.Distinct) or _windowed(node):
            return None
        return exp.paren(
            exp.Div(this=exp.Sum(this=node.this.copy()), expression=exp.Count(this=node.this.copy()))
        )
    if type(node) in SQUARES:
        return _of_squares(node)
    name, args = node.name.lower(), list(node.expressions)
    known: dict[str, Callable[..., exp.Expr]] = dict.fromkeys(AVERAGES, exp.Avg) | dict.fromkeys(
        SUMS, exp.Sum
    )
    if name in known and len(args) == 1:
        return known[name](this=args[0].copy())
    if name in UNPARSED and args:
        return exp.AnonymousAggFunc(this=name, expressions=[argument.copy() for argument in args])
    if name == "count_star" and not args:
        return exp.Count(this=exp.Star())
    if name in WEIGHTED and len(args) == 2 and not (isinstance(node.parent, exp.Filter) and _windowed(node)):
        return _filled(_WEIGHTED, {"_x": args[0], "_w": args[1]})
    return None


def _of_squares(node: exp.Expr) -> exp.Expr | None:
    if _windowed(node) or not isinstance(node.expression, exp.Expr):
        return None
    return _filled(SQUARES[type(node)], {"_y": node.this, "_x": node.expression})


def _windowed(node: exp.Expr) -> bool:
    """Whether OVER stands behind an aggregate, or behind its FILTER."""
    around = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    return isinstance(around, exp.Window)


def _filtered(made: exp.Expr, kept: exp.Filter) -> exp.Expr:
    """A formula of aggregates, each over the rows that FILTER keeps."""
    for aggregate in list(made.find_all(exp.AggFunc)):
        aggregate.replace(exp.Filter(this=aggregate.copy(), expression=kept.expression.copy()))
    return made


def _filled(formula: str, parts: Mapping[str, exp.Expr]) -> exp.Expr:
    made = exp.paren(sqlglot.parse_one(formula, read="duckdb"))
    for column in list(made.find_all(exp.Column)):
        part = parts[column.name].copy()
        column.replace(part if isinstance(part, exp.Column) else exp.paren(part))
    return made
