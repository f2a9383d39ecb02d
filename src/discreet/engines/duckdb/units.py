"""How columns of DuckDB tell privacy units apart, in their stored types."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from discreet.engines.duckdb.capabilities import CAPABILITIES
from discreet.engines.identity import Identity, NoIdentity, collated, hidden
from discreet.quoting import quote

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType


def identity_of(
    name: str, kind: DuckDBPyType, names: Iterable[str], collation: str | None, stored: str
) -> tuple[Identity | NoIdentity | None, str]:
    """How a column tells units apart, and the item of the view that does it; empty when the column itself does.

    Args:
        name: of the column.
        kind: its stored type.
        names: of all columns of the table.
        collation: by which its texts are compared; None when by code point.
        stored: the SQL that reads the stored column.
    """
    if collation is not None:
        return collated(f"the collation {collation}"), ""
    if str(kind.id) == "timestamptz_ns":  # which the stubs of DuckDB do not know
        cause = "The column holds nanoseconds with a zone, which DuckDB reads as microseconds only: people could merge."
        return NoIdentity(cause, "Name another column, or store it as a text."), ""
    if str(kind) == "JSON":
        cause = "The column holds JSON, which names nobody: one person may be spelled in several ways."
        return NoIdentity(
            cause, "Name another column, or a view's that makes an integer or a text of it."
        ), ""
    own = hidden(name, names)
    if CAPABILITIES.physical(str(kind.id)).stored:
        return Identity(own, str(kind)), f"{stored} AS {quote(own)}"
    if kind.id in ("float", "double"):
        value = f"CAST({stored} AS DOUBLE)"
        canonical = f"CASE WHEN {value} = 0 THEN CAST(0 AS DOUBLE) WHEN NOT isnan({value}) THEN {value} END"
        return Identity(own, "FLOAT"), f"{canonical} AS {quote(own)}"
    return None, ""


def collations(connection: duckdb.DuckDBPyConnection, relation: str, names: Sequence[str]) -> dict[str, str]:
    """The columns of a relation whose texts are not compared by code point, with the collation of each; reads no row.

    DuckDB tells no caller the collation of a column, but it does write it into the definition of a table made from it.
    """
    if not names:
        return {}
    probe = f"__discreet_probe_{secrets.token_hex(8)}"
    items = ", ".join(f"{quote(name)} AS c{index}" for index, name in enumerate(names))
    connection.execute(f"CREATE TEMP TABLE {probe} AS SELECT {items} FROM {relation} LIMIT 0")
    try:
        said = connection.execute("SELECT sql FROM duckdb_tables() WHERE table_name = ?", [probe]).fetchall()
    finally:
        connection.execute(f"DROP TABLE temp.main.{probe}")
    found = re.findall(r"\bc(\d+) VARCHAR COLLATE \"?([^\s,);\"]+)", said[0][0])
    return {
        names[int(index)]: word for index, word in found if word.lower() not in CAPABILITIES.by_code_point
    }
