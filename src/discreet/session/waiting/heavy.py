"""Whether the part of a statement above its noisy tables would end, tried on invented numbers before it is charged.

A cross join of noisy tables is right for tables of one row, as which it is rehearsed, and takes hours for those of a
thousand. How many rows meet at most is read from the text, the groups and the public tables. Where that is much, the
statement is run on noisy tables that are as large and hold invented numbers. So whether it is refused depends on the
text, the policy and the public tables alone. A join on noisy numbers may still take longer with the real ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sandbox import Sandbox
from discreet.errors import PostProcessingError, QueryRefused
from discreet.sql.inspect.preview import expected_errors, invented
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.plan.unknown_groups import imagined
from discreet.sql.syntax.nodes import used
from discreet.sql.syntax.once import once

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.sql.plan.plan import QueryPlan

MANY = 1 << 22
"""Rows that may meet without a trial: these take a second at most."""
PATIENCE = 15.0
"""Seconds that the trial of a question may take, or that of several as one."""
ROWS = 1000
"""Rows of an invented group."""
_MAKERS = (exp.UDTF, exp.Explode, exp.GenerateSeries, exp.GenerateDateArray, exp.Values)


def see_ends(plans: Sequence[QueryPlan], public: Mapping[str, pa.Table], level: Level) -> None:
    """Try the statements in which very many rows meet; those that are asked as one share the time.

    Raises:
        QueryRefused: they take too long, or too much memory. Nothing was read or charged.
    """
    left = PATIENCE
    for plan in plans:
        if plan.releases and rows_met(plan, public) > MANY:
            left -= _tried(plan, public, level, left)


def _tried(plan: QueryPlan, public: Mapping[str, pa.Table], level: Level, patience: float) -> float:
    """Try a statement, and return the seconds that it took."""
    began, taken = monotonic(), 0.0
    made = imagined(plan)
    tables = {noisy.plan.name: noisy.table() for noisy in invented(made, ROWS)} | dict(
        used(public, plan.post)
    )
    try:
        with Sandbox(tables) as sandbox:
            sandbox.run(plan.post.sql("duckdb"), patience)
        expected_errors(plan, public, level, ROWS)  # the intervals, too, which may run it again
        taken = monotonic() - began
        late = taken > patience
    except PostProcessingError:
        late = True
    if late:
        raise QueryRefused(
            "The part of this question above its noisy tables takes too long, or too much memory: tried on invented "
            "numbers, it did not end.",
            "Join the aggregates on their keys, or take fewer groups.",
        )
    return taken


def shows_all(post: exp.Query) -> bool:
    """Whether the answer has a row for each group: nothing above the noisy table takes rows away or puts them together.

    Example:
        >>> from sqlglot import parse_one
        >>> [shows_all(parse_one(f"SELECT a, a AS b FROM t {rest}")) for rest in ("ORDER BY a", "LIMIT 1")]
        [True, False]
    """
    source = post.args.get("from_")
    plain = {key for key, value in post.args.items() if value} <= {"expressions", "from_", "order", "kind"}
    return plain and isinstance(source, exp.From) and isinstance(source.this, exp.Table)


def rows_met(plan: QueryPlan, public: Mapping[str, pa.Table]) -> float:
    """The most rows that meet in one SELECT above the noisy tables; infinite where the text does not say."""
    sizes: dict[str, float] = {name.lower(): len(table) for name, table in public.items()}
    sizes |= {release.name.lower(): release.cells for release in imagined(plan).releases}
    return _met(plan.post, tuple(sizes.items()))


@once
def _met(post: exp.Query, sizes: tuple[tuple[str, float], ...]) -> float:
    """The same, by the rows of each table."""
    meeting = _Meeting()
    meeting.rows(post, dict(sizes))
    return meeting.most


class _Meeting:
    """Walks through a statement, and notes where the most rows meet."""

    def __init__(self) -> None:
        self.most = 0.0

    def rows(self, node: exp.Expr, sizes: Mapping[str, float]) -> float:
        """The rows of a query or of a source of FROM, at most."""
        listed = node.args.get("with_")
        for cte in () if listed is None else listed.expressions:
            own = math.inf if listed is not None and listed.recursive else self.rows(cte.this, sizes)
            sizes = {**sizes, cte.alias.lower(): own}
        if isinstance(node, exp.Subquery):
            found = self.rows(node.this, sizes)
        elif isinstance(node, exp.SetOperation):
            found = self.rows(node.left, sizes) + self.rows(node.right, sizes)
        elif isinstance(node, exp.Select):
            found = self._selected(node, sizes)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            found = sizes.get(node.name.lower(), math.inf)
        else:
            found = math.inf
        for join in node.args.get("joins") or () if not isinstance(node, exp.Select) else ():
            found *= self.rows(join.this, sizes)
        self.most = max(self.most, found)
        return min(found, _limit(node))

    def _selected(self, node: exp.Select, sizes: Mapping[str, float]) -> float:
        source = node.args.get("from_")
        found = 1.0 if source is None else self.rows(source.this, sizes)
        parts = [join.this for join in node.args.get("joins") or ()] + (node.args.get("laterals") or [])
        for part in parts:
            found *= max(1.0, self.rows(part, sizes))
        own = [
            value for key, value in node.args.items() if key not in ("from_", "joins", "laterals", "with_")
        ]
        inside = [part for value in own for part in (value if isinstance(value, list) else [value])]
        made = 1.0
        for part in inside:
            if isinstance(part, exp.Expr):
                made *= self._within(part, sizes)
        self.most = max(self.most, found * made)
        single = node.args.get("group") is None and any(
            isinstance(item.unalias(), exp.AggFunc) for item in node.selects
        )
        return 1.0 if single else found * made if math.isinf(made) else found

    def _within(self, part: exp.Expr, sizes: Mapping[str, float]) -> float:
        """The rows that an expression meets for each row: those of sub-queries; infinite for one that makes rows."""
        made = 1.0
        for inner in part.walk(prune=lambda node: isinstance(node, exp.Query)):
            if isinstance(inner, exp.Query):
                meeting = _Meeting()
                meeting.rows(inner, sizes)
                made = max(made, meeting.most)
            elif isinstance(inner, _MAKERS):
                made = math.inf
        return made


def _limit(node: exp.Expr) -> float:
    limit = node.args.get("limit")
    number = limit.expression if isinstance(limit, exp.Limit) else None
    return float(number.name) if isinstance(number, exp.Literal) and not number.is_string else math.inf
