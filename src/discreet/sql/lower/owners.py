"""Where a table is read from, and the unit of its rows: in the table itself, or at the end of a path.

    SELECT …, __owner AS __unit FROM lineitem LEFT JOIN (
        SELECT key, first(unit) AS __owner FROM (SELECT DISTINCT o_orderkey AS key, o_custkey AS unit FROM orders)
        GROUP BY key HAVING COUNT(*) = 1 AND COUNT(unit) = 1
    ) ON l_orderkey = key

A key has an owner when all rows of the parent that hold it are of one unit; see `algebra.key_paths` for why. A row
whose key has no owner keeps its place, with no unit, and is dropped where rows without a unit are. Nothing here fails
over a row: keys and units are compared and counted, and nothing else.
"""

from __future__ import annotations

from discreet.sql.algebra.catalog import PrivateTable, UnitStep
from discreet.sql.expressions.dialect import Dialect, quote

OWNER, KEY, ROWS = "__owner", "__key_", "__rows"


def unit_item(table: PrivateTable, dialect: Dialect) -> str:
    """The unit of a row, over `source_of` the table."""
    if table.step is not None:
        return f"{OWNER}.{OWNER}"
    assert table.unit is not None
    return quote(table.unit.name if table.unit.identity is None else table.unit.identity.column, dialect)


def source_of(table: PrivateTable, dialect: Dialect, aliased: bool = False) -> str:
    """The text behind FROM: the table, and beside it the owners of its keys.

    Args:
        table: that is read.
        dialect: of the engine.
        aliased: whether the table is called `ROWS` even where it stands alone.
    """
    name = quote(table.source or table.name, dialect)
    if table.step is None:
        return f"{name} AS {ROWS}" if aliased else name
    on = " AND ".join(
        f"{ROWS}.{quote(own, dialect)} = {OWNER}.{KEY}{index}"
        for index, (own, _) in enumerate(table.step.told)
    )
    return f"{name} AS {ROWS} LEFT JOIN ({_owners(table.step, dialect)}) AS {OWNER} ON {on}"


def _owners(step: UnitStep, dialect: Dialect) -> str:
    """The keys of the parent whose rows are all of one unit, each once, with that unit."""
    parent = step.parent
    keys = [f"{KEY}{index}" for index in range(len(step.told))]
    held = [f"{ROWS}.{quote(key, dialect)}" for _, key in step.told]
    unit = unit_item(parent, dialect)
    unit = unit if parent.step is not None else f"{ROWS}.{unit}"
    items = ", ".join(
        [*(f"{column} AS {key}" for column, key in zip(held, keys, strict=True)), f"{unit} AS {OWNER}"]
    )
    present = " AND ".join(f"{column} IS NOT NULL" for column in held)
    pairs = f"SELECT DISTINCT {items} FROM {source_of(parent, dialect, True)} WHERE {present}"
    listed = ", ".join(keys)
    first = dialect.only.format(OWNER)
    return (
        f"SELECT {listed}, {first} AS {OWNER} FROM ({pairs}) AS pairs "
        f"GROUP BY {listed} HAVING COUNT(*) = 1 AND COUNT({OWNER}) = 1"
    )
