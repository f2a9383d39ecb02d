"""The fields of structs as columns of their own, by path: `address.city` beside `address`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

K = TypeVar("K")
DEEPEST = 16
"""How many fields lie within each other at most; deeper ones have no name."""


def with_fields(
    columns: Iterable[tuple[str, str, K]],
    fields_of: Callable[[K], Iterable[tuple[str, K]]],
    read: Callable[[str, str], str],
) -> list[tuple[str, str, K, str]]:
    """The columns of a table, and behind them the fields in them, with the name of the column that they stand in.

    A path that two fields have, or a field and a column, is left out: its meaning would be a matter of luck.

    Args:
        columns: of the table.
        fields_of: the names and types of the fields of a type; none of one that is no struct.
        read: the SQL of a field, from that of the struct and the name of the field.

    Example:
        >>> kinds = {"person": [("name", "text"), ("home", "address")], "address": [("city", "text")]}
        >>> shown = with_fields([("p", "p", "person")], lambda kind: kinds.get(kind, ()), "{}.{}".format)
        >>> [(name, sql, within) for name, sql, _, within in shown]
        [('p', 'p', ''), ('p.name', 'p.name', 'p'), ('p.home', 'p.home', 'p'), ('p.home.city', 'p.home.city', 'p')]
    """

    def below(name: str, sql: str, kind: K, depth: int) -> Iterator[tuple[str, str, K]]:
        for own, inner in fields_of(kind) if depth else ():
            yield f"{name}.{own}", read(sql, own), inner
            yield from below(f"{name}.{own}", read(sql, own), inner, depth - 1)

    listed = list(columns)
    found = [(*column, "") for column in listed]
    found += [(*field, column[0]) for column in listed for field in below(*column, DEEPEST)]
    alike = Counter(name.lower() for name, *_ in found)
    return [column for column in found if not column[3] or alike[column[0].lower()] == 1]
