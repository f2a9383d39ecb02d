"""The column or table of the data that a name means: the one written so, else the only one written so but for case."""

from __future__ import annotations

from collections.abc import Iterable


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
    folded = name.lower()
    return [each for each in listed if each.lower() == folded]


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
