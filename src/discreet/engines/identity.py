"""The identity of privacy units in a column: the engine's own equality, without loss, or a reason why it has none.

Queries see a column in one of a few logical types, which may hold less than the source does: eight ids of twenty digits
are one double. So a unit is never told by the columns that queries see, but by its identity: a column of the engine's
view in which two values are identical exactly when the engine holds the stored ones equal. Hashing, grouping, sorting
and joining then agree on who is who. The columns that queries see of a unit are functions of its identity.

NaN is NULL, as everywhere, and a row whose unit is NULL belongs to nobody and is not counted. Zeros of both signs are
one unit. A type whose equality has no such spelling, such as texts under a collation, names no units.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.records import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """How a column tells units apart.

    Attributes:
        column: of the engine's view, which may be one that queries cannot name.
        kind: units of two tables may be compared where these are the same. The name of a logical type says that the
            values are of that type, and so may be shown in the place of the column.
    """

    column: str
    kind: str


@dataclass(frozen=True, slots=True)
class NoIdentity:
    """Why a column names no units, and the fix."""

    cause: str
    fix: str


def collated(collation: str) -> NoIdentity:
    """The refusal of texts that are compared by more than their characters."""
    return NoIdentity(
        f"The column compares texts by {collation}, so that different texts may be one person.",
        "Show it through a view that spells each person in one way and compares by code point, such as lower(id).",
    )


def hidden(name: str, names: Iterable[str]) -> str:
    """A name for the identity of a column that no column of its table has, in any case of its letters.

    It is made from the place of the column: a longer name than its own may be too long for the engine.

    Example:
        >>> hidden("id", ["__UNIT_1", "id"])
        '__unit_1_'
    """
    listed = list(names)
    folded = {each.lower() for each in listed}
    found = f"__unit_{listed.index(name)}"
    while found.lower() in folded:
        found += "_"
    return found
