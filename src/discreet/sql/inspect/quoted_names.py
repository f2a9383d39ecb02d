"""The warning of a text in single quotes that is the name of a column: it is the same for every row."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from discreet.sql.algebra import relation as rel
from discreet.sql.plan.plan import QueryPlan

COMPARED = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Like,
    exp.ILike,
    exp.In,
    exp.Between,
    exp.Is,
)


def quoted_names(plan: QueryPlan) -> tuple[str, ...]:
    """The warnings, from the text and the names of the columns alone.

    A text is meant for a column where it is compared with nothing but other constants, or counted.
    """
    if "'" not in plan.text:
        return ()
    columns = {
        name for release in plan.releases for part in release.parts for name in _names(part.rows.relation)
    }
    if not columns:
        return ()
    try:
        statement = sqlglot.parse_one(plan.text, read="duckdb")
    except (ParseError, TokenError):
        return ()  # a form that is read in another way, such as one with its price in it
    found = (
        node.name
        for node in statement.find_all(exp.Literal)
        if node.is_string and node.name.lower() in columns and _stands_alone(node)
    )
    return tuple(
        f"'{name}' in single quotes is a text, and not the column: write \"{name}\""
        for name in dict.fromkeys(found)
    )


def _names(relation: rel.Relation) -> set[str]:
    return {name.lower() for scan in rel.scans(relation) for name in scan.table.columns}


def _stands_alone(node: exp.Literal) -> bool:
    parent = node.parent
    if isinstance(parent, exp.Distinct | exp.Count | exp.Group):
        return True
    return isinstance(parent, COMPARED) and parent.find(exp.Column) is None
