"""The ends of an expression over numbers that lie in bands: interval arithmetic, as SQL.

Each expression has a lower and an upper end, which are expressions over the ends of its columns; each condition has
two: one that says where it holds surely and one where it holds possibly (Moore 1966; for SQL: Feng, Glavic, Huber and
Kennedy 2021). An expression that is not understood may lie anywhere, so that no interval is ever too narrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.intervals.bands import curvature

ANYWHERE = ("CAST('-Infinity' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)")
LONGEST_END = 100_000
"""Characters of an end. Products, quotients and absolute values write those of their parts several times, so that the
ends of a nested one grow as a power; one that is longer may lie anywhere."""
_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LTE, exp.GTE: exp.LT, exp.LT: exp.GTE, exp.LTE: exp.GT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip
_RISING = (exp.Round, exp.Floor, exp.Ceil, exp.Sqrt, exp.Ln, exp.Exp, exp.Cbrt)


Number = tuple[str, str]
"""An aggregate of a noisy table."""


@dataclass(frozen=True)
class Role:
    """Noisy numbers that a value is made of, by their parts in it.

    Attributes:
        compared: those that are compared with each other.
        told: those of which one is told, of a row that the comparisons find; none for a rank.
        middle: whether the median is taken of those compared.
    """

    compared: frozenset[Number]
    told: frozenset[Number] = frozenset()
    middle: bool = False


@dataclass(frozen=True)
class Ends:
    """Where the value of an expression lies.

    Attributes:
        low, high: SQL of its ends; the same where no noise can change it.
        noisy: whether the noise can change it.
        bent: whether noise selects or folds on the way to it, so that drawing again around it would be off.
        only: the one noisy number that it is made of; empty where there are several.
        curve: how it bends in the noisy numbers, see `curvature`.
        of: the aggregates that it is made of, each with its noisy table.
        role: how its ends follow from comparisons, where bands that hold all together would be wider than need be.
    """

    low: str
    high: str
    noisy: bool = False
    bent: bool = False
    only: str = ""
    curve: str = curvature.UNKNOWN
    of: frozenset[Number] = frozenset()
    role: Role | None = None


@dataclass(frozen=True)
class Truth:
    """Where a condition holds.

    Attributes:
        surely, possibly: SQL, never NULL.
        noisy: whether the noise can change it.
    """

    surely: str
    possibly: str
    noisy: bool = False


_SPREADS = frozenset({"mad", "sem", "entropy", "kurtosis_pop"})
"""Aggregates without a node of the parser that noise drives to one side."""


class Arithmetic:
    """The ends of expressions.

    Args:
        leaf: the ends of a column, a window, an aggregate or a sub-query; None for anything else.
    """

    def __init__(self, leaf: Callable[[exp.Expr], Ends | None]) -> None:
        self.leaf = leaf
        self._seen: dict[int, tuple[exp.Expr, Ends]] | None = None

    def ends(self, node: exp.Expr) -> Ends:
        """The ends of an expression; those of each of its parts are worked out once."""
        outermost = self._seen is None
        seen = self._seen = self._seen if self._seen is not None else {}
        try:
            if id(node) not in seen:
                # The node is kept, so that no other one gets its number.
                seen[id(node)] = (node, self._ends(node))
            return seen[id(node)][1]
        finally:
            if outermost:
                self._seen = None

    def _ends(self, node: exp.Expr) -> Ends:
        own = self.leaf(node)
        if own is not None:
            return own
        if isinstance(node, exp.Paren | exp.Alias):
            return self.ends(node.this)
        if isinstance(node, exp.Predicate | exp.And | exp.Or | exp.Not):
            truth = self.truth(node)
            return Ends(f"({truth.surely})", f"({truth.possibly})", truth.noisy, truth.noisy)
        parts = [self.ends(child) for child in node.iter_expressions() if not isinstance(child, _WORDS)]
        if not any(part.noisy for part in parts):
            text = f"({node.sql('duckdb')})"
            return Ends(text, text)
        found = self._moved(node)
        if len(found.low) + len(found.high) > LONGEST_END:
            found = Ends(*ANYWHERE, True, found.bent)
        bent = any(part.bent for part in parts)
        only = {part.only for part in parts if part.noisy}
        of = frozenset[Number]().union(*(part.of for part in parts))
        return replace(
            found,
            bent=found.bent or bent,
            only=only.pop() if len(only) == 1 else "",
            curve=self._curve(node),
            of=of,
        )

    def _curve(self, node: exp.Expr) -> str:
        """How an expression bends in the noisy numbers that it is made of."""
        if isinstance(node, exp.Neg):
            return curvature.negated(self._own(node.this))
        if isinstance(node, exp.Add):
            return curvature.added(self._own(node.this), self._own(node.expression))
        if isinstance(node, exp.Sub):
            return curvature.added(self._own(node.this), curvature.negated(self._own(node.expression)))
        if isinstance(node, exp.Mul | exp.Div) and not self.ends(node.expression).noisy:
            return curvature.scaled(self._own(node.this), node.expression)
        if isinstance(node, exp.Mul) and not self.ends(node.this).noisy:
            return curvature.scaled(self._own(node.expression), node.this)
        if isinstance(node, exp.Abs):
            inner = self._own(node.this)
            return curvature.CONVEX if inner == curvature.LINE else curvature.UNKNOWN
        if isinstance(node, exp.Greatest | exp.Least):
            parts = [self._own(part) for part in [node.this, *node.expressions]]
            return (curvature.greatest if isinstance(node, exp.Greatest) else curvature.least)(*parts)
        if type(node) is exp.Cast and node.is_type(exp.DType.DOUBLE):
            return self._own(node.this)
        return curvature.UNKNOWN

    def _own(self, node: exp.Expr) -> str:
        ends = self.ends(node)
        return ends.curve if ends.noisy else curvature.LINE

    def _moved(self, node: exp.Expr) -> Ends:
        if isinstance(node, exp.Neg):
            inner = self.ends(node.this)
            return Ends(f"(-({inner.high}))", f"(-({inner.low}))", True)
        if isinstance(node, exp.Add):
            a, b = self.ends(node.this), self.ends(node.expression)
            return Ends(f"({a.low} + {b.low})", f"({a.high} + {b.high})", True)
        if isinstance(node, exp.Sub):
            a, b = self.ends(node.this), self.ends(node.expression)
            return Ends(f"({a.low} - {b.high})", f"({a.high} - {b.low})", True)
        if isinstance(node, exp.Mul):
            return _product(self.ends(node.this), self.ends(node.expression))
        if isinstance(node, exp.Div | exp.IntDiv):
            return self._quotient(node)
        if isinstance(node, exp.Abs):
            return self._absolute(self.ends(node.this))
        if isinstance(node, exp.Greatest | exp.Least):
            parts = [self.ends(part) for part in [node.this, *node.expressions]]
            name = "GREATEST" if isinstance(node, exp.Greatest) else "LEAST"
            low, high = (
                f"{name}({', '.join(side)})" for side in zip(*((p.low, p.high) for p in parts), strict=True)
            )
            return Ends(low, high, True, True)
        if isinstance(node, _RISING) or type(node) is exp.Cast:
            return self._rising(node)
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, exp.If):
            return self._branches([(node.this, node.args["true"])], node.args.get("false"))
        if isinstance(node, exp.Coalesce):
            parts = [self.ends(part) for part in [node.this, *node.expressions]]
            return Ends(
                f"LEAST({', '.join(p.low for p in parts)})",
                f"GREATEST({', '.join(p.high for p in parts)})",
                True,
            )
        if isinstance(node, exp.Nullif):
            return self.ends(node.this)
        return Ends(*ANYWHERE, True, isinstance(node, exp.Anonymous) and node.name.lower() in _SPREADS)

    def _rising(self, node: exp.Expr) -> Ends:
        """A function that never falls, at both ends of its argument."""
        others = [child for key, child in node.args.items() if key != "this" and isinstance(child, exp.Expr)]
        if any(self.ends(operand).noisy for operand in others if not isinstance(operand, _WORDS)):
            return Ends(*ANYWHERE, True)
        inner = self.ends(node.this)
        if isinstance(node, exp.Cast) and not node.is_type(*exp.DataType.NUMERIC_TYPES):
            return Ends(*ANYWHERE, True, True)
        low, high = (self._with(node, side) for side in (inner.low, inner.high))
        if isinstance(node, exp.Sqrt | exp.Ln | exp.Cast):
            # Neither NULL nor NaN, which LEAST would pass over, is an end: there the value may lie anywhere.
            known = "TRY({})" if isinstance(node, exp.Cast) else "NULLIF(TRY({}), CAST('NaN' AS DOUBLE))"
            low, high = (
                f"COALESCE({known.format(end)}, {default})"
                for end, default in zip((low, high), ANYWHERE, strict=True)
            )
        return Ends(low, high, True, inner.bent)

    def _with(self, node: exp.Expr, argument: str) -> str:
        copy = node.copy()
        copy.set("this", exp.Column(this=exp.to_identifier("__argument")))
        return copy.sql("duckdb").replace("__argument", f"({argument})", 1)

    def _absolute(self, ends: Ends) -> Ends:
        low = (
            f"(CASE WHEN {ends.low} > 0 THEN {ends.low} WHEN {ends.high} < 0 THEN -({ends.high}) ELSE 0 END)"
        )
        return Ends(low, f"GREATEST(ABS({ends.low}), ABS({ends.high}))", True, True)

    def _quotient(self, node: exp.Binary) -> Ends:
        a, b = self.ends(node.this), self.ends(node.expression)
        whole = isinstance(node, exp.IntDiv)
        corners = [f"({x} / CAST({y} AS DOUBLE))" for x in {a.low, a.high} for y in {b.low, b.high}]
        spans = f"({b.low} <= 0 AND {b.high} >= 0)"
        low, high = (
            f"(CASE WHEN {spans} THEN {default} ELSE {name}({', '.join(corners)}) END)"
            for name, default in zip(("LEAST", "GREATEST"), ANYWHERE, strict=True)
        )
        if whole:  # rounded towards zero
            low, high = f"TRUNC({low})", f"TRUNC({high})"
        return Ends(low, high, True)

    def _case(self, node: exp.Case) -> Ends:
        given = node.this
        branches = []
        for branch in node.args["ifs"]:
            condition = (
                branch.this if given is None else exp.EQ(this=given.copy(), expression=branch.this.copy())
            )
            branches.append((condition, branch.args["true"]))
        return self._branches(branches, node.args.get("default"))

    def _branches(self, branches: list[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None) -> Ends:
        """The hull of the branches that can be taken; a branch that gives NULL is none of them."""
        lows, highs, none_before, noisy = [], [], "TRUE", False
        for condition, result in branches:
            truth, value = self.truth(condition), self.ends(result)
            taken = f"({none_before} AND {truth.possibly})"
            lows.append(f"CASE WHEN {taken} THEN {value.low} END")
            highs.append(f"CASE WHEN {taken} THEN {value.high} END")
            none_before = f"{none_before} AND NOT ({truth.surely})"
            noisy |= truth.noisy
        if default is not None:
            value = self.ends(default)
            lows.append(f"CASE WHEN {none_before} THEN {value.low} END")
            highs.append(f"CASE WHEN {none_before} THEN {value.high} END")
        return Ends(f"LEAST({', '.join(lows)})", f"GREATEST({', '.join(highs)})", True, noisy)

    # Conditions --------------------------------------------------------------------------------------------

    def truth(self, node: exp.Expr) -> Truth:
        """Where a condition holds."""
        found = self._truth(node)
        short = len(found.surely) + len(found.possibly) <= LONGEST_END or not found.noisy
        return found if short else Truth("FALSE", "TRUE", True)

    def _truth(self, node: exp.Expr) -> Truth:
        if isinstance(node, exp.Paren):
            return self.truth(node.this)
        if isinstance(node, exp.And | exp.Or):
            a, b = self.truth(node.this), self.truth(node.expression)
            word = "AND" if isinstance(node, exp.And) else "OR"
            return Truth(
                f"({a.surely} {word} {b.surely})", f"({a.possibly} {word} {b.possibly})", a.noisy or b.noisy
            )
        if isinstance(node, exp.Not):
            return self._denied(node.this)
        if not self.moves(node):
            text = f"COALESCE({node.sql('duckdb')}, FALSE)"
            return Truth(text, text)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            return self.truth(
                exp.and_(
                    exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()),
                    exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()),
                )
            )
        if type(node) in _NEGATED:
            return self._compared(node)
        return Truth("FALSE", "TRUE", True)

    def moves(self, node: exp.Expr) -> bool:
        """Whether the noise can change an expression."""
        own = self.leaf(node)
        if own is not None:
            return own.noisy
        return any(self.moves(child) for child in node.iter_expressions() if not isinstance(child, _WORDS))

    def _denied(self, node: exp.Expr) -> Truth:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Not):
            return self.truth(node.this)
        if isinstance(node, exp.And | exp.Or):
            other = exp.Or if isinstance(node, exp.And) else exp.And
            sides = [exp.Not(this=exp.paren(side.copy())) for side in (node.this, node.expression)]
            return self.truth(other(this=sides[0], expression=sides[1]))
        if not self.moves(node):
            text = f"COALESCE(NOT ({node.sql('duckdb')}), FALSE)"
            return Truth(text, text)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            return self.truth(
                exp.or_(
                    exp.LT(this=node.this.copy(), expression=node.args["low"].copy()),
                    exp.GT(this=node.this.copy(), expression=node.args["high"].copy()),
                )
            )
        if type(node) in _NEGATED:
            return self.truth(_NEGATED[type(node)](this=node.this.copy(), expression=node.expression.copy()))
        return Truth("FALSE", "TRUE", True)

    def _compared(self, node: exp.Expr) -> Truth:
        if isinstance(node, exp.GT | exp.GTE):
            node = (exp.LT if isinstance(node, exp.GT) else exp.LTE)(
                this=node.args["expression"], expression=node.this
            )
        a, b = self.ends(node.this), self.ends(node.args["expression"])
        if isinstance(node, exp.LT | exp.LTE):
            sign = "<" if isinstance(node, exp.LT) else "<="
            surely, possibly = f"{a.high} {sign} {b.low}", f"{a.low} {sign} {b.high}"
        else:
            same = f"({a.low} = {a.high} AND {b.low} = {b.high} AND {a.low} = {b.low})"
            apart = f"({a.high} < {b.low} OR {b.high} < {a.low})"
            surely, possibly = (same, f"NOT {apart}") if isinstance(node, exp.EQ) else (apart, f"NOT {same}")
        return Truth(f"COALESCE({surely}, FALSE)", f"COALESCE({possibly}, FALSE)", True)


def _product(a: Ends, b: Ends) -> Ends:
    corners = [
        f"(CASE WHEN {x} = 0 OR {y} = 0 THEN 0 ELSE CAST({x} AS DOUBLE) * {y} END)"
        for x in dict.fromkeys((a.low, a.high)) for y in dict.fromkeys((b.low, b.high))
    ]  # fmt: skip
    return Ends(f"LEAST({', '.join(corners)})", f"GREATEST({', '.join(corners)})", True)


_WORDS = (exp.DataType, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Var)
