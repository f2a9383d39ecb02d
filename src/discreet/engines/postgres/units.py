"""How columns of PostgreSQL tell privacy units apart, in their stored types."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.engines.identity import Identity, NoIdentity, collated, hidden
from discreet.engines.postgres.capabilities import CAPABILITIES
from discreet.quoting import quote


def identity_of(
    name: str, kind: str, names: Iterable[str], collation: str | None, stored: str
) -> tuple[Identity | NoIdentity | None, str]:
    """How a column tells units apart, and the item of the view that does it; empty when the column itself does.

    Trailing blanks of a `char` column do not count, and are not in the text that queries see of it.

    Args:
        name: of the column.
        kind: its stored type.
        names: of all columns of the table.
        collation: by which its texts are compared, when different texts may be equal by it.
        stored: the SQL that reads the stored column.
    """
    if kind == "citext":
        return collated("citext"), ""
    if collation is not None:
        return collated(f"the collation {collation}"), ""
    own = hidden(name, names)
    if CAPABILITIES.physical(kind).stored:
        return Identity(own, kind), f"{stored} AS {quote(own)}"
    if kind == "numeric":
        return Identity(own, kind), f"NULLIF({stored}, 'NaN') AS {quote(own)}"
    if kind in ("float4", "float8"):
        value = f"NULLIF(CAST({stored} AS float8), 'NaN')"
        canonical = f"CASE WHEN {value} = 0 THEN CAST(0 AS float8) ELSE {value} END"
        return Identity(own, "FLOAT"), f"{canonical} AS {quote(own)}"
    return None, ""
