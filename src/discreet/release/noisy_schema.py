"""The names in noisy tables, spelled and read here alone.

A noisy table `__release_1` has the number of each group in `__cell`, its keys in `k0`, `k1` and so on, and its
aggregates in `a0`, `a1` and so on. Every table that is grouped on the way there names its keys likewise. Where ends of
intervals stand for an aggregate, they are `a0__lo` and `a0__hi`.
"""

from __future__ import annotations

from discreet.records import dataclass

CELL = "__cell"
"""The column with the number of the group."""
ID = "__row_of_"
"""The prefix of the names of hidden columns, which tell the rows of an answer apart."""
ENDS = LOW, HIGH = "__lo", "__hi"
"""The suffixes to the name of a column whose ends stand for it."""
_TABLE, _KEY, _AGGREGATE = "__release", "k", "a"


@dataclass(frozen=True)
class NoisySchema:
    """The columns of a noisy table.

    Attributes:
        keys: how many keys it has.
        aggregates: how many aggregates.

    Example:
        >>> NoisySchema(1, 2).columns
        ('__cell', 'k0', 'a0', 'a1')
    """

    keys: int
    aggregates: int

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of its keys."""
        return tuple(map(key_name, range(self.keys)))

    @property
    def aggregate_names(self) -> tuple[str, ...]:
        """The names of its aggregates."""
        return tuple(map(aggregate_name, range(self.aggregates)))

    @property
    def columns(self) -> tuple[str, ...]:
        """All names, in the order of the table."""
        return CELL, *self.key_names, *self.aggregate_names


def table_name(number: int) -> str:
    """The name of a noisy table by its number, from 1."""
    return f"{_TABLE}_{number}"


def is_table(name: str) -> bool:
    """Whether a name is kept for noisy tables."""
    return name.startswith(_TABLE)


def key_name(number: int) -> str:
    """The name of a key by its number, from 0."""
    return f"{_KEY}{number}"


def aggregate_name(number: int) -> str:
    """The name of an aggregate by its number, from 0."""
    return f"{_AGGREGATE}{number}"


def key_number(name: str) -> int | None:
    """The number of the key of that name; None where it is no key."""
    return _number(name, _KEY)


def aggregate_number(name: str) -> int | None:
    """The number of the aggregate of that name; None where it is no aggregate.

    Example:
        >>> aggregate_number("a12"), aggregate_number("age"), aggregate_number("k0"), aggregate_number("a01")
        (12, None, None, None)
    """
    return _number(name, _AGGREGATE)


def ends_of(name: str) -> tuple[str, str]:
    """The names of the ends that stand for a column."""
    return name + LOW, name + HIGH


def _number(name: str, letter: str) -> int | None:
    rest = name[1:]
    if name[:1] != letter or not (rest.isascii() and rest.isdigit()) or (rest[0] == "0" and rest != "0"):
        return None
    return int(rest)
