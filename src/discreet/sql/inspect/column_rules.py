"""The policy's rules for the columns of private tables, in words."""

from __future__ import annotations

from discreet.engines.schema import Type
from discreet.policy import KeyReference, Policy
from discreet.sql.algebra.catalog import PrivateColumn, PrivateTable
from discreet.sql.expressions.span import Span
from discreet.sql.inspect.wording import ends, values


def rule(table: PrivateTable, column: PrivateColumn, policy: Policy) -> str:
    """The facts that are known of a column before it is read, and why.

    Example:
        >>> from discreet.engines.schema import ColumnSchema
        >>> from discreet.sql.algebra.catalog import Catalog
        >>> policy = Policy.for_table("t", privacy_unit="row", bounds={"age": (0, 120)}, budget=1)
        >>> catalog = Catalog.build(policy, {"t": {"age": ColumnSchema("age", Type.INTEGER)}}, {})
        >>> rule(catalog.private["t"], catalog.private["t"].columns["age"], policy)
        'clamped to 0 … 120'
    """
    declared = policy.tables[table.name].columns
    mine = next((each for name, each in declared.items() if name.lower() == column.name.lower()), None)
    span, kind, found = column.scan.span, column.type, []
    if kind.item is not None:
        items = "no max_items" if span.hi is None else f"at most {int(span.hi):,} items of a row count"
        span, kind, found = span.items or Span(), kind.item, [items]
    if mine is not None and mine.bounds is not None:
        found.append(f"clamped to {ends(span, kind)}")
    if mine is not None and mine.keys is not None and span.domain is not None:
        where = "the policy"
        if isinstance(mine.keys, KeyReference):
            where = f"the public table {mine.keys.table}.{mine.keys.column}"
        plural = "s" * (len(span.domain) != 1)
        found.append(f"{len(span.domain):,} key{plural} from {where}: {values(span.domain)}")
    personal = policy.tables[table.name].personal
    if personal is not None and personal.column.lower() == column.name.lower():
        found.append(f"names the classes of people: {', '.join(personal.shares)}")
    if found:
        return "; ".join(found)
    if kind is Type.BOOLEAN:
        return "true or false"
    return f"{ends(span, kind)}, the range of its type" if span.bounded else "no bounds, no keys"
