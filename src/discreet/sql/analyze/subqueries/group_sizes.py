"""How many groups have so many rows, where nobody may know the groups: how many people are unique in a table?

    SELECT COUNT(*) FROM (SELECT hla FROM people GROUP BY hla HAVING COUNT(*) = 1)

Groups that are not public cannot be counted after the release, since none of them may be shown; and noise hides which
groups are small. So these are counted in the engine, as a measure of the rows: one row more or fewer changes the size
of one group, and the count by at most 1. Large groups with public keys are told apart as well by their noisy sizes.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.algebra.public_groups import public_groups
from discreet.sql.analyze.aggregates.distinct_values import as_one_value, count_of_groups
from discreet.sql.analyze.scope_tree import ReleaseScope, Scope
from discreet.sql.syntax.nodes import conjunct_nodes, has_aggregate, has_only, is_aggregate, unaliased
from discreet.sql.syntax.parse import output_name

OF_GROUPS = frozenset({"expressions", "from_", "where", "with_"})
OF_ROWS = frozenset({"expressions", "from_", "joins", "where", "group", "having"})
SMALL = 10
"""Whether groups have more rows than so many, or fewer, is seen in the engine even where they are public: noise as
large as such groups says little of them, and public groups without rows would count as small ones."""
TURNED = {exp.EQ: exp.EQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
"""Comparisons, and the same with their sides exchanged."""


@dataclass(frozen=True)
class AskedSizes:
    """A question for the number of groups of some size.

    Attributes:
        select: the question.
        inner: the groups.
        with_: the tables of WITH beside them, if there are any.
        least: the least number of rows of a group that counts.
        most: the greatest; None for no limit.
        units: the unit, where these are counted and not rows.
        of: a key, where rows are counted in which it is not NULL.
    """

    select: exp.Select
    inner: exp.Select
    with_: exp.With | None
    least: int
    most: int | None
    units: exp.Expr | None
    of: exp.Expr | None = None

    @property
    def groups(self) -> exp.Select:
        """The groups as a query that can be read alone."""
        return _with(self.inner, self.with_)

    def counted(self, scope: Scope | None) -> exp.Select | None:
        """The question as one over the rows of the groups; None where their noisy sizes do, or there are no groups.

        Args:
            scope: of `groups`.

        Raises:
            QueryRefused: the keys cannot be told apart in the same way on all engines.
        """
        if not isinstance(scope, ReleaseScope) or not scope.groups:
            return None
        if self.units is not None and not scope.from_clause.is_unit(self.units):
            return None
        binder = scope.from_clause.binder()
        keys = [binder.bind(node) for node in scope.groups]
        if self.of is not None and binder.bind(self.of) not in keys:
            return None
        public = {
            index for block in public_groups(scope.from_clause.rows.relation, keys) for index in block.indices
        }
        if len(public) == len(keys) and (self.least - 1 if self.most is None else self.most) > SMALL:
            return None
        as_one_value([node.copy() for node in scope.groups], binder)  # refuses by the names in the text
        named = [node.copy() for node in scope.groups]
        out = exp.Select()
        for part in ("from_", "joins", "where"):
            value = self.inner.args.get(part)
            out.set(
                part, [join.copy() for join in value] if isinstance(value, list) else value and value.copy()
            )
        if self.of is not None:
            known = exp.Not(this=exp.Is(this=self.of.copy(), expression=exp.Null()))
            where = out.args.get("where")
            out.set("where", exp.Where(this=exp.and_(known, *([] if where is None else [where.this]))))
        if self.units is not None:
            out, named = _once_by_unit(out, self.units, named)
        count = count_of_groups(named, self.least, self.most)
        for item in self.select.expressions:
            moved = unaliased(item).copy().transform(lambda n: count.copy() if _counts(n) else n)
            out.append("expressions", exp.alias_(moved, exp.to_identifier(output_name(item), quoted=True)))
        return _with(out, self.with_)


def asked_sizes(node: exp.Select) -> AskedSizes | None:
    """A SELECT as a question for the number of groups of some size; None where it asks for anything else."""
    if not has_only(node, OF_GROUPS) or not all(_of_counts(item) for item in node.expressions):
        return None
    inner, with_ = _source(node)
    if inner is None or not has_only(inner, OF_ROWS) or not isinstance(inner.args.get("group"), exp.Group):
        return None
    if any(value for key, value in inner.args["group"].args.items() if key not in ("expressions", "all")):
        return None
    counts = {item.alias_or_name.lower(): unaliased(item) for item in inner.expressions}
    none: dict[str, exp.Expr] = {}
    tests = [(test.copy(), none) for test in _conjuncts(inner, "having")]
    tests += [(test.copy(), counts) for test in _conjuncts(node, "where")]
    ranges = [_range(test, names) for test, names in tests]
    if any(found is None for found in ranges):
        return None
    found = [bounds for bounds in ranges if bounds is not None]
    counted = {bounds[0].sql(): bounds[0] for bounds in found} or {"": exp.Count(this=exp.Star())}
    if len(counted) > 1:
        return None
    (count,) = counted.values()
    least, most = (
        max([1, *(low for _, low, _ in found)]),
        min((high for _, _, high in found if high is not None), default=None),
    )
    if most is not None and most < least:
        return None
    units = count.this.expressions[0] if isinstance(count.this, exp.Distinct) else None
    of = count.this if isinstance(count.this, exp.Column) else None
    return AskedSizes(node.copy(), inner.copy(), with_, least, most, units, of)


def _of_counts(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list stands on COUNT(*) alone."""
    if not has_aggregate(item) or item.find(exp.Column, exp.Query, exp.Window, exp.Filter):
        return False
    return all(_counts(n) for n in item.walk() if is_aggregate(n))


