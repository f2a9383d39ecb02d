"""Clauses of other databases, which the parser takes and nobody reads: the answer would be that to another question.

Of each kind of clause the parts are listed that DuckDB has, and every other part is refused, whichever it is. So a part
that a later parser knows is refused, too, until it is listed here and read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import TokenType

from discreet.errors import QueryRefused
from discreet.sql.syntax.refusal import match_at_token, place, refuse, refuse_at

_BEHIND = ("with_", "joins", "pivots", "sample", "laterals", "order", "limit", "offset", "locks")
_OF_SETS = ("this", "expression", "distinct", "by_name", *_BEHIND)
_FRAME = ("this", "partition_by", "order", "spec", "alias", "over")
READ: Final[dict[type[exp.Expr], frozenset[str]]] = {
    kind: frozenset(names)
    for kind, names in {
        exp.Select: ("expressions", "distinct", "from_", "where", "group", "having", "qualify", "windows", "into",
                     *_BEHIND),
        exp.Union: _OF_SETS, exp.Intersect: _OF_SETS, exp.Except: _OF_SETS,
        exp.Subquery: ("this", "alias", *_BEHIND),
        exp.Table: ("this", "alias", "db", "catalog", "joins", "pivots", "sample", "ordinality"),
        exp.Join: ("this", "on", "side", "kind", "using", "method", "pivots"),
        exp.Group: ("expressions", "all"),
        exp.Order: ("this", "expressions"), exp.Ordered: ("this", "desc", "nulls_first"),
        exp.Limit: ("expression", "limit_options"), exp.Fetch: ("direction", "count", "limit_options"),
        exp.LimitOptions: ("percent", "rows"), exp.Offset: ("expression",),
        exp.Window: _FRAME, exp.With: ("expressions", "recursive"),
        exp.CTE: ("this", "alias", "materialized", "key_expressions"),
        exp.Cast: ("this", "to"), exp.TryCast: ("this", "to", "safe", "requires_string"),
        exp.Column: ("this", "table", "db", "catalog"),
    }.items()
}  # fmt: skip
"""By each kind of clause, the parts that DuckDB has."""
_WORDS: Final = {
    "rollup": "WITH ROLLUP", "cube": "WITH CUBE", "totals": "WITH TOTALS", "sort": "SORT BY", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY", "all": "GROUP BY DISTINCT", "with_ties": "WITH TIES", "percent": "PERCENT",
    "with_fill": "WITH FILL", "siblings": "SIBLINGS", "default": "DEFAULT", "kind": "AS", "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE", "for_": "FOR", "hints": "A hint how a table is read", "join_mark": "(+)",
    "when": "An earlier version of a table", "version": "An earlier version of a table",
}  # fmt: skip
"""The words that a part begins with, where its name in the tree is another one."""
_FLAGS: Final = frozenset({"with_ties", "percent"})
"""Parts that the tree always has, and that are true where the text has them."""


def see(nodes: Iterable[exp.Expr], text: str) -> None:
    """See that every clause has the parts alone that DuckDB has.

    Raises:
        QueryRefused: it has another one, or a form of one that DuckDB does not have.
    """
    joins: list[exp.Join] = []
    for node in nodes:
        if isinstance(node, exp.Join):
            joins.append(node)
        read = READ.get(type(node))
        if read is not None:
            for name in strange(node, read):
                raise _refused(node, name, text)
        if isinstance(node, exp.Star) and isinstance(node.parent, exp.Count) and any(node.args.values()):
            raise refuse(node.parent, text, "COUNT(*) counts rows, whichever columns they have.",
                         "Write COUNT(*), or COUNT(x) for the rows in which x is there.")  # fmt: skip
    _see_partners(joins, text)


def _see_partners(joins: Sequence[exp.Join], text: str) -> None:
    """See that every JOIN says which rows are partners: the parser takes one that does not for a comma.

    Raises:
        QueryRefused: one does not, so that each row would be paired with each.
    """
    without = [join for join in joins if _without_partners(join) and join.args.get("kind") != "CROSS"]
    certain = [join for join in without if join.args.get("kind")]
    if without and not certain:  # each stands behind JOIN, or behind a comma
        pairs = list(pairwise(DuckDB().tokenize(text)))
        words = sum(
            token.token_type is TokenType.JOIN and before.token_type not in (TokenType.DOT, TokenType.ALIAS)
            for before, token in pairs
        )
        if words <= len(joins) - len(without):
            return
        behind = {token.start for before, token in pairs if before.token_type is TokenType.JOIN}
        found = ((join, place(join, text)) for join in without)
        certain = [join for join, where in found if where is not None and where[0] in behind]
    if without:
        join = (certain or without)[0]
        kind = join.args.get("kind") or ""
        name = f"A{'n' if kind[:1] in ('I', 'A') else ''} {kind} JOIN".replace("  ", " ")
        raise refuse(join, text, f"{name} without ON is not SQL of DuckDB.",
                     "Say with ON or USING which rows are partners, or write CROSS JOIN for all pairs.")  # fmt: skip


def strange(node: exp.Expr, read: frozenset[str]) -> Iterator[str]:
    """The parts of a clause that are not read, by their names in the tree."""
    for name, value in node.args.items():
        if name not in read and (value if name in _FLAGS else value is not None and value != []):
            yield name
    if isinstance(node, exp.Group) and node.args.get("all") is not None and node.expressions:
        yield "all"
    if isinstance(node, exp.Fetch) and _option(node, "percent"):
        yield "percent"
    if (
        isinstance(node, exp.Join)
        and node.args.get("side")
        and (_of_one_side(node) or _without_partners(node))
    ):
        yield "side"


def _of_one_side(join: exp.Join) -> bool:
    return join.args.get("kind") in ("SEMI", "ANTI")


def _without_partners(join: exp.Join) -> bool:
    """Whether nothing says which rows are partners."""
    return not any(join.args.get(part) for part in ("on", "using", "method"))


def _option(node: exp.Fetch, name: str) -> bool:
    options = node.args.get("limit_options")
    return options is not None and bool(options.args.get(name))


def _refused(node: exp.Expr, name: str, text: str) -> QueryRefused:
    said, fix = _WORDS.get(name, name.strip("_").replace("_", " ").upper()), "Leave it out."
    if isinstance(node, exp.Group):
        keys = ", ".join(key.sql("duckdb") for key in node.expressions) or "a, b"
        fix = f"Write GROUP BY {'CUBE' if name == 'cube' else 'ROLLUP'} ({keys})."
        if name == "all":
            said, fix = f"GROUP BY {'ALL' if node.args['all'] else 'DISTINCT'}", f"Write GROUP BY {keys}."
            return _pointed(node, said, text, f"{said} with keys behind it is not SQL of DuckDB.", fix)
    elif isinstance(node, exp.SetOperation) and name in ("side", "kind"):
        said = f"{node.args[name]} {node.key.upper()}"
    elif isinstance(node, exp.Join) and name == "side" and _of_one_side(node):
        said, fix = f"{node.args['side']} {node.args['kind']} JOIN", f"Write {node.args['kind']} JOIN."
    elif isinstance(node, exp.Join) and name == "side":
        said, fix = f"A {node.args['side']} JOIN without ON", "Say with ON or USING which rows are partners."
    elif name in ("sort", "cluster", "distribute", "siblings"):
        fix = "Write ORDER BY."
    elif name == "kind":
        said, fix = f"SELECT AS {node.args['kind']}", "Leave AS and the word behind it out."
    elif isinstance(node, exp.Cast):
        fix = "Write CAST(x AS type), or TRY_CAST, which is NULL where x is no value of the type."
    return _pointed(node, said, text, f"{said} is not SQL of DuckDB.", fix)


def _pointed(node: exp.Expr, words: str, text: str, cause: str, fix: str) -> QueryRefused:
    """The refusal, at the words where the text has them, and else at the clause."""
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    found = match_at_token(pattern, text)
    return refuse(node, text, cause, fix) if found is None else refuse_at(text, *found.span(), cause, fix)
