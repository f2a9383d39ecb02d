"""A release scope: private rows grouped by public keys, with everything above the aggregates left as SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.errors import QueryRefused
from discreet.records import dataclass, field
from discreet.release.noisy_schema import aggregate_name, key_name, table_name
from discreet.sql.algebra.keys import MAX_CELLS, Key, cells, public_values
from discreet.sql.algebra.public_groups import Groups, public_groups
from discreet.sql.algebra.relation import PrivateRows, Relation
from discreet.sql.algebra.released import released_tables
from discreet.sql.analyze.aggregates import conditioned_bounds
from discreet.sql.analyze.aggregates.aggregate import RequestedAggregate, read_aggregate
from discreet.sql.analyze.aggregates.expanded import Expansion
from discreet.sql.analyze.aggregates.implied_bounds import clamped
from discreet.sql.analyze.aggregates.quantiles_of_moments import as_moment
from discreet.sql.analyze.aggregates.unmatched_rows import UnmatchedRows
from discreet.sql.analyze.distinct_on import on_of, shown
from discreet.sql.analyze.false_conditions import conditions, unlisted, verdict
from discreet.sql.analyze.scope_tree import NUMBER, Refuse, ReleaseScope, Scope
from discreet.sql.analyze.subqueries.inner_queries import over_groups
from discreet.sql.expressions.canonical import distinct, see_spelling
from discreet.sql.expressions.expression import Call, Expression, leaves
from discreet.sql.syntax.grouping_sets import sets_of
from discreet.sql.syntax.nodes import has_aggregate, is_aggregate, literal_of, reads_rows, rebuilt, unaliased
from discreet.sql.syntax.parse import output_name
from discreet.sql.syntax.select_lists import named_items, with_aliases

if TYPE_CHECKING:
    import pyarrow as pa

ANY_ROW = (exp.AnyValue, exp.First, exp.Last)
"""Aggregates that show the value of some row, which is that of every row of the group where it is a key."""
CELLS = ("grid", "h3_cell")
MOST_PARTS = 10_000
"""Parts of the expressions above the rows of one release, names of the SELECT list written out: these can double."""


@dataclass
class UnplannedRelease:
    """A release before its measures are chosen and its epsilon is shared out."""

    name: str
    rows: PrivateRows
    keys: tuple[Key, ...]
    place: exp.Expr
    requests: list[RequestedAggregate] = field(default_factory=list)
    grouping_sets: str = ""
    _places: dict[RequestedAggregate, int] = field(default_factory=dict)

    @property
    def unknown(self) -> bool:
        """Whether its groups must be found."""
        return not all(key.public for key in self.keys)

    def column(self, request: RequestedAggregate) -> exp.Column:
        """The column of the noisy table that answers a request."""
        index = self._places.setdefault(request, len(self.requests))
        if index == len(self.requests):
            self.requests.append(request)
        return exp.column(aggregate_name(index), table=self.name)


class ReleaseReader:
    """Makes an unplanned release, and a SELECT over its noisy table, of a release scope.

    Args:
        scope: the scope.
        number: of the release in the statement.
        unknown_keys: whether groups may be found whose keys are not public.
        refuse: makes refusals.
        constants: the rows of a query of constants.
        groups: the groups that private rows can have.
    """

    def __init__(
        self,
        scope: ReleaseScope,
        number: int,
        unknown_keys: bool,
        refuse: Refuse,
        constants: Callable[[exp.Query], pa.Table],
        groups: Groups = public_groups,
    ) -> None:
        self.scope = scope
        self.unknown_keys = unknown_keys
        self.node = node = scope.select
        self.from_clause = from_clause = scope.from_clause
        self.refuse = refuse
        self.groups = groups
        given = released_tables([from_clause.rows.relation]).values()
        self._released = {name for table in given for name in table.data.column_names}
        self.binder = from_clause.binder()
        self.within = from_clause.binder(clamped(from_clause.rows, from_clause.column))
        conditioned = conditioned_bounds.clamped(from_clause.rows, from_clause.column)
        self.bounded = from_clause.binder(clamped(from_clause.rows, conditioned))
        keys = self._keys(scope.groups)
        count = cells(tuple(key for key in keys if key.public))
        if count > MAX_CELLS:
            raise refuse(node.args["group"], f"There are {count:,} groups; at most {MAX_CELLS:,} can be "
                         "answered.", "Group by fewer or coarser keys.")  # fmt: skip
        self.unplanned = UnplannedRelease(
            table_name(number),
            from_clause.rows,
            keys,
            node.args.get("group") or node.expressions[0],
            grouping_sets=sets_of(node),
        )
        self.unmatched = UnmatchedRows(from_clause.rows.relation, [key.expression for key in keys])
        self.expansion = Expansion(from_clause.rows.relation, self.binder, constants)
        self._item = named_items(node, refuse)
        self._parts = 0

    def _named(self, node: exp.Expr) -> exp.Expr:
        return with_aliases(node, self._item, lambda column: self._as_key(column) is not None)

    def _named_beside_columns(self, node: exp.Expr) -> exp.Expr:
        """An expression of ORDER BY, in which a column of FROM comes before a name of the SELECT list."""
        columns = self.from_clause.rows.columns
        return with_aliases(node, self._item, lambda column: column.name.lower() in columns)

    def _counted(self) -> str:
        """A column that is never NULL in a private row, for advice."""
        return next(
            (f"{table}.{name}" for table, columns in self.from_clause.tables.items() for name, column in columns.items()
             if column.name in self.from_clause.held), "x",
        )  # fmt: skip

    def post(self, rest: Callable[[Scope], exp.Expr]) -> exp.Select:
        """The SELECT over the noisy table that takes the place of this one.

        Args:
            rest: gives the rest of a scope inside this one.
        """
        self.rest = rest
        out = exp.Select()
        for item in self.node.expressions:
            if item.is_star:
                raise self.refuse(
                    item, "* stands for columns of single rows.", "Name the keys and aggregates."
                )
            name = exp.to_identifier(output_name(item), quoted=True)
            lifted = self.lift(unaliased(item))
            plain = type(lifted) is exp.Column  # most are, and `alias_` would copy it
            out.append(
                "expressions", exp.Alias(this=lifted, alias=name) if plain else exp.alias_(lifted, name)
            )
        out.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(self.unplanned.name))))
        having = self.node.args.get("having")
        tests = [] if having is None else [self.lift(self._named(having.this))]
        tests += self._of_groups()
        if tests:
            out.set("where", exp.Where(this=exp.and_(*tests)))
        qualify = self.node.args.get("qualify")
        if qualify is not None:
            out.set("qualify", exp.Qualify(this=self.lift(self._named(qualify.this))))
        order = self.node.args.get("order")
        if order is not None:
            out.set("order", exp.Order(expressions=[self._ordered(o) for o in order.expressions]))
        for part in ("limit", "offset", "distinct"):
            value = self.node.args.get(part)
            if value is not None:
                for inner in list(value.walk(prune=_marked)):
                    if _marked(inner):
                        rest(self.scope.subquery(inner))
                out.set(part, value)
        on = None if out.args.get("distinct") is None else out.args["distinct"].args.get("on")
        if on is not None:
            keys = [self.lift(self._named_beside_columns(shown(self.node, key))) for key in on_of(on)]
            out.set("distinct", exp.Distinct(on=exp.Tuple(expressions=keys)))
        out.set("with_", self.scope.node.args.get("with_"))
        return out

    def _of_groups(self) -> list[exp.Expr]:
        """The conditions of WHERE on keys and released numbers alone: these take groups away, once they are drawn."""
        found = [over_groups(condition, self._key_column) for condition in self.scope.conditions]
        return [condition for condition in found if condition is not None]

    def _key_column(self, node: exp.Expr) -> exp.Expr | None:
        key = self._as_key(node)
        return None if key is None else exp.column(key_name(key), table=self.unplanned.name)

    def _keys(self, nodes: Sequence[exp.Expr]) -> tuple[Key, ...]:
        """The keys of GROUP BY, with the groups that WHERE and public tables leave."""
        bound = self.read_keys = [self._bound_key(node) for node in nodes]
        found = self._public_keys(bound)
        if len(found) < len(nodes):
            # A count of the rows of a unit is within the bounds that follow from its cap, as where it is added up.
            within = [self.within.bind(node) for node in nodes]
            other = [key if index not in found and public_values(key) is not None else bound[index]
                     for index, key in enumerate(within)]  # fmt: skip
            if other != bound:
                bound, found = other, self._public_keys(other)
        return tuple(self._key(index, node, bound[index], found) for index, node in enumerate(nodes))

    def _public_keys(self, bound: Sequence[Expression]) -> dict[int, Key]:
        found: dict[int, Key] = {}
        for number, block in enumerate(self.groups(self.from_clause.rows.relation, bound)):
            values = zip(*block.groups, strict=True) if block.groups else ((),) * len(block.indices)
            for index, column in zip(block.indices, values, strict=True):
                alone = len(block.indices) == 1
                listed = distinct(column, bound[index].type) if alone else tuple(column)
                found[index] = Key(bound[index], listed, block=None if alone else number)
        return found

    def _bound_key(self, node: exp.Expr) -> Expression:
        if has_aggregate(node):
            raise self.refuse(node, "An aggregate cannot be grouped by.", "Group by columns of the rows.")
        bound = self.binder.bind(node)
        if next(leaves(bound), None) is None:
            raise self.refuse(node, "This key is the same for every row.", "Remove it from GROUP BY.")
        return bound

    def _key(self, index: int, node: exp.Expr, bound: Expression, found: dict[int, Key]) -> Key:
        key = found.get(index)
        if key is not None and 0 < len(key.values) <= MAX_CELLS:
            return key
        subject = node.sql("duckdb")
        if key is None and self.unknown_keys:
            see_spelling(bound, subject, lambda cause, fix: self.refuse(node, cause, fix))
            return Key(bound, (), public=False)
        if key is None and any(c.name in self._released for c in leaves(bound)):
            raise self.refuse(node, f"{subject} is a released number, and its noise would decide the groups of rows.",
                              "Group by the keys that it belongs to, and that answer by it: SELECT n, SUM(c) FROM "
                              "(SELECT k, COUNT(*) AS c, AVG(x) AS n … GROUP BY k) GROUP BY n.")  # fmt: skip
        if key is None and isinstance(bound, Call) and bound.name in CELLS:
            raise self.refuse(node, *_too_many_cells(bound, subject))
        if key is None:
            whole = (
                f"clamp({subject}, 1, 10)" if bound.type is Type.INTEGER else "floor(x / 10) of a bounded x"
            )
            raise self.refuse(node, f"The groups of {subject} are not public.",
                              "Declare keys or bounds of its columns in the policy, or group by a CASE or a "
                              f"bounded integer, for instance {whole}; or give a delta, and "
                              "groups of many units are found.")  # fmt: skip
        if not key.values:
            raise self.refuse(node, f"No public value of {subject} can have rows here.",
                              _meant(self.from_clause.rows.relation))  # fmt: skip
        raise self.refuse(node, f"There are {len(key.values):,} groups; at most {MAX_CELLS:,} can be answered.",
                          "Group by a coarser key.")  # fmt: skip

    def _ordered(self, node: exp.Expr) -> exp.Expr:
        target = node.this
        if isinstance(target, exp.Literal | exp.Var):
            return node.copy()
        if isinstance(target, exp.Column) and self._item(target) is not None:
            return node.copy()
        moved = node.copy()
        moved.set("this", self.lift(self._named_beside_columns(target)))
        return moved

    def lift(self, node: exp.Expr) -> exp.Expr:
        """Rewrite an expression of the release as one over its noisy table."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise self.refuse(node, f"The expressions above the aggregates have more than {MOST_PARTS:,} parts.",
                              "Write fewer, or compute parts of them in a sub-query.")  # fmt: skip
        if isinstance(node, exp.Grouping) and all(self._as_key(arg) is not None for arg in node.expressions):
            return exp.cast(exp.Literal.number(0), "BIGINT")
        if is_aggregate(node):
            same = self._as_key(node.this) if isinstance(node, ANY_ROW) and node.this is not None else None
            if same is not None:
                return exp.column(key_name(same), table=self.unplanned.name)
            several = self.expansion.of(node)
            if several is not None:
                return self.lift(several)
            request = read_aggregate(node, self.binder, self.from_clause.held, self.bounded)
            found = self.unmatched.answered(
                request, self.unplanned.column(request), self._counted(), lambda *why: self.refuse(node, *why)
            )
            return found if request.moment is None else as_moment(found, *request.moment)
        if isinstance(node, exp.Query):
            inside = self.rest(self.scope.subquery(node)).copy()
            return exp.Subquery(this=inside) if isinstance(node, exp.Subquery) else inside
        key = self._as_key(node)
        if key is not None:
            return exp.column(key_name(key), table=self.unplanned.name)
        if isinstance(node, exp.Column):
            bound = self.binder.bind(node)  # an unknown column is refused as such
            around = node.find_ancestor(exp.Anonymous)
            if around is not None:
                self.binder.bind(around)  # and so is an unknown function, which may be meant for an aggregate
            name = node.this.sql("duckdb")
            some = f"AVG({name})" if bound.type in (Type.INTEGER, Type.FLOAT) else f"COUNT(DISTINCT {name})"
            raise self.refuse(node, f"{node.sql('duckdb')} is neither grouped by nor inside an aggregate.",
                              f"Add it to GROUP BY, or write for instance {some}.")  # fmt: skip
        if not isinstance(node, exp.Window):
            return rebuilt(node, self.lift)
        # The function of a window runs over the groups, not over the rows; its arguments are lifted.
        function = node.this
        return rebuilt(
            node, lambda part: rebuilt(part, self.lift, (exp.Star,)) if part is function else self.lift(part)
        )

    def _as_key(self, node: exp.Expr) -> int | None:
        if not reads_rows(node):
            return None
        try:
            bound = self.binder.bind(node)
        except QueryRefused:
            return None
        return next((index for index, key in enumerate(self.read_keys) if key == bound), None)


