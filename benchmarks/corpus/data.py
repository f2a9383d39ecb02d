"""The tables of a data set: as the session reads them, and as plain DuckDB reads them, clamped to their bounds."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import discreet as dp
from discreet.errors import PolicyError
from discreet.quoting import quote

HERE = Path(__file__).parent
EPSILON = 1000
"""Of each question: its noise is left out, and the grids on which numbers are rounded are finest for a large one."""
BUDGET = {"epsilon": 10**7, "delta": 0.5}
MACROS = """
CREATE MACRO draw(i, salt, n) AS CAST(md5_number_lower(concat(i, '|', salt)) % n AS BIGINT);
CREATE MACRO pick(i, salt, items) AS items[draw(i, salt, len(items)) + 1];
"""
"""A number from 0 to n - 1 and an item of a list, which look random and are the same in every run."""
CLAMP = "CREATE MACRO clamp(x, lo, hi) AS CASE WHEN x < lo THEN lo WHEN x > hi THEN hi ELSE x END"
"""The one function of ours that DuckDB does not have."""
_OF = re.compile(r"^-- the tables of (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Data:
    """A data set.

    Attributes:
        session: over its tables, under its policy.
        plain: DuckDB with the same names, whose private tables are clamped to their bounds and lack rows of no unit.
    """

    session: dp.Session
    plain: duckdb.DuckDBPyConnection


def sources() -> list[Path]:
    """The folders of the data sets, in the order of their names."""
    return sorted(path.parent for path in HERE.glob("*/questions.sql"))


def load(folder: Path) -> Data:
    """Invent the tables of a data set, and open a session over them."""
    made = duckdb.connect(config={"threads": 1})
    made.execute(MACROS)
    made.execute(_tables(folder))
    declared: dict[str, Any] = tomllib.loads((folder / "policy.toml").read_text())
    tables = {name: made.table(quote(name)).to_arrow_table() for name in declared["tables"]}
    session = _session(tables, declared)
    plain = duckdb.connect(config={"threads": 1})
    plain.execute(CLAMP)
    for name, table in tables.items():
        plain.register("source", table)
        plain.execute(_copy(name, table.column_names, declared["tables"][name]))
    return Data(session, plain)


def _tables(folder: Path) -> str:
    """The SQL that invents the tables of a data set; a line "-- the tables of …" stands for those of another folder."""
    text = (folder / "data.sql").read_text()
    return _OF.sub(lambda line: _tables(HERE / line[1]), text)


def _session(tables: dict[str, pa.Table], declared: dict[str, Any]) -> dp.Session:
    """A session; tables whose unit stands at the end of a path are left out where policies have no word for that."""
    try:
        policy = dp.Policy(**{"budget": BUDGET, **declared})
    except PolicyError:
        known = {name: table for name, table in declared["tables"].items() if "through" not in table}
        policy = dp.Policy(**{"budget": BUDGET, **declared, "tables": known})
    return dp.protect({name: tables[name] for name in policy.tables}, policy=policy)


def _copy(name: str, names: list[str], declared: dict[str, Any]) -> str:
    """The statement that makes the table which plain DuckDB is asked, of the table `source`."""
    columns: dict[str, dict[str, Any]] = declared.get("columns", {})
    items = []
    for column in names:
        rule = columns.get(column, {})
        bounds, own = rule.get("bounds"), quote(column)
        if bounds is None or "max_items" in rule:
            items.append(own)
        else:
            low, high = map(_literal, bounds)
            items.append(
                f"CASE WHEN {own} < {low} THEN {low} WHEN {own} > {high} THEN {high} ELSE {own} END AS {own}"
            )
    unit = declared.get("privacy_unit", "row")
    where = (
        "" if declared.get("public") or unit == "row" or "." in unit else f" WHERE {quote(unit)} IS NOT NULL"
    )
    return f"CREATE TABLE {quote(name)} AS SELECT {', '.join(items)} FROM source{where}"


def _literal(value: object) -> str:
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value}'"
    return f"DATE '{value}'" if isinstance(value, dt.date) else str(value)
