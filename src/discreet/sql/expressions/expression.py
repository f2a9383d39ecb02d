"""Typed expressions over the columns of private rows, and their spelling in an engine's SQL.

An analyst's text is never passed on. It is read into these trees, whose only leaves are columns and
literals and whose only operations are those of the function table, and written out again. Nothing else
reaches the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from discreet.engines.schema import Type
from discreet.records import dataclass
from discreet.sql.expressions.dialect import Dialect, fill, literal, quote
from discreet.sql.expressions.span import Span, Value, point


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the relation that the expression is read over."""

    name: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of the query; None is NULL."""

    value: Value | None
    type: Type

    @property
    def span(self) -> Span:
        """The one value."""
        return Span(nullable=True, domain=()) if self.value is None else point(self.value)

    @property
    def missing(self) -> bool:
        """Whether it is NULL."""
        return self.value is None

    def then(self, step: Callable[..., Literal], *given: Any) -> Literal:
        """The literal that a conversion makes of it; it depends on this one, the things given, and nothing else."""
        return step(self, *given)

    def spelled(self, dialect: Dialect) -> str:
        """Its SQL."""
        return literal(self.value, self.type, dialect)


@dataclass(frozen=True, slots=True)
class Call:
    """An operation of the function table."""

    name: str
    spelling: Mapping[str, str]
    args: tuple[Expression, ...]
    type: Type
    span: Span

    def __hash__(self) -> int:
        """Hash by the computation: the function, its arguments and its type; bounds of a clamp stand in its SQL."""
        return hash((self.name, self.args, self.type, self.spelling.get("")))


Expression: TypeAlias = Column | Literal | Call


def leaves(expression: Expression) -> Iterator[Column]:
    """The columns that an expression reads, with repetition."""
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Call):
        for arg in expression.args:
            yield from leaves(arg)


def replace(expression: Expression, columns: Mapping[Expression, Expression]) -> Expression:
    """The expression with some of its parts replaced by others."""
    if expression in columns:
        return columns[expression]
    if isinstance(expression, Call):
        args = tuple(replace(arg, columns) for arg in expression.args)
        return Call(expression.name, expression.spelling, args, expression.type, expression.span)
    return expression


def weight(expression: Expression, columns: Mapping[str, int] = MappingProxyType({})) -> int:
    """How many columns and operations the SQL of an expression holds: a spelling may repeat its arguments.

    Args:
        expression: over some columns.
        columns: the weights of those of them that are more than a name, by name.
    """
    if not isinstance(expression, Call):
        return columns.get(expression.name, 1) if isinstance(expression, Column) else 0
    sql = expression.spelling.get("duckdb") or expression.spelling[""]
    total = 1
    for index, arg in enumerate(expression.args):
        if not isinstance(arg, Literal):
            total += weight(arg, columns) * (1 if "{*}" in sql else sql.count(f"{{{index}}}"))
    return total


def spell(expression: Expression, dialect: Dialect) -> str:
    """Write an expression in the SQL of an engine; every column by its quoted name."""
    if isinstance(expression, Column):
        return quote(expression.name, dialect)
    if isinstance(expression, Literal):
        return expression.spelled(dialect)
    args = [spell(arg, dialect) for arg in expression.args]
    return fill(spelling_of(expression, dialect), args, dialect)


EVERYWHERE = "*"
"""In the spelling of a call: its standard SQL holds on every engine, even one with SQL of its own for the name."""
LETTERS = {
    Type.BOOLEAN: "b", Type.INTEGER: "i", Type.FLOAT: "f", Type.TEXT: "t", Type.DATE: "d", Type.TIMESTAMP: "s",
    Type.OTHER: "o", Type.BOOLEANS: "B", Type.INTEGERS: "I", Type.FLOATS: "F", Type.TEXTS: "T", Type.DATES: "D",
    Type.TIMESTAMPS: "S",
}  # fmt: skip
"""The types of arguments, as a dialect names the lines of a function."""


def spelling_of(call: Call, dialect: Dialect) -> str:
    """The SQL of an operation in an engine, with {0}, {1}, … or {*} for its arguments."""
    writer = dialect.writers.get(call.name)
    if writer is not None:
        return writer(call)
    own = dialect.functions.get(call.name)
    if own is not None and EVERYWHERE not in call.spelling:
        found = own.get("".join(LETTERS[arg.type] for arg in call.args)) or own.get("")
        if found is not None:
            return found
    return call.spelling.get(dialect.name) or call.spelling[""]


def is_null_literal(expression: Expression) -> bool:
    """Whether an expression is the word NULL."""
    return isinstance(expression, Literal) and expression.missing


def constant(argument: Expression | None) -> bool:
    """Whether an argument is a literal, whose count is the count of all rows."""
    return isinstance(argument, Literal) and not argument.missing
