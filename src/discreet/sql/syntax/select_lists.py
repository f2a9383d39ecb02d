"""The meaning of the names in a SELECT list: two columns of one name, and names that HAVING repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.policy.naming import folded
from discreet.sql.syntax.nodes import is_aggregate, rebuilt

FIRST_NAME = "first name"
"""Under which a column with a number behind its name remembers the name that it was given."""


def name_apart(nodes: Iterable[exp.Expr], name_of: Callable[[exp.Expr], str]) -> None:
    """Give a column that has the name of an earlier one in its SELECT a number behind it, as DuckDB does in a table.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT a, a, COUNT(*), COUNT(*) FROM t")
        >>> name_apart(query.walk(), lambda item: item.sql())
        >>> query.sql()
        'SELECT a, a AS a_1, COUNT(*), COUNT(*) AS "COUNT(*)_1" FROM t'

    Names that differ in letters beyond ASCII are two in DuckDB, and stay:

        >>> query = sqlglot.parse_one('SELECT 1 AS "É", 2 AS "é" FROM t')
        >>> name_apart(query.walk(), lambda item: item.alias)
        >>> query.sql()
        'SELECT 1 AS "É", 2 AS "é" FROM t'
    """
    for select in nodes:
        if not isinstance(select, exp.Select) or any(item.is_star for item in select.expressions):
            continue
        names = [name_of(item) for item in select.expressions]
        taken = set(map(folded, names))
        seen: set[str] = set()
        for index, (item, name) in enumerate(zip(select.expressions, names, strict=True)):
            if folded(name) not in seen:
                seen.add(folded(name))
                continue
            number = next(n for n in range(1, len(names) + 1) if folded(f"{name}_{n}") not in taken)
            new = f"{name}_{number}"
            taken.add(folded(new))
            seen.add(folded(new))
            plain = item.this if isinstance(item, exp.Alias) else item
            quoted = not new.replace("_", "a").isalnum()
            select.expressions[index] = exp.alias_(plain.copy(), exp.to_identifier(new, quoted=quoted))
            select.expressions[index].meta[FIRST_NAME] = name
        select.set("expressions", select.expressions)


def named_items(
    select: exp.Select, refuse: Callable[[exp.Expr, str, str], QueryRefused]
) -> Callable[[exp.Column], exp.Expr | None]:
    """The expression of the item that a name in HAVING, QUALIFY or ORDER BY stands for; None where there is none.

    It raises, by `refuse`, where two items have the name: DuckDB takes the last one, and the answer shows both under
    other names.
    """
    found: dict[str, list[exp.Expr]] = {}
    for item in select.expressions:
        if isinstance(item, exp.Alias | exp.Column):
            found.setdefault(folded(item.meta.get(FIRST_NAME, item.alias_or_name)), []).append(item)

    def meant(column: exp.Column) -> exp.Expr | None:
        items = [] if column.table else found.get(folded(column.name), [])
        if any(candidate.unalias() != items[0].unalias() for candidate in items):
            raise refuse(column, f"Two columns are named {column.name}.",
                         "Give one of them another name with AS.")  # fmt: skip
        return next((alias.this for alias in items if isinstance(alias, exp.Alias)), None)

    return meant


def with_aliases(
    node: exp.Expr, meant: Callable[[exp.Column], exp.Expr | None], is_key: Callable[[exp.Expr], bool]
) -> exp.Expr:
    """A condition on groups: names of the SELECT list stand for their expressions in it, even if a column is named so.

    Args:
        node: the condition of HAVING or QUALIFY.
        meant: the expression of the item that a name stands for, as `named_items` gives it.
        is_key: whether an expression is grouped by, which comes first.
    """
    if isinstance(node, exp.Column):
        item = None if is_key(node) else meant(node)
        return node if item is None else exp.paren(item.copy())
    if is_aggregate(node) or isinstance(node, exp.Query):
        return node
    return rebuilt(node, lambda part: with_aliases(part, meant, is_key))


def constant(node: exp.Expr) -> bool:
    """Whether a key of GROUP BY is the same for every row, so that it divides nothing: a literal, or ().

    Example:
        >>> import sqlglot
        >>> [constant(sqlglot.parse_one(text)) for text in ("'all'", "1 + 1", "lower(c)", "COUNT(*)")]
        [True, True, False, False]
    """
    return node.find(exp.Column, exp.Query, exp.AggFunc, exp.Star) is None


def as_groups(node: exp.Select) -> exp.Select | None:
    """SELECT DISTINCT a, b as the groups of a and b that have rows; None where it is something else.

    Example:
        >>> import sqlglot
        >>> as_groups(sqlglot.parse_one("SELECT DISTINCT a FROM t ORDER BY a")).sql()
        'SELECT a FROM t GROUP BY a HAVING COUNT(*) > 0 ORDER BY a'
    """
    mark = node.args.get("distinct")
    if mark is None or mark.args.get("on") is not None or node.args.get("qualify") is not None:
        return None
    if any(item.is_star or item.find(exp.Window, exp.Query) for item in node.expressions):
        return None
    keys = [item.unalias().copy() for item in node.expressions]
    if all(map(constant, keys)):
        return None
    out = node.copy()
    out.set("distinct", None)
    out.set("group", exp.Group(expressions=keys))
    return with_rows(out)


def with_rows(node: exp.Select) -> exp.Select:
    """The groups that have rows, as the noisy count says."""
    some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    having = node.args.get("having")
    node.set("having", exp.Having(this=some if having is None else exp.and_(having.this, some)))
    return node
