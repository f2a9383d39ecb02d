"""The words for a column that can be counted and tested for NULL, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.sql.algebra.relation import Relation
    from discreet.sql.expressions.expression import Expression


def about_opaque(_: Expression, name: str, kind: str = "", instead: str = "") -> tuple[str, str]:
    """Cause and fix of the refusal of such a column.

    Args:
        _: the column.
        name: as the query writes it.
        kind: its type as the engine names it, where it is known.
        instead: an expression of the engine that makes something readable of it, where there is one.
    """
    said = f"the type {kind}" if kind else "a type that cannot be read"
    view = f", for instance {instead.format(name)}," if instead else " of a number, text or date made of it"
    return (
        f"The column {name} is of {said}, whose values are not compared, ordered or grouped here: it depends on "
        "the engine whether they can be, and a question must not fail over a row.",
        f"Write COUNT({name}) or {name} IS NULL; or ask the steward for a view{view} in the source.",
    )


def about_column(relation: Relation, column: Expression, name: str) -> tuple[str, str]:
    """The same of a column of a relation, with the type that it comes from."""
    from discreet.sql.algebra.lineage import origins
    from discreet.sql.expressions.expression import leaves
    from discreet.sql.functions.names import TYPE_WORDS

    if column.type.item is not None:
        return (
            f"The column {name} is {TYPE_WORDS[column.type]}, which is not compared, ordered or grouped as a whole.",
            f"Leave it out, or write FROM …, UNNEST({name}) AS t(item) for its items.",
        )
    for leaf in leaves(column):
        for _, _, own in origins(relation, leaf.name):
            if own is not None and own.physical:
                return about_opaque(column, name, own.physical, own.instead)
    return about_opaque(column, name)


__all__ = ["about_column", "about_opaque"]
