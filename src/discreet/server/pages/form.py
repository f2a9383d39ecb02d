"""Questions without SQL: a form's choices as one SELECT, and examples that fit the tables of a data set.

Everything here is text about the policy: the question goes the way of every other one afterwards.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot.tokens import Tokenizer

from discreet.dbapi.words import quoted
from discreet.errors import InvalidParameter
from discreet.quoting import quote
from discreet.rational import exact
from discreet.sql.expressions.dialect import quoted_text

MEASURES = {
    "units": ("How many", "COUNT(DISTINCT {})", "n"),
    "rows": ("How many rows", "COUNT(*)", "n"),
    "average": ("Average", "AVG({})", "average_{}"),
    "median": ("Median", "MEDIAN({})", "median_{}"),
    "sum": ("Sum", "SUM({})", "sum_{}"),
}
"""By name: in words, in SQL, and the name of the column of the answer."""
TESTS = {"is": "=", "is not": "<>", "is at least": ">=", "is at most": "<="}
CONDITIONS = ("1", "2")
"""The numbers of the form's rows of conditions, and of its groups."""
FIELDS = frozenset(
    {"table", "what", "column", "epsilon"}
    | {f"{part}{i}" for part in ("by", "where", "test", "value") for i in CONDITIONS}
)
"""The fields of the form."""
MOST = 200
"""Values of lists that are shown, and examples."""
RESERVED = frozenset(word for phrase in Tokenizer.KEYWORDS for word in phrase.split())
"""Names that are quoted, since they mean something in SQL."""
Table = Mapping[str, Any]
"""A table as `DataSet.schema` describes it."""


def askable(tables: Sequence[Table]) -> list[Table]:
    """The tables that hold private rows."""
    return [table for table in tables if table["kind"] == "private"]


def choices(table: Table) -> dict[str, list[str]]:
    """The columns that each part of a question can name.

    Example:
        >>> choices({"columns": [{"column_name": "age", "answers": "COUNT, WHERE, GROUP BY, SUM, AVG, MEDIAN"}]})
        {'unit': [], 'column': ['age'], 'by': ['age'], 'where': ['age']}
    """
    found: dict[str, list[str]] = {"unit": [], "column": [], "by": [], "where": []}
    for column in table["columns"]:
        name, answers = column["column_name"], column["answers"].split(", ")
        if answers[0].startswith("COUNT(DISTINCT"):
            found["unit"].append(name)
            continue
        for part, word in (("column", "MEDIAN"), ("by", "GROUP BY"), ("where", "WHERE")):
            if word in answers:
                found[part].append(name)
    return found


def written(fields: Mapping[str, str], tables: Sequence[Table]) -> str:
    """The SELECT that a form says.

    Args:
        fields: of the form.
        tables: of the data set.

    Raises:
        InvalidParameter: a choice is none of the form's, or a value is not of its column's type.

    Example:
        >>> age = {"column_name": "age", "answers": "COUNT, WHERE, MEDIAN", "data_type": "BIGINT"}
        >>> county = {"column_name": "county", "answers": "COUNT, WHERE, GROUP BY", "data_type": "VARCHAR"}
        >>> visits = {"table_name": "visits", "kind": "private", "columns": [age, county]}
        >>> fields = {"what": "average", "column": "age", "by1": "county", "where1": "age", "value1": "65"}
        >>> print(written(fields | {"test1": "is at least"}, [visits]))
        SELECT county, AVG(age) AS average_age
        FROM visits
        WHERE age >= 65
        GROUP BY county
        ORDER BY county
    """
    found = askable(tables)
    table = (
        next((table for table in found if table["table_name"] == fields.get("table", "")), None) or found[0]
    )
    offered = choices(table)
    _, call, name = _of(MEASURES, fields.get("what") or next(iter(measures(table))))
    column = ""
    if "{}" in call:
        part = "unit" if name == "n" else "column"
        column = _of(offered[part], offered["unit"][0] if part == "unit" else fields.get("column", ""))
    by = [_of(offered["by"], fields[f"by{i}"]) for i in CONDITIONS if fields.get(f"by{i}")]
    by = list(dict.fromkeys(by))
    keys = ", ".join(map(_name, by))
    lines = [
        f"SELECT {', '.join([*map(_name, by), f'{call.format(_name(column))} AS {_name(name.format(column))}'])}",
        f"FROM {_name(table['table_name'])}",
    ]
    where = " AND ".join(_conditions(fields, table, offered["where"]))
    lines += [f"WHERE {where}"] if where else []
    lines += [f"GROUP BY {keys}", f"ORDER BY {keys}"] if by else []
    return "\n".join(lines)


