"""The messages between a node and an analyst: values that are public, and plain enough for any wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, Literal, Protocol, Self, TypeAlias, runtime_checkable

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal, epsilon_of
from discreet.records import dataclass

Neighbours: TypeAlias = Literal["replace_one", "add_remove"]

STEPS: Final = 1 << 24
"""A value is one of STEPS + 1 places between its bounds, so rounding is far below the noise of a single value."""

NARROWEST: Final = Fraction(1, 1 << 500)
"""The bounds of a node are at least this far apart."""
WIDEST: Final = Fraction(1 << 500)
"""They are at most this far apart."""


@dataclass(frozen=True)
class Access:
    """The declarations of the owner of a node: without them the node answers nothing.

    Args:
        bounds: (least, greatest) value; a value outside is clamped. Public: not taken from the data.
        budget: the epsilon that the node may ever spend, a positive rational.
        neighbours: "replace_one" makes the number of values public and protects the values; "add_remove" also hides
            whether there is a value.

    Raises:
        InvalidParameter: a number is out of range.

    Example:
        >>> Access((140, 210), budget=1).width
        Fraction(70, 1)
    """

    bounds: tuple[Fraction, Fraction]
    budget: Fraction
    neighbours: Neighbours

    def __init__(
        self, bounds: tuple[Number, Number], budget: Number, neighbours: Neighbours = "replace_one"
    ) -> None:
        low, high = (decimal(end, "A bound") for end in bounds)
        if low >= high:
            raise InvalidParameter("The lower bound is not below the upper one.", "Write bounds=(0, 100).")
        # A node measures in doubles how far a value is from the lower bound.
        if not (float(low) < float(high) and NARROWEST <= high - low <= WIDEST):
            raise InvalidParameter(
                "The bounds are too near to each other or too far apart for doubles.",
                "Subtract an offset, or take another unit.",
            )
        if neighbours not in ("replace_one", "add_remove"):
            raise InvalidParameter('neighbours is neither "replace_one" nor "add_remove".', "Choose one.")
        object.__setattr__(self, "bounds", (low, high))
        object.__setattr__(self, "budget", epsilon_of(budget, "budget"))
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def width(self) -> Fraction:
        """The distance of the bounds: the sensitivity of a total."""
        return self.bounds[1] - self.bounds[0]

    def to_dict(self) -> dict[str, Any]:
        """Write it for a wire: JSON without loss."""
        return {
            "bounds": [str(end) for end in self.bounds],
            "budget": str(self.budget),
            "neighbours": self.neighbours,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Read a message that `to_dict` wrote.

        Raises:
            InvalidParameter: it is no access.
        """
        try:
            low, high = given["bounds"]
            return cls((low, high), given["budget"], given["neighbours"])
        except (KeyError, TypeError, ValueError) as error:
            raise _garbled(error) from None


@dataclass(frozen=True)
class Choices:
    """The owner's declarations of values that are categories: each is randomised by itself, then they are counted.

    Args:
        categories: at least two texts or whole numbers, all different. Public: not taken from the data.
        budget: the epsilon that each value of the node may ever spend, a positive rational.

    Raises:
        InvalidParameter: the categories break one of these rules, or the budget is out of range.

    Example:
        >>> Choices(["bus", "bicycle", "car"], budget=2).neighbours
        'replace_one'
    """

    categories: tuple[str | int, ...]
    budget: Fraction

    def __init__(self, categories: Iterable[str | int], budget: Number) -> None:
        listed: tuple[Any, ...] = tuple(categories)
        plain = all(isinstance(each, str | int) and not isinstance(each, bool) for each in listed)
        if not plain or len(listed) < 2 or len(set(listed)) < len(listed):
            raise InvalidParameter(
                "The categories are not at least two different texts or whole numbers.", "Write them out."
            )
        object.__setattr__(self, "categories", listed)
        object.__setattr__(self, "budget", epsilon_of(budget, "budget"))

    @property
    def neighbours(self) -> Neighbours:
        """The number of values is public; the values are protected."""
        return "replace_one"

    def to_dict(self) -> dict[str, Any]:
        """Write it for a wire."""
        return {"categories": list(self.categories), "budget": str(self.budget)}


Declaration: TypeAlias = Access | Choices


def read_declaration(given: Mapping[str, Any]) -> Declaration:
    """Read a declaration that its `to_dict` wrote.

    Raises:
        InvalidParameter: it is no declaration.
    """
    try:
        if "categories" in given:
            return Choices(given["categories"], given["budget"])
        return Access.from_dict(given)
    except (KeyError, TypeError, ValueError) as error:
        raise _garbled(error) from None


