"""Literals that are written as marks, so that SQL is written once for all literals in their places.

Whoever reads the value of one or its span raises `ValueNeededError`, as for the blank that it is made of. It may be
written, as a mark, and compared: it equals no other literal. So the SQL holds for literals that equal no other one of
the query. Whoever puts a literal in the place of a mark has to see that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Literal
from discreet.sql.expressions.unread import UnreadLiteral

EDGE: Final = "\0"
"""Before and behind a mark; in no SQL, as the binder refuses texts that hold it."""


class MarkedLiteral(UnreadLiteral):
    """A blank that is written as a mark.

    Attributes:
        marks: all blanks that were written, in the order of the numbers of their marks.
    """

    __slots__ = ("marks",)
    marks: list[UnreadLiteral]

    @classmethod
    def of_blank(cls, blank: UnreadLiteral, marks: list[UnreadLiteral]) -> MarkedLiteral:
        """The same blank, to be written."""
        made = cls(blank.place, blank.first, blank._now, blank.steps)
        object.__setattr__(made, "marks", marks)
        return made

    def then(self, step: Callable[..., Literal], *given: Any) -> Literal:
        """The same converted."""
        made = super().then(step, *given)
        assert isinstance(made, UnreadLiteral)
        return MarkedLiteral.of_blank(made, self.marks)

    def spelled(self, dialect: Dialect) -> str:
        """Its mark."""
        number = next((index for index, mark in enumerate(self.marks) if _same(mark, self)), len(self.marks))
        if number == len(self.marks):
            self.marks.append(self)
        return f"{EDGE}{number}{EDGE}"

    def __eq__(self, other: object) -> bool:
        """Whether this is made in the same way of the literal in the same place."""
        return isinstance(other, UnreadLiteral) and _same(self, other)

    def __hash__(self) -> int:
        """Of the place and the type."""
        return hash((self.place, self.type))


def _same(literal: UnreadLiteral, other: UnreadLiteral) -> bool:
    return (literal.place, literal.type, literal.steps) == (other.place, other.type, other.steps)