def _counts(node: exp.Expr) -> bool:
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and not node.expressions


def _source(node: exp.Select) -> tuple[exp.Select | None, exp.With | None]:
    """The one SELECT behind FROM, written there or in WITH, and the other tables of WITH."""
    with_, clause = node.args.get("with_"), node.args.get("from_")
    source = None if clause is None else clause.this
    if isinstance(source, exp.Subquery) and _plain(source):
        return (source.this if isinstance(source.this, exp.Select) else None), with_ and with_.copy()
    if (
        with_ is None
        or with_.recursive
        or not isinstance(source, exp.Table)
        or source.db
        or not _plain(source)
    ):
        return None, None
    name = source.name.lower()
    if sum(table.name.lower() == name for table in node.find_all(exp.Table)) > 1:
        return None, None
    rest = with_.copy()
    rest.set("expressions", [cte for cte in rest.expressions if cte.alias.lower() != name])
    found = [cte for cte in with_.expressions if cte.alias.lower() == name and not cte.args["alias"].columns]
    inner = found[0].this if found else None
    return (inner if isinstance(inner, exp.Select) else None), rest if rest.expressions else None


def _plain(source: exp.Expr) -> bool:
    alias = source.args.get("alias")
    columns = isinstance(alias, exp.TableAlias) and bool(alias.columns)
    return not columns and all(key in ("this", "alias") for key, value in source.args.items() if value)


def _conjuncts(node: exp.Select, part: str) -> list[exp.Expr]:
    clause = node.args.get(part)
    return conjunct_nodes(None if clause is None else clause.this)


def _range(test: exp.Expr, names: dict[str, exp.Expr]) -> tuple[exp.Count, int, int | None] | None:
    """Which count a condition compares with whole numbers, the least and the greatest that meet it."""
    if isinstance(test, exp.Between):
        count, low, high = _count(test.this, names), _whole(test.args["low"]), _whole(test.args["high"])
        if count is None or low is None or high is None:
            return None
        return None if isinstance(count.this, exp.Column) and low < 1 else (count, low, high)
    kind = type(test)
    if kind not in TURNED:
        return None
    count, number = _count(test.this, names), _whole(test.expression)
    if count is None:
        count, number, kind = _count(test.expression, names), _whole(test.this), TURNED[kind]
    if count is None or number is None:
        return None
    if isinstance(count.this, exp.Column) and (kind in (exp.LT, exp.LTE) or number < 1):
        return None  # of the group of NULL it is 0
    least, most = {
        exp.EQ: (number, number), exp.LT: (1, number - 1), exp.LTE: (1, number),
        exp.GT: (number + 1, None), exp.GTE: (number, None),
    }[kind]  # fmt: skip
    return count, least, most


def _count(node: exp.Expr, names: dict[str, exp.Expr]) -> exp.Count | None:
    """A count of rows, of those with a key, or of the different values of one column, by itself or by its name."""
    if isinstance(node, exp.Column):
        node = names.get(node.name.lower(), node)
    if _counts(node):
        return node if isinstance(node, exp.Count) else None
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Column) and not node.expressions:
        return node
    distinct = (
        isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct) and not node.this.args.get("on")
    )
    alone = distinct and len(node.this.expressions) == 1 and isinstance(node.this.expressions[0], exp.Column)
    return node if alone and isinstance(node, exp.Count) else None


def _whole(node: exp.Expr) -> int | None:
    """A whole number that is written out."""
    return (
        int(node.name)
        if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
        else None
    )


def _once_by_unit(
    rows: exp.Select, unit: exp.Expr, keys: list[exp.Expr]
) -> tuple[exp.Select, list[exp.Expr]]:
    """Rows as one row for each unit and group, and the keys of these."""
    names = [f"__group_{index}" for index in range(len(keys))]
    rows.append("expressions", unit.copy())
    for key, name in zip(keys, names, strict=True):
        rows.append("expressions", exp.alias_(key.copy(), name))
    rows.set("group", exp.Group(expressions=[unit.copy(), *(key.copy() for key in keys)]))
    source = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("__groups")))
    return exp.Select(from_=exp.From(this=source)), [exp.column(name) for name in names]


def _with(select: exp.Select, with_: exp.With | None) -> exp.Select:
    out = select.copy()
    out.set("with_", None if with_ is None else with_.copy())
    return out


__all__ = ["asked_sizes"]
