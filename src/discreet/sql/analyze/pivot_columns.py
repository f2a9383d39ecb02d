"""The rows and the names of the columns of a PIVOT, as DuckDB reads and writes them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.policy.naming import folded
from discreet.sql.expressions.span import Value
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.nodes import literal_of

EMPTY = "''"
"""The name of the column of the empty text, which would have none."""
_ROWS = "Name the columns of its rows, as in GROUP BY county, year."
Refuse = Callable[[str, str], QueryRefused]


def rows_of(node: exp.Pivot, refuse: Refuse) -> list[exp.Expr]:
    """The expressions of GROUP BY.

    Raises:
        QueryRefused: it has no columns in it. To DuckDB, ALL and the place of a column are no names there.
    """
    clause = node.args.get("group")
    if not isinstance(clause, exp.Group):
        return []
    if any(value for key, value in clause.args.items() if key != "expressions"):
        raise refuse("A PIVOT is grouped by columns, and not by ALL, nor by several sets of them.", _ROWS)
    group = [expression.unnest() for expression in clause.expressions]
    for expression in group:
        if isinstance(expression, exp.Cube | exp.Rollup | exp.GroupingSets | exp.Tuple):
            raise refuse("A PIVOT is grouped by columns, and not by several sets of them.", _ROWS)
        if expression.find(exp.Column) is None:
            raise refuse(f"A PIVOT is grouped by columns, and {rewrites.sql(expression)} is none.", _ROWS)
    return group


def is_condition(on: exp.Expr) -> bool:
    """Whether an IN behind ON is a condition, false or true: to DuckDB, `-a IN (…)` and `a + 1 IN (…)` are."""
    return isinstance(on, exp.In) and (
        isinstance(on.this, exp.Neg) or (isinstance(on.this, exp.Binary) and not isinstance(on.this, exp.Dot))
    )


def name_of_value(value: exp.Expr) -> str:
    """The name of the column of a value that the question names: the value as a text."""
    if isinstance(value, exp.Literal | exp.Identifier | exp.Column):
        return str(value.name)
    if isinstance(value, exp.Cast):
        return str(value.this.name)
    return rewrites.sql(value).lower() if isinstance(value, exp.Boolean) else rewrites.sql(value)


def name_of_public(value: Value) -> str:
    """The name of the column of a public value: as DuckDB writes it as a text.

    Example:
        >>> name_of_public(dt.date(2024, 5, 1)), name_of_public(dt.datetime(2024, 5, 1, 9)), name_of_public(-3)
        ('2024-05-01', '2024-05-01 09:00:00', '-3')
    """
    if isinstance(value, dt.datetime):
        text = value.isoformat(" ")
        return text.rstrip("0") if value.microsecond else text
    if isinstance(value, dt.date):
        return value.isoformat()
    return name_of_value(literal_of(value))


def kind_of_value(value: exp.Expr) -> tuple[str, str]:
    """The name and the type of a value behind IN, which DuckDB tells it from others by: 1 and '1' are two values.

    Example:
        >>> from sqlglot import parse_one
        >>> kind_of_value(parse_one("1")), kind_of_value(parse_one("'1'")), kind_of_value(parse_one("DATE '1'"))
        (('1', ''), ('1', 'TEXT'), ('1', 'DATE'))
    """
    kind = value.to.sql() if isinstance(value, exp.Cast) else ""
    if (isinstance(value, exp.Literal) and value.is_string) or kind == "VARCHAR":
        kind = "TEXT"
    return name_of_value(value), kind


def told_apart(names: Sequence[str], before: Sequence[str]) -> list[str]:
    """The names of columns, with a number behind one that stood before, as DuckDB makes them.

    Args:
        names: of the columns.
        before: the names of the columns before them.

    Example:
        >>> told_apart(["A", "a", "a_1", "g", "É", "é"], ["g"])
        ['A', 'a_1', 'a_1_1', 'g_1', 'É', 'é']
    """
    uses = {folded(name): 1 for name in before}
    out = []
    for name in names:
        new = name
        while folded(new) in uses:
            new = f"{name}_{uses[folded(name)]}"
            uses[folded(name)] += 1
        uses[folded(new)] = 1
        out.append(new)
    return out


def name_of_aggregate(using: exp.Expr) -> str:
    """The name of an aggregate beside others, as DuckDB makes it."""
    if using.alias:
        return str(using.alias)
    if isinstance(using, exp.Count) and isinstance(using.this, exp.Star):
        return "count_star()"
    text = rewrites.sql(using)
    return f"{text.partition('(')[0].lower()}({text.partition('(')[2]}" if "(" in text else text


def only(aggregate: exp.Expr, test: exp.Expr) -> exp.Expr:
    """An expression of aggregates, each of the rows that meet a condition."""
    out = exp.paren(aggregate.copy(), copy=False)
    for call in list(out.find_all(exp.AggFunc)):
        if isinstance(call.parent, exp.WithinGroup):
            continue
        whole = call
        call.replace(exp.Filter(this=whole.copy(), expression=exp.Where(this=test.copy())))
    inner: exp.Expr = out.this
    return inner
