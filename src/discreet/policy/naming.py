"""The column or table of the data that a name means: the one written so, else the only one written so but for case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_lowercase, ascii_uppercase

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def meant(name: str, names: Iterable[str]) -> list[str]:
    """The names that one may mean: itself if it is there, else all that differ from it by case alone.

    More than one is ambiguous, and to be refused: a twin of the privacy unit must not take its place.

    Example:
        >>> meant("id", ["ID", "id"]), meant("Id", ["ID", "id"]), meant("Id", ["ID"])
        (['id'], ['ID', 'id'], ['ID'])
    """
    listed = list(names)
    if name in listed:
        return [name]
    lower = name.lower()
    return [each for each in listed if each.lower() == lower]


def folded(name: str) -> str:
    """A name as DuckDB compares it with others: it takes É and é for two letters.

    Example:
        >>> folded("AÉ")
        'aÉ'
    """
    return name.translate(_LOWER)


def distinct(names: Sequence[str]) -> bool:
    """Whether DuckDB tells all names apart."""
    return len(set(map(folded, names))) == len(names)


def twins(names: Iterable[str]) -> list[str]:
    """The first names that differ by case alone, or not at all; empty when there are none.

    Example:
        >>> twins(["a", "ID", "b", "id"]), twins(["a", "b"])
        (['ID', 'id'], [])
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.lower(), []).append(name)
    return next((group for group in groups.values() if len(group) > 1), [])
