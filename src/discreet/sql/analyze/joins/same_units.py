"""Units of two tables may be compared where both tables tell them apart in the same way.

An engine would convert a text to a number, or a decimal to a double, to compare them: it would fail at a value that is
no number, and so tell whether one chosen person has such a value, or hold two people for one. So this is refused while
the question is planned, from the types alone.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.sql.algebra.relation import PrivateRows, unit_kind
from discreet.sql.syntax.refusal import refuse

_LOGICAL = frozenset(kind.name for kind in Type)


def see_same_units(node: exp.Expr | None, text: str, left: PrivateRows, right: PrivateRows) -> None:
    """See that the units of both sides are of one type.

    Raises:
        QueryRefused: they are not.
    """
    kinds = [unit_kind(rows.relation) for rows in (left, right)]
    if left.per_unit and right.per_unit and kinds[0] != kinds[1]:
        said = " and ".join(kind if kind in _LOGICAL else f"stored as {kind}" for kind in kinds)
        raise refuse(node, text, f"The privacy units of the two sides are of different types: {said}.",
                     "Give both columns one type in the source, for instance through a view.")  # fmt: skip
