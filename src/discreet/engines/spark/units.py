"""How columns of Spark tell privacy units apart, in their stored types."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.engines.identity import Identity, NoIdentity, collated, hidden
from discreet.engines.spark.capabilities import CAPABILITIES


def identity_of(
    name: str, kind: str, names: Iterable[str], column: str
) -> tuple[Identity | NoIdentity | None, str, str]:
    """How a column tells units apart, the SQL of its identity and the name of that; empty when the column itself does.

    Args:
        name: of the column.
        kind: its stored type, as Spark writes it.
        names: of all columns of the table.
        column: the SQL that reads the stored column.
    """
    collation = kind.partition(" collate ")[2].strip()
    if collation.lower() not in CAPABILITIES.by_code_point:
        return collated(f"the collation {collation}"), "", ""
    own = hidden(name, names)
    if CAPABILITIES.physical(kind.partition("(")[0]).stored:
        return Identity(own, kind), column, own
    if kind in ("float", "double"):
        value = f"CAST({column} AS DOUBLE)"
        sql = f"CASE WHEN {value} = 0 THEN CAST(0 AS DOUBLE) WHEN NOT isnan({value}) THEN {value} END"
        return Identity(own, "FLOAT"), sql, own
    return None, "", ""
