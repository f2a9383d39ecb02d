"""Parameters in expressions: their types alone are known, so that an expression holds for all arguments of them.

Whoever reads the value of one, its span, or compares it with another literal raises `ValueNeededError`. It can be
converted: the conversion is done again for each argument, whose type has to be the same at each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias

from discreet.engines.schema import Type
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.span import Span
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError

Step: TypeAlias = tuple[Callable[..., Literal], tuple[Any, ...], Type]
"""A conversion, the things that it takes beside the argument, and the type that it gives."""


class _Unknown(Span):
    """The span of a parameter: it is no NULL, and more is not known."""

    __slots__ = ()

    def _read(self) -> NoReturn:
        raise ValueNeededError

    lo = property(_read)
    hi = property(_read)
    domain = property(_read)
    __eq__ = __hash__ = __repr__ = lambda self, *_: self._read()  # type: ignore[assignment]


_UNKNOWN: Final = object.__new__(_Unknown)
object.__setattr__(_UNKNOWN, "nullable", False)
object.__setattr__(_UNKNOWN, "listed", False)


class Parameter(Literal):
    """A parameter: a literal whose value may not be read.

    Attributes:
        place: the number of the argument in its statement.
        first: the type with which that is read first.
        steps: how the literal is made of the first reading of the argument.
    """

    __slots__ = ("_now", "first", "place", "steps")
    place: int
    first: Type
    steps: tuple[Step, ...]
    _now: Literal

    def __init__(self, place: int, first: Type, now: Literal, steps: tuple[Step, ...] = ()) -> None:
        parts = {"type": now.type, "place": place, "first": first, "steps": steps, "_now": now}
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    @property
    def value(self) -> Any:
        """Not to be read."""
        raise ValueNeededError

    @property
    def missing(self) -> bool:
        """Whether it is NULL, which no argument is."""
        return False

    @property
    def span(self) -> Span:
        """Not to be read, but for whether it is NULL."""
        return _UNKNOWN

    def spelled(self, dialect: Dialect) -> str:
        """Not to be written."""
        raise ValueNeededError

    def then(self, step: Callable[..., Literal], *given: Any) -> Literal:
        """The same converted."""
        now = step(self._now, *given)
        return Parameter(self.place, self.first, now, (*self.steps, (step, given, now.type)))

    def of(self, literal: Literal) -> Literal:
        """The literal in this place, made of an argument.

        Raises:
            ValueNeededError: that has another type, at some step.
        """
        if literal.type is not self.first:
            raise ValueNeededError
        for step, given, kind in self.steps:
            literal = step(literal, *given)
            if literal.type is not kind:
                raise ValueNeededError
        return literal

    def __eq__(self, other: object) -> bool:
        """Whether this is made in the same way of the same argument; any other literal has to be read."""
        if not isinstance(other, Literal) or other.type is not self.type:
            return False
        same = isinstance(other, Parameter) and (self.place, self.steps) == (other.place, other.steps)
        if same:
            return True
        raise ValueNeededError

    def __hash__(self) -> int:
        """Not to be read: equal literals would have the same."""
        raise ValueNeededError

    def __repr__(self) -> str:
        """Not to be read."""
        raise ValueNeededError
