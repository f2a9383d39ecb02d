"""How columns of Spark tell privacy units apart, in their stored types."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.engines.identity import Identity, NoIdentity, collated, hidden

BY_CODE_POINT = "UTF8_BINARY"


def identity_of(name: str, kind: str, names: Iterable[str]) -> tuple[Identity | NoIdentity | None, str, str]:
    """How a column tells units apart, the SQL of its identity and the name of that; empty when the column itself does.

    Args:
        name: of the column.
        kind: its stored type, as Spark writes it.
        names: of all columns of the table.
    """
    collation = kind.partition(" collate ")[2].strip()
    if collation and collation.upper() != BY_CODE_POINT:
        return collated(f"the collation {collation}"), "", ""
    own, column = hidden(name, names), "`" + name.replace("`", "``") + "`"
    if kind.startswith("decimal") or kind == "timestamp_ntz":
        return Identity(own, kind), column, own
    if kind in ("float", "double"):
        value = f"CAST({column} AS DOUBLE)"
        sql = f"CASE WHEN {value} = 0 THEN CAST(0 AS DOUBLE) WHEN NOT isnan({value}) THEN {value} END"
        return Identity(own, "FLOAT"), sql, own
    return None, "", ""
