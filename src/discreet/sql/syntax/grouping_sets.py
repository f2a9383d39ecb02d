"""GROUPING SETS, ROLLUP and CUBE as one SELECT for each set of keys."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from sqlglot import exp

from discreet.policy.naming import folded
from discreet.sql.syntax.nodes import has_window, is_aggregate
from discreet.sql.syntax.parse import output_name
from discreet.sql.syntax.refusal import refuse

MOST_SETS = 64
MILLION = 1_000_000
"""From so many on, numbers are told by a word alone: they may have thousands of digits."""
_SETS = "grouping_sets"
"""The name under which a SELECT carries which grouping sets it is one of."""
PART = "__part_{}"
"""The name of a number of each set that an expression over all sets reads."""


def sets_of(node: exp.Expr) -> str:
    """The name of the grouping sets that a SELECT is one of; empty where it is none."""
    found: str = node.meta.get(_SETS, "")
    return found


def expand(node: exp.Select, text: str) -> exp.Query:
    """Rewrite a SELECT with several grouping sets as UNION ALL BY place of plain ones; leave others unchanged.

    A key that is not in a set is NULL in its rows, and GROUPING(key) is 1 there.

    Raises:
        QueryRefused: there are more than 64 sets, or a form that is not understood.
    """
    group = node.args.get("group")
    if group is None:
        return node
    several = [
        *(e for e in group.expressions if isinstance(e, exp.Rollup | exp.Cube | exp.GroupingSets)),
        *(e for part in ("rollup", "cube", "grouping_sets") for e in group.args.get(part) or []),
    ]
    if not several:
        return node
    if any(not isinstance(e, exp.Rollup | exp.Cube | exp.GroupingSets) for e in several):
        raise refuse(group, text, "This form of GROUP BY is not understood.", "Write ROLLUP (a, b).")
    # Counted before they are made: a CUBE of thirty keys fills the memory.
    count = math.prod(map(_number_of_sets, several))
    if count > MOST_SETS:
        said = f"{count:,}" if count < MILLION else "millions of"
        raise refuse(group, text, f"These are {said} grouping sets; at most {MOST_SETS} are allowed.",
                     "Ask for fewer.")  # fmt: skip
    _resolve(node, several)
    plain = [e for e in group.expressions if e not in several]
    sets = [
        [*plain, *itertools.chain.from_iterable(chosen)]
        for chosen in itertools.product(*(_sets(e, text) for e in several))
    ]
    every = list(dict.fromkeys(key for keys_of_set in sets for key in keys_of_set))
    _see_groupings(node, every, text)
    names = [output_name(item) for item in node.expressions]
    shown, over_all = _apart(node, every, names)
    inside = [output_name(item) for item in shown.expressions]
    selects = [_plain_grouping(shown, keys, every, inside) for keys in sets]
    for select in selects:
        select.meta[_SETS] = f"{_place(group)} {text}"
    union: exp.Query = selects[0]
    for other in selects[1:]:
        union = exp.Union(this=union, expression=other, distinct=False)
    outer = over_all.from_(
        exp.Subquery(this=union, alias=exp.TableAlias(this=exp.to_identifier("grouping_sets")))
    )
    for part in ("limit", "offset"):
        if node.args.get(part) is not None:
            outer.set(part, node.args[part].copy())
    if node.args.get("with_") is not None:
        outer.set("with_", node.args["with_"].copy())
    return outer


def _apart(node: exp.Select, every: list[exp.Expr], names: list[str]) -> tuple[exp.Select, exp.Select]:
    """The part that each set computes, and the part over the rows of all: windows, order, DISTINCT, QUALIFY.

    A window over the groups sees those of every set, so that it cannot stand in one of them.
    """
    parts: dict[exp.Expr, str] = {}

    listed = frozenset(name.lower() for name in names)
    keys = frozenset(key.name.lower() for key in every if isinstance(key, exp.Column))

    def read(expression: exp.Expr, known: frozenset[str] = frozenset()) -> exp.Expr:
        if isinstance(expression, exp.Column) and not expression.table and expression.name.lower() in known:
            return expression
        if not isinstance(expression, exp.Order | exp.Ordered | exp.Distinct | exp.Tuple | exp.Paren):
            known -= keys  # within an expression, a name that is that of a key means the key
        if expression in every or _is_grouping(expression) or is_aggregate(expression):
            name = parts.setdefault(expression.copy(), PART.format(len(parts)))
            return exp.column(exp.to_identifier(name, quoted=True))
        if isinstance(expression, exp.Query):
            return expression
        return _each(expression, lambda inner: read(inner, known))

    outer = exp.Select()
    kept = []
    for item, name in zip(node.expressions, names, strict=True):
        shown = exp.to_identifier(name, quoted=True)
        if has_window(item):
            outer.append("expressions", exp.alias_(read(item.copy().unalias()), shown))
        else:
            kept.append(item.copy())
            outer.append("expressions", exp.column(shown))
    for part in ("order", "distinct", "qualify"):
        if node.args.get(part) is not None:
            outer.set(part, read(node.args[part].copy(), listed))
    inner = node.copy()
    for part in ("order", "distinct", "qualify"):
        inner.set(part, None)
    kept += [
        exp.alias_(expression, exp.to_identifier(name, quoted=True)) for expression, name in parts.items()
    ]
    inner.set("expressions", kept)
    return inner, outer


def _is_grouping(node: exp.Expr) -> bool:
    named = isinstance(node, exp.Anonymous) and node.name.lower() in ("grouping", "grouping_id")
    return named or isinstance(node, exp.Grouping | exp.GroupingId)


def _each(node: exp.Expr, read: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """An expression, whose parts are each read."""
    for name, value in list(node.args.items()):
        if isinstance(value, exp.Expr):
            node.set(name, read(value))
        elif isinstance(value, list):
            node.set(name, [read(v) if isinstance(v, exp.Expr) else v for v in value])
    return node


def _place(group: exp.Expr) -> int:
    """Where a GROUP BY stands in its text."""
    return min((inner.meta["start"] for inner in group.walk() if "start" in inner.meta), default=0)


def _aliases(node: exp.Select) -> dict[str, exp.Expr]:
    """The expressions of the items of a SELECT list that have names of their own, by these."""
    return {folded(item.alias): item.this for item in node.expressions if isinstance(item, exp.Alias)}


def _resolve(node: exp.Select, several: list[exp.Expr]) -> None:
    """Put the expression of an alias in its place; a name that the expression itself reads is a column."""
    aliases = _aliases(node)
    for select in several:
        for column in list(select.find_all(exp.Column)):
            name = folded(column.name)
            meant = None if column.table else aliases.get(name)
            if meant is None or any(folded(c.name) == name for c in meant.find_all(exp.Column)):
                continue
            if isinstance(column.parent, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple | exp.Paren):
                column.replace(meant.copy())


def _see_groupings(node: exp.Select, every: list[exp.Expr], text: str) -> None:
    """Put into each GROUPING the keys that it names, spelled as they stand in GROUP BY: by these it is worked out.

    Raises:
        QueryRefused: it names something else, of which no set could tell whether it is grouped by.
    """
    aliases = _aliases(node)
    clauses = [*node.expressions, *(node.args.get(part) for part in ("having", "order", "qualify"))]
    for clause in clauses:
        for call in (
            [] if clause is None else list(clause.find_all(exp.Grouping, exp.GroupingId, exp.Anonymous))
        ):
            if _is_grouping(call) and call.parent_select is node:
                call.set(
                    "expressions", [_key(child, call, every, aliases, text) for child in call.expressions]
                )


def _key(
    child: exp.Expr, around: exp.Expr, every: list[exp.Expr], aliases: dict[str, exp.Expr], text: str
) -> exp.Expr:
    """The key that a part of GROUPING names: itself, as a column that is spelled otherwise, or by its alias."""
    named = aliases.get(folded(child.name)) if isinstance(child, exp.Column) and not child.table else None
    found = next(
        (key for key in every if key == child),
        next((key for key in every if _one_column(key, child)), named if named in every else None),
    )
    if found is None:
        raise refuse(around, text, f"{child.sql('duckdb')} is no key of this GROUP BY.",
                     "Write GROUPING of keys, as they stand there.")  # fmt: skip
    return found.copy()


def _one_column(key: exp.Expr, other: exp.Expr) -> bool:
    """Whether two expressions are one column, with its table or without, in whichever case."""
    if not isinstance(key, exp.Column) or not isinstance(other, exp.Column):
        return False
    tables = {folded(column.table) for column in (key, other) if column.table}
    return folded(key.name) == folded(other.name) and len(tables) <= 1


def _number_of_sets(node: exp.Expr) -> int:
    """How many sets a ROLLUP, a CUBE or GROUPING SETS stands for; another expression is one."""
    if isinstance(node, exp.Rollup):
        return len(node.expressions) + 1
    if isinstance(node, exp.Cube):
        return 1 << len(node.expressions)
    return sum(map(_number_of_sets, node.expressions)) if isinstance(node, exp.GroupingSets) else 1


def _sets(node: exp.Expr, text: str) -> list[list[exp.Expr]]:
    members = [_members(e) for e in node.expressions]
    if isinstance(node, exp.Rollup):
        return [list(itertools.chain.from_iterable(members[:n])) for n in range(len(members), -1, -1)]
    if isinstance(node, exp.Cube):
        return [
            list(itertools.chain.from_iterable(chosen))
            for n in range(len(members), -1, -1)
            for chosen in itertools.combinations(members, n)
        ]
    out: list[list[exp.Expr]] = []
    for e, listed in zip(node.expressions, members, strict=True):
        out += _sets(e, text) if isinstance(e, exp.Rollup | exp.Cube | exp.GroupingSets) else [listed]
    return out


def _members(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    if isinstance(node, exp.Paren):
        return [node.this]
    return [node]


def _plain_grouping(
    node: exp.Select, keys: list[exp.Expr], every: list[exp.Expr], names: list[str]
) -> exp.Select:
    out = node.copy()
    for part in ("order", "limit", "offset", "with_"):
        out.set(part, None)
    out.set("group", exp.Group(expressions=[key.copy() for key in dict.fromkeys(keys)]) if keys else None)
    absent = [key for key in every if key not in keys]
    items = []
    for item, name in zip(out.expressions, names, strict=True):
        inner = _without(item.unalias(), absent, keys)
        items.append(exp.alias_(inner, exp.to_identifier(name, quoted=True)))
    out.set("expressions", items)
    if out.args.get("having") is not None:
        out.set("having", exp.Having(this=_without(out.args["having"].this, absent, keys)))
    return out


def _without(node: exp.Expr, absent: list[exp.Expr], keys: list[exp.Expr]) -> exp.Expr:
    """An expression in which the keys that are not grouped by are NULL, outside of aggregates."""
    if node in keys:
        return node  # the keys that it reads itself stay
    if node in absent:
        return exp.null()
    if _is_grouping(node):
        bits = ["1" if key in absent else "0" for key in node.expressions]
        return exp.Literal.number(int("".join(bits) or "0", 2))
    if isinstance(node, exp.AggFunc | exp.Query):
        return node
    return _each(node, lambda inner: _without(inner, absent, keys))
