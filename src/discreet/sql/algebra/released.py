"""Released numbers that private rows are compared with: one statement, releases one after the other.

    SELECT COUNT(*) FROM people WHERE income > (SELECT AVG(income) FROM people)

releases the mean first. The noisy mean is a public table of one row then, beside every private row of the second
release: the SQL of that release is the same for every mean, and the table is its parameter.

Privacy: adaptive composition (Dwork, Rothblum and Vadhan 2010, section III; it is sequential composition for any
epsilon fixed beforehand). All releases are planned, priced and charged before the first of them is drawn. The
sensitivity of the second holds for every content of the table, NULL and both ends of its type included: a table of one
row, or one that is matched by all of its keys, gives a private row at most one partner, and the numbers computed
from it are clamped like any others. The table is made of noisy numbers alone, so it is post-processing of the first
release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import EngineError
from discreet.records import dataclass
from discreet.sql.algebra.lineage import below
from discreet.sql.algebra.relation import PublicJoin, PublicTable, Relation, parts

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = "__given_"


def given_name(number: int) -> str:
    """The name of such a table by its number, from 1."""
    return f"{_NAME}{number}"


@dataclass(frozen=True, eq=False, slots=True)
class ReleasedTable(PublicTable):
    """A table of released numbers in a join; `data` stands in for it until they are there, and says nothing of them.

    Attributes:
        query: the statement over noisy tables, those of earlier releases, that makes it.
        source: the sub-query inside, with its values unchanged.
        keys: the columns of which no two rows have the same values, by DISTINCT; none where there is one row.
        sql: the part of the question that it is, for people.
    """

    query: exp.Query
    source: exp.Query
    keys: tuple[str, ...]
    sql: str

    @property
    def schema(self) -> pa.Schema:
        """The names and types of its columns, which no number decides."""
        return self.data.schema


def released_tables(relations: Iterable[Relation]) -> dict[str, ReleasedTable]:
    """The tables of released numbers that some relations are joined with, by name."""
    out: dict[str, ReleasedTable] = {}
    for relation in relations:
        if isinstance(relation, PublicJoin) and isinstance(relation.table, ReleasedTable):
            out[relation.table.name] = relation.table
        out.update(released_tables(parts(relation)))
    return out


def reads_released(relation: Relation, needed: set[str]) -> bool:
    """Whether released numbers decide which rows there are, or the values in some of their columns.

    Args:
        relation: private rows.
        needed: the columns that are looked at.
    """
    if isinstance(relation, PublicJoin) and isinstance(relation.table, ReleasedTable):
        keeps_all = relation.on is None or relation.outer
        if not keeps_all or needed & set(relation.table.data.column_names):
            return True
    return any(reads_released(part, used) for part, used in below(relation, needed))


def filled(
    tables: Mapping[str, pa.Table], relation: Relation, given: Mapping[str, pa.Table]
) -> dict[str, pa.Table]:
    """The tables that the query of a relation reads, with the released ones in the place of their stand-ins.

    Args:
        tables: of the compiled query, by name.
        relation: the private rows.
        given: the tables of released numbers.

    Raises:
        EngineError: one of these is missing.
    """
    if not released_tables([relation]).keys() <= given.keys():
        raise EngineError(
            "A released number is missing that private rows are compared with.",
            "This is a fault of discreet; please report it with the question.",
        )
    return {name: given.get(name, table) for name, table in tables.items()}
