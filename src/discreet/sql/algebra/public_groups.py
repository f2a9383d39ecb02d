"""The groups that a question can have, as far as WHERE and joins decide them by public values alone.

`WHERE educ IN (2, 3) GROUP BY educ` has two groups, and everybody can see that in the text. The private rows are traced
back to stored columns (`branches`), conditions on single columns are read (`narrowing`), and the combinations
of public values that satisfy the others are tried in a sandbox that sees no data (`trial`).

Privacy: the groups are a function of the text, the policy and the public tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.branches import NotTracedError, branches
from discreet.sql.algebra.keys import public_values
from discreet.sql.algebra.null_groups import has_null_group
from discreet.sql.algebra.relation import Relation
from discreet.sql.algebra.released import ReleasedTable
from discreet.sql.algebra.trial import Block, Group, Trial
from discreet.sql.expressions.expression import Expression, leaves
from discreet.sql.expressions.span import Value

MOST_JOINT = 100_000
"""The most combinations of keys that are listed one by one; with more, each key is pruned by itself."""
Values: TypeAlias = tuple[Value | None, ...]


@dataclass(frozen=True)
class PublicKeys:
    """Keys of a GROUP BY whose values are public.

    Attributes:
        indices: the numbers of the keys.
        groups: every combination of their values that can have rows, in order.
    """

    indices: tuple[int, ...]
    groups: tuple[Group, ...]


Groups: TypeAlias = Callable[[Relation, Sequence[Expression]], list[PublicKeys]]
"""The way to work groups out; see `public_groups`."""


def public_groups(relation: Relation, keys: Sequence[Expression]) -> list[PublicKeys]:
    """The groups that can have rows.

    Args:
        relation: the private rows.
        keys: over its columns.

    Returns:
        One entry for each key that is public, or one for several where not every combination of their values can have
        rows. Every combination of the entries is a group.
    """
    if not keys:
        return []  # all rows are one group under any conditions
    listed = [_with_null(key, public_values(key)) for key in keys]
    try:
        trials = [Trial(branch, keys) for branch in branches(relation)]
    except NotTracedError:
        outer = frozenset(_kept_without(relation))
        return _apart_each(
            [
                (*values, None)
                if values is not None and None not in values and _lacks(key, outer)
                else values
                for key, values in zip(keys, listed, strict=True)
            ]
        )
    known = [index for index in range(len(keys)) if all(trial.values(index) is not None for trial in trials)]
    found = _united(trials, known) if len(trials) > 1 else trials[0].groups(known)
    order = [
        _places(listed[index], [trial.values(index) or () for trial in trials]) for index in range(len(keys))
    ]
    return [_sorted(part, order) for block in found for part in _apart(*block)]


def _kept_without(relation: Relation) -> Iterator[str]:
    """The columns of the public tables in which rows may find no partner, and are kept."""
    if (
        isinstance(relation, rel.PublicJoin)
        and relation.outer
        and not isinstance(relation.table, ReleasedTable)
    ):
        yield from relation.table.data.column_names
    for part in rel.parts(relation):
        yield from _kept_without(part)


def _lacks(key: Expression, outer: frozenset[str]) -> bool:
    """Whether the NULL of a key is that of rows without a partner, where nobody traced the rows."""
    return key.span.nullable and any(leaf.name in outer for leaf in leaves(key))


def _with_null(key: Expression, values: Values | None) -> Values | None:
    return values if values is None or not has_null_group(key) else (*values, None)


def _apart_each(listed: list[Values | None]) -> list[PublicKeys]:
    """Keys that are combined with each other."""
    return [
        PublicKeys((index,), tuple((v,) for v in values))
        for index, values in enumerate(listed)
        if values is not None
    ]


def _united(trials: list[Trial], known: list[int]) -> list[Block]:
    """The groups of any of several branches."""
    each = [trial.groups(known) for trial in trials]
    size = sum(math.prod(len(groups) for _, groups in blocks) for blocks in each)
    if size <= MOST_JOINT:
        joint: set[Group] = set()
        for blocks in each:
            for parts in product(*(groups for _, groups in blocks)):
                by_key: dict[int, Value | None] = {}
                for (indices, _), part in zip(blocks, parts, strict=True):
                    by_key.update(zip(indices, part, strict=True))
                joint.add(tuple(by_key[index] for index in known))
        return [(tuple(known), joint)] if known else []
    alone: dict[int, set[Group]] = {index: set() for index in known}
    for blocks in each:
        for indices, groups in blocks:
            for place, index in enumerate(indices):
                alone[index] |= {(group[place],) for group in groups}
    return [((index,), groups) for index, groups in alone.items()]


def _apart(indices: tuple[int, ...], groups: set[Group]) -> list[Block]:
    """Keys every combination of whose values occurs are told apart again."""
    alone: list[set[Group]] = [{(group[place],) for group in groups} for place in range(len(indices))]
    if len(indices) == 1 or len(groups) not in (math.prod(map(len, alone)), 0):
        return [(indices, groups)]
    return [_alone(index, values) for index, values in zip(indices, alone, strict=True)]


def _alone(index: int, groups: set[Group]) -> Block:
    return (index,), groups


def _places(listed: Values | None, found: list[Values]) -> dict[Value | None, int]:
    """The place of each value of a key: listed ones keep their order, others are sorted, and NULL comes last."""
    values = [value for group in found for value in group]
    if listed is not None:
        ordered = [*listed, *values]
    elif len(found) == 1:
        ordered = values
    else:
        ordered = [*sorted({value for value in values if value is not None}), *values]
    known = dict.fromkeys(value for value in ordered if value is not None)
    return {value: index for index, value in enumerate((*known, *([None] if None in values else [])))}


def _sorted(block: Block, order: list[dict[Value | None, int]]) -> PublicKeys:
    indices, groups = block
    if len(indices) == 1:  # there may be a million of them
        places = order[indices[0]]
        last = len(places)
        return PublicKeys(indices, tuple(sorted(groups, key=lambda group: places.get(group[0], last))))

    def place(group: Group) -> list[int]:
        return [
            order[index].get(value, len(order[index])) for index, value in zip(indices, group, strict=True)
        ]

    return PublicKeys(indices, tuple(sorted(groups, key=place)))
