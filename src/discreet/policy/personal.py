"""People who allow different epsilons: a column of a table names the class of a person, and each class has a share.

    [tables.patients.personal]
    column = "consent"
    shares = { careful = 0.1, normal = 0.5, open = 1 }

The budget is that of the class with share 1, and so is the epsilon of a question. A person whose class has share r
loses at most r times as much, by every question and so by all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, PlainValidator

from discreet.policy import values
from discreet.policy.problems import PolicyModel, wrong
from discreet.rational import show

MOST_CLASSES = 16
"""Each class is counted by itself."""
LEAST = Fraction(1, 10**6)
"""The least share: below it no answer about the class would be worth its noise."""


def _shares(value: object) -> dict[str, Fraction]:
    """Read the share of each class: above zero and at most 1, with one class that has 1."""
    if not isinstance(value, Mapping) or not value:
        raise wrong("It names no class.", "Write shares = { careful = 0.1, normal = 0.5, open = 1 }.")
    if len(value) > MOST_CLASSES:
        raise wrong(f"There are more than {MOST_CLASSES} classes.", "Put classes of like epsilons together.")
    found = {str(name): values.number(share) for name, share in value.items()}
    if len(found) < len(value):
        raise wrong(
            "A class has two shares.", "Name each class once: the number 1 and the text 1 are one class."
        )
    for name, share in found.items():
        if not LEAST <= share <= 1:
            raise wrong(
                "A share is at least 0.000001 and at most 1.",
                "Give the part of epsilon that the class allows.",
                name,
            )
        if not name.isprintable() or not name:
            raise wrong("A class has a character in its name that is not shown.", "Write the name plainly.")
    if max(found.values()) != 1:
        raise wrong(
            "No class has the share 1.",
            "The budget is that of the class that allows most: give it 1, and the others their part of it.",
        )
    return found


class Personal(PolicyModel):
    """The classes of people who allow different epsilons.

    Attributes:
        column: of the table, which names the class of the person whom a row belongs to. Where rows of a person differ,
            the class with the least share holds; with a row that names no class, the person is not counted.
        shares: by class, the part of every epsilon that a person of that class may lose: above zero, and 1 for one.

    Example:
        >>> Personal(column="consent", shares={"careful": 0.1, "open": 1}).shares["careful"]
        Fraction(1, 10)
    """

    column: Annotated[str, Field(strict=True, min_length=1)]
    shares: Annotated[dict[str, Fraction], PlainValidator(_shares)]

    if TYPE_CHECKING:

        def __init__(self, *, column: str, shares: Mapping[str, object]) -> None: ...

    def canonical(self) -> list[object]:
        """Everything that an answer depends on, as JSON has it."""
        return [self.column.lower(), {name: str(share) for name, share in sorted(self.shares.items())}]

    def words(self, epsilon: Fraction) -> str:
        """The classes with their epsilons of a total, in words.

        Example:
            >>> Personal(column="consent", shares={"careful": 0.1, "open": 1}).words(Fraction(3))
            'consent says how much of epsilon 3 a person allows: careful 0.3, open 3'
        """
        each = ", ".join(f"{name} {show(share * epsilon)}" for name, share in self.shares.items())
        return f"{self.column} says how much of epsilon {show(epsilon)} a person allows: {each}"
