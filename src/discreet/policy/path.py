"""The way from a table to its privacy unit, where the unit stands in another table.

    [tables.lineitem]
    privacy_unit = "orders.o_custkey"
    through = { l_orderkey = "orders.o_orderkey" }

`privacy_unit` names the column at the end of the way, `through` the first step: which columns of the table hold a key
of which table. That table has the unit itself, or declares its own step to it. So a way has any number of steps, and
each table says its own only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.policy.problems import Problem, instead

if TYPE_CHECKING:
    from discreet.policy.declarations import TablePolicy

Tables = Mapping[str, "TablePolicy"]


def unit_of(table: TablePolicy, tables: Tables) -> tuple[str, str] | None:
    """The table and the column that a privacy unit of the form "table.column" names; None when there is none.

    A name may have dots in it, so the tables of the policy decide where the column begins.
    """
    text = table.privacy_unit or ""
    fitting = [name for name in tables if text.lower().startswith(f"{name.lower()}.")]
    name = max(fitting, key=len, default=None)
    return None if name is None or len(text) == len(name) + 1 else (name, text[len(name) + 1 :])


def parent_of(table: TablePolicy, tables: Tables) -> str | None:
    """The table that the first step leads to, as the policy writes it; None when the policy does not declare it."""
    named = next(iter((table.through or {}).values()))
    return next((name for name in tables if name.lower() == named.table.lower()), None)


def unit_words(table: TablePolicy) -> str:
    """The privacy unit of a table and the way to it, in words."""
    if not table.through:
        return str(table.privacy_unit)
    steps = " and ".join(f"{own} = {key.table}.{key.column}" for own, key in table.through.items())
    return f"{table.privacy_unit} through {steps}"


def faults(tables: Tables) -> list[Problem]:
    """The faults of the ways of a policy; empty when each leads to the unit that it names."""
    found = []
    for name, table in tables.items():
        if table.through:
            fault = _fault(name, table, tables)
            if fault is not None:
                found.append(fault)
    return found


def _fault(name: str, table: TablePolicy, tables: Tables) -> Problem | None:
    place = f"tables.{name}.through"
    own = f"tables.{name}.privacy_unit"
    keys = list((table.through or {}).values())
    if len({key.table.lower() for key in keys}) > 1:
        return place, "It names more than one table.", "A step leads to one table, by one column or several."
    first = keys[0].table
    parent = parent_of(table, tables)
    if parent is None:
        fix = f"Add [tables.{first}], or correct the name: {instead(first, tables)}"
        return place, f"The policy declares no table {first}.", fix
    if parent == name:
        return place, "The step leads back to the table itself.", "Name the table that holds the unit."
    unit = unit_of(table, tables)
    if unit is None:
        column = tables[parent].privacy_unit
        column = str(column) if tables[parent].through else f"{parent}.{column}"
        return own, "The unit stands in another table.", f'Write privacy_unit = "{column}".'
    end = tables[parent]
    if end.public:
        fix = "Give it the unit; or declare this table public, too, if nothing in it is private."
        return place, f"The table {parent} is public, so that its rows are nobody's.", fix
    if end.privacy_unit == "row":
        fix = f'Give {parent} the column as its unit: privacy_unit = "{keys[0].column}" and max_rows = 1.'
        return place, f"Each row of {parent} is a unit of its own, which has no name.", fix
    there = unit_of(end, tables) if end.through else (parent, str(end.privacy_unit))
    if there is None or [part.lower() for part in there] != [part.lower() for part in unit]:
        cause = f"The step leads to {parent}, whose unit is {end.privacy_unit}."
        said = ".".join(there or (parent, str(end.privacy_unit)))
        return own, cause, f'Write privacy_unit = "{said}", or another step.'
    seen = {name}
    current: str | None = parent
    while current is not None and tables[current].through:
        if current in seen:
            return place, "The steps lead round in a circle.", f"Let one of them lead to {unit[0]}."
        seen.add(current)
        current = parent_of(tables[current], tables)
    return None
