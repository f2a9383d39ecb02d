"""The many spellings of a quantile in SQL."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from sqlglot import exp

from discreet.errors import InvalidParameter
from discreet.rational import exact
from discreet.sql.analyze.binding.binder import Binder
from discreet.sql.functions.aggregates import QUANTILE_NODES


def quantile_asked(node: exp.Expr, binder: Binder) -> tuple[str, exp.Expr] | None:
    """The quantity and the argument when an aggregate is a quantile, MIN or MAX; None when it is something else.

    Read are MEDIAN(x), MIN(x), MAX(x), QUANTILE_CONT(x, q), QUANTILE_DISC, QUANTILE and APPROX_QUANTILE likewise, and
    PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x [DESC]), PERCENTILE_DISC likewise. All are read off the same tree.

    Raises:
        QueryRefused: q is no literal between 0 and 1, or there is more than one argument.
    """
    if isinstance(node, exp.Median):
        return "quantile 1/2", node.this
    if isinstance(node, exp.Min | exp.Max):
        name = node.key.upper()
        if node.expressions or node.args.get("count") is not None:
            raise binder.refuse(node, f"{name} takes one argument here.",
                                f"Write {name}(x), or {'LEAST' if name == 'MIN' else 'GREATEST'}(x, y) for the "
                                "values of one row.")  # fmt: skip
        return node.key, node.this
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, QUANTILE_NODES):
        return _ordered(node.this, node.this.this, node.expression, binder)
    if isinstance(node, QUANTILE_NODES):
        if isinstance(node.this, exp.Order):  # QUANTILE_CONT(q ORDER BY x)
            return _ordered(node, node.this.this, node.this, binder)
        share = node.args.get("quantile") or node.args.get("expression")
        if isinstance(node.args.get("weight"), exp.Expr):
            share = None
        return f"quantile {_share(node, share, binder)}", node.this
    return None


def several_quantiles(node: exp.Expr) -> list[exp.Expr] | None:
    """One node for each of the quantiles that an aggregate asks for by a list; None where there is no list.

    Example:
        >>> import sqlglot
        >>> node = sqlglot.parse_one("QUANTILE_CONT(x, [0.1, 0.5])", read="duckdb")
        >>> [one.sql("duckdb") for one in several_quantiles(node)]
        ['QUANTILE_CONT(x, 0.1)', 'QUANTILE_CONT(x, 0.5)']
    """
    function = node.this if isinstance(node, exp.WithinGroup) else node
    if not isinstance(function, QUANTILE_NODES):
        return None
    place = next((key for key, value in function.args.items() if isinstance(value, exp.Array)), None)
    if place is None or not function.args[place].expressions:
        return None
    out = []
    # Without the list: copied for each of its items, it would take the square of their number.
    bare = node.copy()
    (bare.this if isinstance(bare, exp.WithinGroup) else bare).set(place, None)
    for share in function.args[place].expressions:
        quantile = bare.copy()
        (quantile.this if isinstance(quantile, exp.WithinGroup) else quantile).set(place, share.copy())
        out.append(quantile)
    return out


def _ordered(
    function: exp.Expr, share: exp.Expr | None, order: exp.Expr, binder: Binder
) -> tuple[str, exp.Expr]:
    if len(order.expressions) != 1:
        raise binder.refuse(function, "A quantile is ordered by one expression.", "Write ORDER BY x.")
    ordered = order.expressions[0]
    descending = isinstance(ordered, exp.Ordered) and bool(ordered.args.get("desc"))
    argument = ordered.this if isinstance(ordered, exp.Ordered) else ordered
    q = _share(function, share, binder)
    return f"quantile {1 - q if descending else q}", argument


def _share(function: exp.Expr, node: exp.Expr | None, binder: Binder) -> Fraction:
    """The q of a quantile: a literal between 0 and 1, read as a decimal."""
    if isinstance(node, exp.Literal) and not node.is_string:
        with suppress(InvalidParameter):
            q = exact(node.this.replace("_", ""))
            if 0 < q < 1:
                return q
    x = function.this.sql("duckdb") if isinstance(function.this, exp.Column) else "x"
    raise binder.refuse(node or function, "A quantile needs one literal between 0 and 1 that says which.",
                        f"Write for instance QUANTILE_CONT({x}, 0.9), or MIN({x}) or MAX({x}) for the ends."
                        )  # fmt: skip