def _too_many_cells(bound: Expression, subject: str) -> tuple[str, str]:
    """Cause and fix of the refusal of a map whose cells are not listed."""
    if all(column.span.bounded for column in leaves(bound)):
        return (f"{subject} has more than 1,000,000 cells within the bounds of its columns.",
                "Write larger cells, such as grid(lng, lat, 0.5) or h3_cell(lat, lng, 5); or filter by a box first; or "
                "give a delta, and cells of many units are found.")  # fmt: skip
    return (
        f"The cells of {subject} are not public, for one of its columns has no bounds.",
        "Declare the bounds of both columns in the policy; or give a delta, and cells of many units are found.",
    )


def _meant(relation: Relation) -> str:
    """The fix where WHERE leaves no group: the key that was meant, where a condition names something like one."""
    found = (unlisted(condition) for condition in conditions(relation))
    near = next((missing for missing in found if missing is not None and missing.near is not None), None)
    if near is not None:
        said = literal_of(near.near).sql("duckdb")
        return f"Did you mean {said}? The policy lists the keys of {near.column.name}."
    beyond = [leaf.name for each in conditions(relation) if verdict(each) is False for leaf in leaves(each)]
    if beyond:
        return f"Ask for values of {beyond[0]} within its bounds: no other is left, as each row is clamped into them."
    return "Look at the conditions of WHERE and at the keys and bounds of the policy, or group by something else."


def _marked(node: exp.Expr) -> bool:
    """Whether a node is a sub-query of a release."""
    return isinstance(node, exp.Query) and NUMBER in node.meta
