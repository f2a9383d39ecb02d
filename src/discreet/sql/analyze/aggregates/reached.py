"""Conditions that tell the bound of a column from the values beyond it, which count as the bound."""

from __future__ import annotations

from discreet.engines.schema import Type
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.relation import RAW, Relation, UnitAggregate, WindowCall, parts
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import Span

_EQUALS = frozenset({"eq", "ne", "distinct", "in"})
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""The comparison with its sides exchanged."""
_EITHER = frozenset({"add", "subtract", "multiply", "greatest", "least"})
"""Functions of an expression and a constant in any order that rise or fall with the expression."""
_STEADY = _EITHER | {
    "negate", "divide", "integer_divide", "floor", "ceil", "round", "to_float", "to_integer", "year",
}  # fmt: skip
"""Functions that rise or fall with their first argument."""


class Reached:
    """Which expressions over private rows the bounds of columns reach, each column of a relation read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], tuple[Relation, bool | None]] = {}

    def selects(self, relation: Relation) -> bool:
        """Whether a condition on the rows of a relation, or of those below, tells a bound from the values beyond it."""
        condition, over = None, relation
        if isinstance(relation, rel.Select):
            condition, over = relation.where, relation.source
        elif isinstance(relation, rel.Join | rel.PublicJoin | rel.Matching):
            condition = relation.on
        if condition is not None and self.tells(over, condition):
            return True
        return any(map(self.selects, parts(relation)))

    def tells(self, relation: Relation, of: Expression) -> bool:
        """Whether a condition holds for a bound and not for some value beyond it, or the other way.

        Args:
            relation: the rows.
            of: an expression over them, with conditions or without.
        """
        if not isinstance(of, Call):
            return False
        if of.name in _EQUALS or of.name in _TURNED:
            pairs = [(of.name, of.args[0], other) for other in of.args[1:]]
            pairs += [(_TURNED.get(name, name), other, side) for name, side, other in pairs]
            if any(self._at_bound(relation, *pair) for pair in pairs):
                return True
        elif of.type is Type.BOOLEAN and of.name != "is_null" and self._any(relation, of):
            return True
        return any(self.tells(relation, arg) for arg in of.args)

    def _at_bound(self, relation: Relation, name: str, side: Expression, other: Expression) -> bool:
        """Whether a bound and some value beyond it compare otherwise with another value.

        So `x <= v` does for each v that is not less than the upper bound: the bound is not above it, and a value beyond
        both is. `x < v` does not where v is the bound itself.
        """
        steady = self._how(relation, side)
        if steady is None or (isinstance(other, Literal) and other.missing):
            return False
        lo, hi, least, most = side.span.lo, side.span.hi, other.span.lo, other.span.hi
        if not steady:
            return True
        ends_at_hi, ends_at_lo = name not in ("lt", "ge"), name not in ("le", "gt")
        return (hi is not None and (most is None or most > hi or (most == hi and ends_at_hi))) or (
            lo is not None and (least is None or least < lo or (least == lo and ends_at_lo))
        )

    def _any(self, relation: Relation, of: Call) -> bool:
        return any(self._how(relation, arg) is not None for arg in of.args)

    def _how(self, relation: Relation, of: Expression) -> bool | None:
        """How bounds reach an expression.

        Returns:
            None where they do not; True where values beyond a bound lie beyond an end of the expression; else False.
        """
        if isinstance(of, Column):
            key = (id(relation), of.name)
            if key not in self._known:
                self._known[key] = relation, self._column(relation, of.name)
            return self._known[key][1]
        if not isinstance(of, Call) or of.type is Type.BOOLEAN:
            return None
        found = [self._how(relation, arg) for arg in of.args]
        reached = [how for how in found if how is not None]
        if not reached:
            return None
        steady = all(how or isinstance(arg, Literal) for how, arg in zip(found, of.args, strict=True))
        return steady and len(reached) == 1 and of.name in (_EITHER if found[0] is None else _STEADY)

    def _column(self, relation: Relation, name: str) -> bool | None:
        """The same for a column of a relation."""
        if isinstance(relation, rel.Scan):
            column = relation.table.columns.get(name.removeprefix(RAW))
            return True if column is not None and column.clamped else None
        items = relation.items if isinstance(relation, rel.Select) else None
        items = relation.keys if isinstance(relation, rel.PerUnit) else items
        item = dict(items or ()).get(name)
        if item is not None:
            return self._how(parts(relation)[0], item)
        made = self._made(relation).get(name)
        if made is not None:
            return self._per_unit(parts(relation)[0], made)
        found = [self._how(part, Column(name, Type.TEXT, Span())) for part in parts(relation)]
        return None if all(how is None for how in found) else False not in found

    @staticmethod
    def _made(relation: Relation) -> dict[str, UnitAggregate | WindowCall]:
        """The columns that a relation makes of the rows of a unit."""
        if isinstance(relation, rel.PerUnit):
            return dict(relation.aggregates)
        return dict(relation.windows) if isinstance(relation, rel.Windowed) else {}

    def _per_unit(self, source: Relation, made: UnitAggregate | WindowCall) -> bool | None:
        """The same for an aggregate over the rows of a unit, or a window function over them."""
        found = [self._how(source, arg) for arg in made.args]
        if all(how is None for how in found) or made.spelling.startswith("COUNT({0}"):
            return None
        return isinstance(made, UnitAggregate) and made.chosen and False not in found
