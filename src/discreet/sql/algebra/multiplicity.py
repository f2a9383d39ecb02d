"""How often a join repeats a row of a unit, and how many groups a unit can be in, by the policy and public data.

A join of two private tables gives up to as many rows of a unit as the caps of both sides multiplied. It gives fewer
where one side is known to have at most one row of a unit for each value that is compared. In a public table the most
partners that a row can find are counted. Where a column names the unit, its rows are bounded again behind the join,
so that a number from here that is too low makes answers wrong and not less private; where each row is one unit,
privacy hangs on `most_alike`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.lineage import read
from discreet.sql.algebra.relation import Relation
from discreet.sql.expressions.expression import Column

if TYPE_CHECKING:
    import pyarrow as pa


def most_alike(data: pa.Table, fields: list[str]) -> int:
    """How many rows of a table that was `spelled` are equal in some columns at most; at least 1.

    Example:
        >>> import pyarrow as pa
        >>> prices = pa.table({"county": ["A", "A", "B"], "year": [2023, 2024, 2024]})
        >>> most_alike(prices, ["county"]), most_alike(prices, ["county", "year"]), most_alike(prices, [])
        (2, 1, 3)
    """
    import pyarrow.compute as pc

    if not fields or not len(data):
        return max(1, len(data))
    counts = data.select(fields).group_by(fields).aggregate([([], "count_all")])
    return int(pc.max(counts.column("count_all")).as_py())


def unique_on(relation: Relation, declared: bool = False) -> frozenset[str] | None:
    """Columns of which a unit has each combination of values in at most one row; None when none are known.

    Args:
        relation: private rows.
        declared: whether the key by which the policy lets others name the rows of a table is believed to be unique.
    """
    if isinstance(relation, rel.PerUnit):
        return frozenset(name for name, _ in relation.keys)
    if isinstance(relation, rel.Scan) and declared:
        own = (link.columns for link in relation.table.links if link.key[0] == relation.table.name.lower())
        return next((frozenset(columns) for columns in own), None)
    if isinstance(relation, rel.Windowed):
        return unique_on(relation.source, declared)
    if isinstance(relation, rel.Matching) or (
        isinstance(relation, rel.PublicJoin) and relation.partners == 1 and not relation.keeps
    ):
        return unique_on(relation.left, declared)
    if isinstance(relation, rel.Select):
        inside = unique_on(relation.source, declared)
        if inside is None or relation.items is None:
            return inside
        moved = {item.name: name for name, item in relation.items if isinstance(item, Column)}
        return frozenset(moved[name] for name in inside) if inside <= moved.keys() else None
    return None


def most_groups(relation: Relation, names: set[str]) -> int | None:
    """How many combinations of values of some columns a unit has at most, by its caps; None if that is unknown."""
    if not names:
        return 1
    if isinstance(relation, rel.Scan):
        return 1 if names <= {relation.table.own_unit} else relation.table.max_rows
    if isinstance(relation, rel.Select):
        if relation.items is not None:
            names = read(item for name, item in relation.items if name in names)
        return most_groups(relation.source, names)
    if isinstance(relation, rel.PerUnit):
        keys = dict(relation.keys)
        wanted = names if names <= keys.keys() else keys.keys()
        return most_groups(relation.source, read(keys[name] for name in wanted))
    if isinstance(relation, rel.Union):
        return _over_all([most_groups(part, names) for part in relation.parts], multiplied=False)
    if isinstance(relation, rel.Join):
        right = _named(relation.right)
        sides = [(relation.left, names - right), (relation.right, names & right)]
        return _over_all([most_groups(side, some) for side, some in sides], multiplied=True)
    if isinstance(relation, rel.PublicJoin):
        public = set(relation.table.data.column_names)
        if not names & public:
            return most_groups(relation.left, names)
        decide = (names | read([relation.on])) - public
        return _over_all([most_groups(relation.left, decide), relation.partners], multiplied=True)
    if isinstance(relation, rel.Windowed):
        return None if names & dict(relation.windows).keys() else most_groups(relation.source, names)
    return most_groups(relation.left, names)


def unbounded_joins(relation: Relation) -> Iterator[rel.Join | rel.PublicJoin]:
    """The joins behind which a unit may have more rows than its cap, though each side keeps to its own."""
    if isinstance(relation, rel.Join | rel.PublicJoin) and relation.loose:
        yield relation
    if isinstance(relation, rel.PerUnit) and not relation.keys:
        return  # one row of each unit, for any relation below
    below = (relation.left,) if isinstance(relation, rel.Matching) else rel.parts(relation)
    for part in below:
        yield from unbounded_joins(part)


def _named(relation: Relation) -> set[str]:
    """The columns of the right side of a join, which are named there."""
    assert isinstance(relation, rel.Select)
    return {name for name, _ in relation.items or ()}


def _over_all(some: list[int | None], multiplied: bool) -> int | None:
    out = 1 if multiplied else 0
    for factor in some:
        if factor is None:
            return None
        out = out * factor if multiplied else out + factor
    return out
