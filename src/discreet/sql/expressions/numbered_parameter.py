"""Parameters that are written in SQL as numbers, as $1 is in PostgreSQL, so that it is written once for all arguments.

Whoever reads the value of one or its span raises `ValueNeededError`, as for the parameter that it is made of. It may be
written, as its number, and compared: it equals no other literal. So the SQL holds for arguments that equal no other
literal of the query. Whoever puts an argument in the place of a number has to see that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.parameter import Parameter

EDGE: Final = "\0"
"""Before and behind the number of a parameter; in no SQL, as the binder refuses texts that hold it."""


class NumberedParameter(Parameter):
    """A parameter that is written as its number.

    Attributes:
        written: all parameters that were written, in the order of their numbers.
    """

    __slots__ = ("written",)
    written: list[Parameter]

    @classmethod
    def of_parameter(cls, parameter: Parameter, written: list[Parameter]) -> NumberedParameter:
        """The same parameter, to be written."""
        made = cls(parameter.place, parameter.first, parameter._now, parameter.steps)
        object.__setattr__(made, "written", written)
        return made

    def then(self, step: Callable[..., Literal], *given: Any) -> Literal:
        """The same converted."""
        made = super().then(step, *given)
        assert isinstance(made, Parameter)
        return NumberedParameter.of_parameter(made, self.written)

    def spelled(self, dialect: Dialect) -> str:
        """Its number."""
        number = next(
            (index for index, other in enumerate(self.written) if _same(other, self)), len(self.written)
        )
        if number == len(self.written):
            self.written.append(self)
        return f"{EDGE}{number}{EDGE}"

    def __eq__(self, other: object) -> bool:
        """Whether this is made in the same way of the same argument."""
        return isinstance(other, Parameter) and _same(self, other)

    def __hash__(self) -> int:
        """Of the place and the type."""
        return hash((self.place, self.type))


def _same(parameter: Parameter, other: Parameter) -> bool:
    return (parameter.place, parameter.type, parameter.steps) == (other.place, other.type, other.steps)
