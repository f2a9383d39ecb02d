"""The tables of a server and their columns, as `discreet tables` shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.cli import options as opt
from discreet.records import dataclass

TABLES = {"name": "table_name", "kind": "kind", "privacy_unit": "privacy_unit", "max_rows": "max_rows"}
COLUMNS = {
    "column_name": "column_name",
    "column_type": "data_type",
    "declared": "declared",
    "answers": "answers",
}
"""The headings of SHOW TABLES and of DESCRIBE, and the names of the same in the document of a server."""
NUMBERS = ("max_rows", "columns")


@dataclass(frozen=True)
class Listed:
    """Rows with the same names.

    Attributes:
        rows: by heading.
        header: the headings.
    """

    rows: list[dict[str, Any]]
    header: list[str]

    def cells(self) -> tuple[list[str], list[list[str]], list[bool]]:
        """Heading, rows as text, and which columns are numbers.

        Example:
            >>> Listed([{"name": "visits", "columns": 4}], ["name", "columns"]).cells()
            (['name', 'columns'], [['visits', '4']], [False, True])
        """
        body = [["" if row[name] is None else _text(row[name]) for name in self.header] for row in self.rows]
        return self.header, body, [name in NUMBERS for name in self.header]


def tables_of(tables: Sequence[Mapping[str, Any]]) -> Listed:
    """The tables of a server, by name."""
    found = [
        {**{heading: table[name] for heading, name in TABLES.items()}, "columns": len(table["columns"])}
        for table in sorted(tables, key=lambda table: str(table["table_name"]))
    ]
    return Listed(found, [*TABLES, "columns"])


def columns_of(tables: Sequence[Mapping[str, Any]], name: str) -> Listed:
    """The columns of a table of a server.

    Raises:
        Usage: it has no such table.
    """
    found = next((table for table in tables if str(table["table_name"]).lower() == name.lower()), None)
    if found is None:
        names = ", ".join(sorted(str(table["table_name"]) for table in tables))
        raise opt.Usage(f"the server has no table {name}; its tables are {names}")
    rows = [{heading: column[key] for heading, key in COLUMNS.items()} for column in found["columns"]]
    return Listed(rows, list(COLUMNS))


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
