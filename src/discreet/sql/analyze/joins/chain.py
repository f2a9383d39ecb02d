"""The order in which public tables of a list are joined: each after one that an equality ties it to.

    FROM cast_info AS ci, keyword AS k, movie_keyword AS mk WHERE ci.movie_id = mk.movie_id AND mk.keyword_id = k.id

If `keyword` came first, a row would find all of its rows, and nobody could tell how many of them stay. Behind
`movie_keyword` it finds one. An inner join is the same in any order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp


class Chain:
    """Which sources the equalities of a statement tie together.

    Args:
        names: of the sources, in lower case.
        columns: the names of the columns of each; none where they are not known.
        conditions: that hold of each row.
    """

    def __init__(
        self, names: Sequence[str], columns: Sequence[Collection[str]], conditions: Sequence[exp.Expr]
    ) -> None:
        self._names = names
        self._columns = columns
        self._moves = 0
        sides = [
            {self._owner(column) for column in node.find_all(exp.Column)}
            for node in conditions
            if isinstance(node, exp.EQ)
        ]
        self._ties = [side for side in sides if len(side) == 2 and -1 not in side]

    def _owner(self, column: exp.Column) -> int:
        """The source of a column; -1 where it is not certain."""
        if column.table:
            return self._names.index(column.table.lower()) if column.table.lower() in self._names else -1
        owners = [index for index, known in enumerate(self._columns) if column.name.lower() in known]
        return owners[0] if len(owners) == 1 else -1

    def after(self, index: int, waiting: Sequence[int], movable: Sequence[int]) -> int | None:
        """The later source behind which a source should come; None where it may come now.

        Args:
            index: of the source.
            waiting: those that are not joined yet.
            movable: those of them that it may wait for.
        """
        partners = {other for tie in self._ties if index in tie for other in tie - {index}}
        if not partners or partners - set(waiting) or self._moves > len(self._names) ** 2:
            return None
        self._moves += 1
        return next((other for other in movable if other in partners), None)
