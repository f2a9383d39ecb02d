"""Computes a part used more than once in a column of its own, so that SQL grows with a question and not exponentially.

The spelling of an operation may repeat its argument: a clamp writes it five times, and a clamp in a clamp would write
it twenty-five times. Here an argument that is repeated becomes a column of an inner SELECT. Every operation has a
value on every row (contract 5), so it may be computed on rows where a CASE would have passed it over.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.records import dataclass, field
from discreet.sql.expressions.dialect import Dialect, quote
from discreet.sql.expressions.expression import Call, Column, Expression, spell, spelling_of

PREFIX = "__s"


@dataclass
class ComputedColumns:
    """The columns that are computed first.

    Attributes:
        dialect: of the engine.
        levels: expressions by the column that stands for them; a level reads the source and the levels before it.
    """

    dialect: Dialect
    levels: list[dict[Expression, Column]] = field(default_factory=list)
    _seen: dict[Expression, tuple[Expression, int]] = field(default_factory=dict)

    def reduced(self, expression: Expression, repeated: bool = False) -> Expression:
        """The expression over columns that are computed first.

        Args:
            expression: over the source.
            repeated: whether its SQL will be written more than once.
        """
        reduced, depth = self._reduce(expression)
        return self._named(reduced, depth)[0] if repeated else reduced

    def over(self, source: str) -> str:
        """The SELECT of all columns of a source, with those that are computed first beside them."""
        for index, level in enumerate(self.levels):
            items = ", ".join(
                f"{spell(e, self.dialect)} AS {quote(c.name, self.dialect)}" for e, c in level.items()
            )
            source = f"SELECT *, {items} FROM ({source}) AS s{index}{self.dialect.fence}"
        return source

    def _reduce(self, expression: Expression) -> tuple[Expression, int]:
        if not isinstance(expression, Call):
            return expression, 0
        if expression not in self._seen:
            template = spelling_of(expression, self.dialect)
            args: list[Expression] = []
            deepest = 0
            for index, arg in enumerate(expression.args):
                reduced, depth = self._reduce(arg)
                if template.count(f"{{{index}}}") > 1:
                    reduced, depth = self._named(reduced, depth)
                args.append(reduced)
                deepest = max(deepest, depth)
            call = Call(expression.name, expression.spelling, tuple(args), expression.type, expression.span)
            self._seen[expression] = call, deepest
        return self._seen[expression]

    def _named(self, expression: Expression, depth: int) -> tuple[Expression, int]:
        """The column of an expression that reads the levels below `depth`, and the level that may read it."""
        if not isinstance(expression, Call):
            return expression, depth
        while len(self.levels) <= depth:
            self.levels.append({})
        level = self.levels[depth]
        if expression not in level:
            name = f"{PREFIX}{depth}_{len(level)}"
            level[expression] = Column(name, expression.type, expression.span)
        return level[expression], depth + 1


def reduce_all(
    expressions: Sequence[Expression], dialect: Dialect
) -> tuple[ComputedColumns, list[Expression]]:
    """Several expressions, none of which is written more than once.

    Example:
        >>> from discreet.engines.schema import Type
        >>> from discreet.sql.expressions.dialect import STANDARD
        >>> from discreet.sql.expressions.span import ANY
        >>> square = Call("square", {"": "({0} * {0})"}, (Column("x", Type.INTEGER, ANY),), Type.INTEGER, ANY)
        >>> fourth = Call("square", {"": "({0} * {0})"}, (square,), Type.INTEGER, ANY)
        >>> steps, (reduced,) = reduce_all([fourth], STANDARD)
        >>> steps.over("SELECT x FROM t"), spell(reduced, STANDARD)
        ('SELECT *, ("x" * "x") AS "__s0_0" FROM (SELECT x FROM t) AS s0', '("__s0_0" * "__s0_0")')
    """
    steps = ComputedColumns(dialect)
    return steps, [steps.reduced(expression) for expression in expressions]
