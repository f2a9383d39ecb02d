"""Names that differ by case alone, which DuckDB and Spark do not tell apart: never guessed.

DuckDB renames such a column: beside `ID`, `id` becomes `id_1`, and who asks for `id` is given `ID`. So the names are
taken from the source itself, and a column of such a name can be neither declared nor asked for. Spark reads neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from discreet.errors import SourceError


def see_no_twins(table: str, names: Iterable[str]) -> None:
    """See that no two columns of a table differ by case alone.

    Raises:
        SourceError: two do.
    """
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise SourceError(
                f"The columns {seen[name.lower()]} and {name} of the table {table} differ by case alone, if at all.",
                "Rename one of them in the source, or leave it out.",
            )
        seen[name.lower()] = name


def see_no_twin_tables(names: Iterable[str]) -> None:
    """See that no two tables differ by case alone.

    Raises:
        SourceError: two do.
    """
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise SourceError(f"Two tables are called {name}.", "Give each its own name.")
        seen.add(name.lower())


def folded(names: Iterable[str]) -> frozenset[str]:
    """The names, in lower case, that more than one column has but for case.

    Example:
        >>> sorted(folded(["ID", "x", "id"]))
        ['id']
    """
    return frozenset(name for name, many in Counter(each.lower() for each in names).items() if many > 1)