@dataclass(frozen=True)
class Offer:
    """The description that a node gives of itself, for nothing.

    Attributes:
        name: the name of the node.
        access: the declaration; None while the node is closed.
        left: the epsilon that it has left; None while it is closed.
        records: how many values it holds, where the declaration makes that public; else None.

    Example:
        >>> Offer("ward 3").to_dict()
        {'name': 'ward 3', 'access': None, 'left': None, 'records': None}
    """

    name: str
    access: Declaration | None = None
    left: Fraction | None = None
    records: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Write it for a wire."""
        access = None if self.access is None else self.access.to_dict()
        left = None if self.left is None else str(self.left)
        return {"name": self.name, "access": access, "left": left, "records": self.records}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Read a message that `to_dict` wrote.

        Raises:
            InvalidParameter: it is no offer.

        Example:
            >>> offer = Offer("ward 3", Access((0, 1), "1/3"), Fraction(1, 3), 20)
            >>> Offer.from_dict(offer.to_dict()) == offer
            True
        """
        try:
            access = None if given["access"] is None else read_declaration(given["access"])
            left = None if given["left"] is None else decimal(given["left"], "left")
            return cls(_text(given["name"]), access, left, _count(given["records"]))
        except (KeyError, TypeError, ValueError) as error:
            raise _garbled(error) from None


@dataclass(frozen=True)
class Report:
    """A node's noisy answer: released, so anything may be done with it.

    With t in 0..STEPS the place of a value between the bounds, the sums are those of t and, under
    add_remove, of STEPS - t. The second makes the number of values STEPS times smaller than the sum of both,
    and costs nothing: the two together move by STEPS when one value comes or goes, as the first alone does.
    Of categories, the sums say how many randomised values each category has.

    Attributes:
        name: the name of the node.
        access: the declaration that it answered under.
        epsilon: the cost of the answer to the node.
        sums: the noisy sums, one under replace_one and two under add_remove; each has discrete Laplace noise
            of scale STEPS/epsilon. Of categories, one count for each.
        records: how many values the node holds, under replace_one; else None.

    Example:
        >>> report = Report("ward 3", Access((0, 1), 1), Fraction(1, 4), (9_000_000,), 20)
        >>> report.scale == 4 * STEPS, Report.from_dict(report.to_dict()) == report
        (True, True)
    """

    name: str
    access: Declaration
    epsilon: Fraction
    sums: tuple[int, ...]
    records: int | None = None

    @property
    def scale(self) -> Fraction:
        """The scale of the Laplace noise of each sum, in steps."""
        return STEPS / self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Write it for a wire; integers as text, as they may be wider than a float."""
        return {
            "name": self.name,
            "access": self.access.to_dict(),
            "epsilon": str(self.epsilon),
            "sums": [str(each) for each in self.sums],
            "records": self.records,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Read a message that `to_dict` wrote.

        Raises:
            InvalidParameter: it is no report.
        """
        try:
            access = read_declaration(given["access"])
            sums = tuple(int(each) for each in given["sums"])
            records = _count(given["records"])
            if isinstance(access, Choices):
                wanted = (len(access.categories), False)
            else:
                wanted = (1, False) if access.neighbours == "replace_one" else (2, True)
            if (len(sums), records is None) != wanted:
                raise ValueError("the sums do not fit the declaration")
            return cls(_text(given["name"]), access, epsilon_of(given["epsilon"]), sums, records)
        except (KeyError, TypeError, ValueError) as error:
            raise _garbled(error) from None


@runtime_checkable
class Node(Protocol):
    """A node that can be asked: in this process, or behind any wire (`RemoteNode`).

    Example:
        >>> from discreet.local import LocalNode, RemoteNode
        >>> isinstance(LocalNode("ward 3", [1]), Node), isinstance(RemoteNode(print), Node)
        (True, True)
    """

    def describe(self) -> Offer:
        """Describe the declaration and the budget left. It is free and touches no value."""
        ...

    def ask(self, epsilon: Number) -> Report:
        """Answer with noise, and charge the node's own budget first."""
        ...


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _count(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise TypeError("not a count")
    return value


def _garbled(error: Exception) -> InvalidParameter:
    if isinstance(error, InvalidParameter):
        return error
    return InvalidParameter("The message of a node is garbled.", "See that both sides have the same version.")
