"""The parameter in a tree of sqlglot: findings about a statement with parameters hold for all arguments.

A parameter stands in a tree in the place of a literal. It tells its kind, text or number, and nothing else: whoever
reads its text, compares it, hashes it or writes it raises `ValueNeededError`, and so says that the literal matters. No
handler of `Exception` on the way can swallow that.
"""

from __future__ import annotations

from typing import Any, NoReturn

from sqlglot import exp


class ValueNeededError(BaseException):
    """The value of a parameter was read."""


class ParameterText:
    """In a parameter, in the place of the text of a literal.

    Attributes:
        place: the number of the literal in its statement.
        literal: the one of the statement at hand, whose type is that of the parameter.
    """

    __slots__ = ("literal", "place")

    def __init__(self, place: int, literal: exp.Literal) -> None:
        self.place = place
        self.literal = literal

    def _read(self, *_: object) -> NoReturn:
        raise ValueNeededError

    __str__ = __repr__ = __format__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _read
    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __add__ = __radd__ = __int__ = __float__ = (
        _read
    )
    __getattr__ = __reduce_ex__ = __copy__ = __deepcopy__ = _read


class ParameterNode(exp.Literal):
    """A parameter: a literal whose text may not be read.

    Where sqlglot's compiled part is installed, none can be made, and each statement is read by itself.
    """

    def __eq__(self, other: object) -> bool:
        """Whether this is the same node; any other literal has to be read."""
        if self is other or not isinstance(other, exp.Literal):
            return self is other
        raise ValueNeededError

    def __hash__(self) -> int:
        """Not to be read."""
        raise ValueNeededError

    @property
    def name(self) -> str:
        """Not to be read."""
        raise ValueNeededError

    this = output_name = name

    def text(self, key: str) -> str:
        """Not to be read."""
        raise ValueNeededError

    def to_py(self) -> Any:
        """Not to be read."""
        raise ValueNeededError

    @property
    def parameter(self) -> ParameterText:
        """The place of the parameter, and the literal there."""
        found: ParameterText = self.args["this"]
        return found


ParameterNode.key = exp.Literal.key  # else its class would have a word of its own


def parameter_node(place: int, literal: exp.Literal) -> ParameterNode:
    """A parameter in the place of a literal.

    Example:
        >>> number = parameter_node(0, exp.Literal.number(45))
        >>> number.is_string
        False
        >>> try:
        ...     number.name
        ... except ValueNeededError:
        ...     print("it was read")
        it was read
    """
    return ParameterNode(this=ParameterText(place, literal), is_string=literal.is_string)