def offered(tables: Sequence[Table], built: Mapping[str, str]) -> dict[str, Any]:
    """The parts of the page around a question: examples, and the lists of the form for the table that is chosen."""
    found = askable(tables)
    if not found:
        return {"examples": [], "simple": None}
    table = next((table for table in found if table["table_name"] == built.get("table", "")), found[0])
    simple = {
        "table": table["table_name"],
        "tables": [table["table_name"] for table in found],
        "measures": measures(table),
        "tests": list(TESTS),
        "values": sorted({value for column in table["columns"] for value in column["values"] or ()})[:MOST],
        **choices(table),
    }
    return {"examples": list(examples(tables))[:MOST], "simple": simple}


def measures(table: Table) -> dict[str, str]:
    """The measures of a table, each in words."""
    offered = choices(table)
    return {
        name: f"{words} {quoted(offered['unit'][0])}" if name == "units" else words
        for name, (words, call, column) in MEASURES.items()
        if "{}" not in call or offered["unit" if column == "n" else "column"]
    }


def examples(tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Questions that the tables can answer, each in words and in SQL."""
    for table in askable(tables):
        offered, name = choices(table), table["table_name"]
        single = {column["column_name"] for column in table["columns"] if len(column["values"] or ()) == 1}
        keyed = [column for column in offered["by"] if column not in offered["column"]] or offered["by"]
        keyed = [column for column in keyed if column not in single] or keyed
        for what, words in measures(table).items():
            column = (
                offered["column"][0] if offered["column"] and what in ("average", "median", "sum") else ""
            )
            by = keyed[0] if keyed and what != "rows" and keyed[0] != column else ""
            said = f"{words}{' of' if column else ''} {column}".strip() + (
                f", by {by}" if by else f" of {name}"
            )
            yield said, written({"table": name, "what": what, "column": column, "by1": by}, tables)


def _of(known: Any, name: str) -> Any:
    if name not in known:
        raise InvalidParameter("The form names something that is not there.", "Choose from its lists.")
    return known[name] if isinstance(known, Mapping) else name


def _conditions(fields: Mapping[str, str], table: Table, known: Sequence[str]) -> Iterator[str]:
    types = {column["column_name"]: column["data_type"] for column in table["columns"]}
    for i in CONDITIONS:
        value = fields.get(f"value{i}", "").strip()
        if fields.get(f"where{i}"):
            column = _of(known, fields[f"where{i}"])
            test = _of(TESTS, fields.get(f"test{i}") or "is")
            yield f"{_name(column)} {test} {_value(value, types[column], column)}"
        elif value:  # else everybody is counted, and somebody else was meant
            raise InvalidParameter(
                "A value for whom stands beside no column.", "Choose its column, or empty the field."
            )


def _value(text: str, kind: str, column: str) -> str:
    """A value as SQL has it.

    Raises:
        InvalidParameter: it is not of the column's type.
    """
    try:
        if kind == "VARCHAR":
            return quoted_text(text)
        if kind == "BOOLEAN":
            return {"yes": "TRUE", "true": "TRUE", "no": "FALSE", "false": "FALSE"}[text.lower()]
        if kind == "DATE":
            return f"DATE '{dt.date.fromisoformat(text)}'"
        if kind == "TIMESTAMP":
            return f"TIMESTAMP '{dt.datetime.fromisoformat(text).isoformat(' ')}'"
        if "/" not in text:
            exact(text, column)
            return text
    except (ValueError, KeyError):
        pass
    looks = {"BOOLEAN": "yes or no", "DATE": "2026-01-31", "TIMESTAMP": "2026-01-31 12:00"}
    fault = "of another type" if text else "missing"
    raise InvalidParameter(f"The value for {column} is {fault}.", f"Write it as {looks.get(kind, '65')}.")


def _name(name: str) -> str:
    """A name as SQL takes it, in quotes where it means something else."""
    return quote(name) if name.upper() in RESERVED else quoted(name)
