"""Names of the SELECT list that the same SELECT uses: in WHERE, in QUALIFY, and in later items of the list.

As in DuckDB, a column of FROM comes before such a name, and sub-queries do not see it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.policy.naming import folded
from discreet.sql.syntax.nodes import copied, every, own_nodes, unaliased
from discreet.sql.syntax.parse import output_name
from discreet.sql.syntax.select_lists import FIRST_NAME

MOST_PARTS = 2000
"""Parts of a SELECT whose names are written out: one that names the one before twice doubles it."""
MOST_PARTS_OVER_GROUPS = 10_000
"""The same of a SELECT over groups, which are computed once for each group."""
Refuse = Callable[[exp.Expr, str, str], QueryRefused]


class ColumnAliases:
    """Writes the names of a SELECT list out.

    Args:
        node: the SELECT.
        is_column: whether a name, in lower case, is that of a column of FROM.
        refuse: makes refusals.

    Example:
        >>> import sqlglot
        >>> select = sqlglot.parse_one("SELECT a + 1 AS b, b * 2 AS c FROM t WHERE c > 9 QUALIFY b < max(a) OVER ()")
        >>> aliases = ColumnAliases(select, lambda name: name == "a", lambda _, *why: QueryRefused(*why))
        >>> aliases.in_list().sql()
        'SELECT a + 1 AS b, (a + 1) * 2 AS c FROM t WHERE c > 9 QUALIFY (a + 1) < MAX(a) OVER ()'
        >>> aliases.in_condition(select.args["where"].this).sql()
        '((a + 1) * 2) > 9'
    """

    def __init__(self, node: exp.Select, is_column: Callable[[str], bool], refuse: Refuse) -> None:
        self._node = node
        self._is_column = is_column
        self._refuse = refuse
        self._values: dict[int, exp.Expr] = {}
        self._parts = 0
        self._most = MOST_PARTS

    def over_groups(self) -> exp.Select:
        """The same as `in_list`, of a SELECT over groups."""
        self._most = MOST_PARTS_OVER_GROUPS
        return self.in_list()

    def in_list(self) -> exp.Select:
        """The SELECT without names of items in its list and its QUALIFY; itself where they had none.

        Raises:
            QueryRefused: by `refuse`, two items have a name that is used, or the names stand for too much.
        """
        qualify = self._node.args.get("qualify")
        items = [self._item(item, place) for place, item in enumerate(self._node.expressions)]
        test = None if qualify is None else self._written(qualify, len(items))
        if test is qualify and all(
            new is item for new, item in zip(items, self._node.expressions, strict=True)
        ):
            return self._node
        out = copied(self._node)
        out.set("expressions", [copied(new) for new in items])
        out.set("qualify", None if test is None else copied(test))
        return out

    def in_condition(self, node: exp.Expr) -> exp.Expr:
        """A condition without names of items; itself where it has none.

        Raises:
            QueryRefused: as for the list.
        """
        return self._written(node, len(self._node.expressions))

    def _item(self, item: exp.Expr, place: int) -> exp.Expr:
        """An item without names of others, under the name that it had with them."""
        new = self._written(item, place)
        return (
            new
            if new is item or isinstance(new, exp.Alias)
            else exp.alias_(new, output_name(item), quoted=True)
        )

    def _written(self, node: exp.Expr, before: int) -> exp.Expr:
        """An expression with the items before some place instead of their names."""
        # All that it names by way of others, the first ones first: a long chain is not followed to its end by calls.
        wanted: set[int] = set()
        ways = [(node, before)]
        while ways:
            inner, end = ways.pop()
            named = {self._place(column, end) for column in _columns(inner)} - wanted - {None}
            new = {place for place in named if place is not None}
            wanted |= new
            ways += [(unaliased(self._node.expressions[place]), place) for place in new - self._values.keys()]
        for place in sorted(wanted - self._values.keys()):
            self._values[place] = self._replaced(unaliased(self._node.expressions[place]), place)
        return self._replaced(node, before) if wanted else node

    def _replaced(self, node: exp.Expr, before: int) -> exp.Expr:
        out = exp.Paren(this=copied(node))
        for column in _columns(out):
            place = self._place(column, before)
            if place is None:
                continue
            if len(self._places[folded(column.name)]) > 1:
                raise self._refuse(column, f"Two columns are named {column.name}.",
                                   "Give one of them another name with AS.")  # fmt: skip
            value = self._values[place]
            self._parts += len(every(value))
            if self._parts > self._most:
                raise self._refuse(column, "The names of this SELECT list stand for very much, written out.",
                                   "Compute a part of them in a sub-query of FROM.")  # fmt: skip
            column.replace(copied(value) if isinstance(value, exp.Column) else exp.Paren(this=copied(value)))
        inner: exp.Expr = out.this
        return inner

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """The places of the items of each name; two of one name have been told apart by a number since."""
        found: dict[str, list[int]] = {}
        for place, item in enumerate(self._node.expressions):
            if isinstance(item, exp.Alias):
                found.setdefault(folded(item.meta.get(FIRST_NAME, item.alias)), []).append(place)
        return found

    def _place(self, column: exp.Column, before: int) -> int | None:
        """The place of the item that a name stands for; None where it is that of a column, or of nothing."""
        places = [place for place in self._places.get(folded(column.name), ()) if place < before]
        return None if column.table or not places or self._is_column(column.name.lower()) else places[-1]


def _columns(node: exp.Expr) -> list[exp.Column]:
    """The columns that an expression names, without those in sub-queries."""
    return [inner for inner in own_nodes(node) if isinstance(inner, exp.Column)]
