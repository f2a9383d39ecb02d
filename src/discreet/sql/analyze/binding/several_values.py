"""Comparisons with several values: BETWEEN, IN, and rows of values such as (a, b) = (1, 2)."""

from __future__ import annotations

from sqlglot import exp

from discreet.sql import functions as fn
from discreet.sql.analyze.binding.binder import Binder, Form
from discreet.sql.analyze.binding.comparisons import by_type
from discreet.sql.expressions.expression import Expression, Literal
from discreet.sql.syntax.nodes import any_of


def _between(binder: Binder, node: exp.Expr) -> Expression:
    if node.args.get("symmetric"):
        raise binder.refuse(node, "BETWEEN SYMMETRIC is not supported.", "Write the smaller bound first.")
    nodes = [node.this, node.args["low"], node.args["high"]]
    # Together: a text beside a time stamp is one, though the third is a date.
    operand, low, high = binder.aligned(by_type([binder.bind(part) for part in nodes]), nodes)
    above = binder.apply(node, "ge", [operand, low], nodes[:2])
    below = binder.apply(node, "le", [operand, high], nodes[::2])
    return fn.must("and", above, below)


def _in(binder: Binder, node: exp.Expr) -> Expression:
    """IN a list of values, of which some may be expressions of the row, or IN a list column."""
    if node.args.get("field") is not None:
        listed = exp.ArrayContains(this=node.args["field"], expression=node.this)
        from discreet.sql.analyze.binding import list_forms

        return list_forms.FORMS[exp.ArrayContains](binder, listed)
    if node.args.get("query") or node.args.get("unnest") or not node.expressions:
        raise binder.unknown(node.args.get("query") or node)
    if isinstance(node.this, exp.Tuple):
        each = [exp.EQ(this=node.this.copy(), expression=row.copy()) for row in node.expressions]
        return binder.condition(any_of(each))
    nodes = [node.this, *node.expressions]
    bound = binder.unify(node, binder.aligned(by_type([binder.bind(n) for n in nodes]), nodes))
    operand, values = bound[0], bound[1:]
    literals: list[Expression] = [value for value in values if isinstance(value, Literal)]
    tests: list[Expression] = [fn.among(operand, literals)] if literals else []
    tests += [fn.must("eq", operand, value) for value in values if not isinstance(value, Literal)]
    out: Expression = tests[0]
    for test in tests[1:]:
        out = fn.must("or", out, test)
    return out


def _row(node: exp.Expr) -> list[exp.Expr]:
    """The values of a row of values; none where it is one value."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else []


def _equal(binder: Binder, node: exp.Expr) -> Expression:
    """Two rows of values are equal where all their values are, NULL and NULL among them, as in DuckDB."""
    row, other = _row(node.this), _row(node.expression)
    unequal = isinstance(node, exp.NEQ)
    if not row and not other:
        if unequal:
            return binder.call(node, "ne", binder.arguments(node, "this", "expression"))
        from discreet.sql.analyze.binding import list_forms

        return list_forms.FORMS[exp.EQ](binder, node)
    if len(row) != len(other):
        raise binder.refuse(
            node, "The two sides have a different number of values.", "Write as many on both sides."
        )
    pairs = [exp.NullSafeEQ(this=a.copy(), expression=b.copy()) for a, b in zip(row, other, strict=True)]
    found = binder.condition(exp.and_(*pairs))
    return fn.must("not", found) if unequal else found


def _alone(binder: Binder, node: exp.Expr) -> Expression:
    raise binder.refuse(node, "Several values in parentheses are compared by =, <> and IN alone.",
                        "Write a < 1 OR (a = 1 AND b < 2) for (a, b) < (1, 2).")  # fmt: skip


FORMS: dict[type[exp.Expr], Form] = {
    exp.Between: _between, exp.In: _in, exp.EQ: _equal, exp.NEQ: _equal, exp.Tuple: _alone,
}  # fmt: skip
