"""Imports a CSV file, however untidy, into a typed table; no value of it can raise.

What the caller sees of the data are the types of the columns alone. They are taken from the whole file, so
one value may change them: a steward who minds fixes them with `types`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.engines.connection import literal, quote
from discreet.engines.schema import Type
from discreet.errors import SourceError

if TYPE_CHECKING:
    import duckdb

_SQL = {
    Type.INTEGER: "BIGINT",
    Type.FLOAT: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.TEXT: "VARCHAR",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}

# A column has the first of these types that all its values are written in.
_WRITTEN = {
    Type.INTEGER: r"[+-]?\d+([.]\d+)?([eE][+]?\d+)?",
    Type.FLOAT: r"[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)",
    Type.BOOLEAN: "true|false",
    Type.DATE: r"\d{4}-\d{1,2}-\d{1,2}",
    Type.TIMESTAMP: r"\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}(:\d{2}([.]\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?",
}


def import_csv(
    connection: duckdb.DuckDBPyConnection, path: str, table: str, types: Mapping[str, Type]
) -> None:
    """Import a file with a header line into a new table.

    Args:
        connection: one that may still read the file.
        path: the file, plain or gzipped.
        table: the name of the new table.
        types: the types of columns that the caller fixes; a value that is not of the type becomes NULL.

    Raises:
        SourceError: the file cannot be read as CSV, or `types` names a column that it does not have.
    """
    import duckdb

    reader = (
        f"read_csv({literal(path)}, all_varchar = true, header = true, null_padding = true, parallel = false, "
        "strict_mode = false, ignore_errors = true)"
    )
    failed = False
    try:
        names = connection.sql(f"FROM {reader}").columns
        fixed = _fixed(names, types)
        found = {**_infer(connection, reader, [name for name in names if name not in fixed]), **fixed}
        columns = ", ".join(f"{_cast(quote(name), found[name])} AS {quote(name)}" for name in names)
        connection.execute(f"CREATE TABLE {quote(table)} AS SELECT {columns} FROM {reader}")
    except duckdb.Error:
        failed = True
    if failed:
        raise SourceError(
            f"{path} cannot be read as a CSV file.", "Check that it is text in UTF-8 with a header line."
        )


def _fixed(names: list[str], types: Mapping[str, Type]) -> dict[str, Type]:
    by_lower = {name.lower(): name for name in names}
    for name, type_ in types.items():
        if name.lower() not in by_lower:
            raise SourceError(
                f"types names the column {name}, which the file does not have.", "Check the name."
            )
        if type_ not in _SQL:
            raise SourceError(f"The column {name} cannot be of type {type_.name}.", "Use TEXT.")
    return {by_lower[name.lower()]: type_ for name, type_ in types.items()}


def _infer(connection: duckdb.DuckDBPyConnection, reader: str, names: list[str]) -> dict[str, Type]:
    if not names:
        return {}
    tests = ", ".join(
        f"coalesce(bool_and({_is(quote(name), type_)}), false)" for name in names for type_ in _WRITTEN
    )
    row = connection.execute(f"SELECT {tests} FROM {reader}").fetchone()
    assert row is not None
    answers = iter(row)
    found = {}
    for name in names:
        fits = {type_: next(answers) for type_ in _WRITTEN}
        found[name] = next((type_ for type_, fit in fits.items() if fit), Type.TEXT)
    return found


def _is(column: str, type_: Type) -> str:
    text = f"nullif(trim({column}), '')"
    written = f"regexp_full_match({text}, {literal(_WRITTEN[type_])}, 'i')"
    cast = _cast(column, type_)
    if type_ is Type.INTEGER:  # 1.00E+05 is an integer, 100.0 is not
        return f"{written} AND NOT regexp_full_match({text}, '[^eE]*[.][^eE]*') AND {cast} IS NOT NULL"
    return f"{written} AND {cast} IS NOT NULL"


def _cast(column: str, type_: Type) -> str:
    if type_ is Type.TEXT:
        return f"nullif({column}, '')"
    text = f"nullif(trim({column}), '')"
    if type_ is Type.INTEGER:
        # DuckDB would round 1.5 to 2: what is no integer is NULL.
        number = f"TRY_CAST({text} AS DOUBLE)"
        return f"CASE WHEN {text} LIKE '%.%' AND {number} <> trunc({number}) THEN NULL ELSE TRY_CAST({text} AS BIGINT) END"
    return f"TRY_CAST({text} AS {_SQL[type_]})"
