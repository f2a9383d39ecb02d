"""Imports a CSV file, however untidy, into a typed table; no value of it can raise or change how another is read.

Of a private file the names and the delimiter are taken from the header line, and the types from the caller, who has
them from the policy. Only where a file is public are its types found by looking at its values.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.engines.duckdb.connection import literal
from discreet.engines.duckdb.sources.csv_text import Header, header, in_utf8
from discreet.engines.duckdb.sources.origin import Origin, file_version
from discreet.engines.duckdb.sources.regular import see_no_pipe
from discreet.engines.schema import Type
from discreet.errors import SourceError
from discreet.quoting import quote

if TYPE_CHECKING:
    import duckdb

_SQL = {
    Type.INTEGER: "BIGINT",
    Type.FLOAT: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}

# A column of a public file has the first of these types that all its values are written in, else it is TEXT.
# 1.00E+05 is an integer that a spreadsheet has spoiled, 100.0 is none. A leading zero marks a code such as 01234, not a
# number.
_WRITTEN = {
    Type.INTEGER: r"[+-]?(0|[1-9]\d*)|[+-]?[1-9]([.]\d+)?e[+]?\d+",
    Type.FLOAT: r"[+-]?((0|[1-9]\d*)([.]\d*)?|[.]\d+)(e[+-]?\d+)?|[+-]?inf(inity)?",
    Type.BOOLEAN: "true|false",
    Type.DATE: r"\d{4}-\d{1,2}-\d{1,2}",
    Type.TIMESTAMP: r"\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}(:\d{2}([.]\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?",
}

# Texts that say "no value" in a column of another type than text.
_MISSING = "'', 'na', 'n/a', 'nan', 'null', 'none', '#n/a'"


def import_csv(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    table: str,
    types: Mapping[str, Type],
    look: bool = False,
) -> None:
    """Import a file with a header line into a new table.

    The delimiter is found in the header line; lines end as on Unix, Windows or old Mac; quotes are doubled inside
    quotes. Short rows are filled with NULL. Empty fields are NULL, and so is NA in a column that is not text.

    Args:
        connection: one that may still read the file.
        path: the file, plain or gzipped; UTF-8 or Latin-1, line by line, or UTF-16 with its mark.
        table: the name of the new table.
        types: the types of columns; a value that is not of the type becomes NULL.
        look: whether the types of the other columns are found in their values, as is right for a public file only;
            else they are texts.

    Raises:
        SourceError: the file cannot be read as CSV.
    """
    found = header(path)
    declared = _declared_types(found.names, types)
    raw = quote(f"{table}_raw")
    if not _read(connection, path, raw, found):
        raise SourceError(
            f"{path} cannot be read as a CSV file.",
            "Check that it is text with a header line and may be read.",
        )
    rest = [name for name in found.names if name not in declared]
    looked = _infer(connection, raw, rest) if look else dict.fromkeys(rest, Type.TEXT)
    kinds = {**looked, **declared}
    # Of a type that was found by looking, every value is known to be of it: the plain cast is enough.
    casts = {
        name: cast(quote(name), type_)
        if name in declared or type_ is not Type.INTEGER
        else _plain(quote(name))
        for name, type_ in kinds.items()
    }
    columns = ", ".join(f"{casts[name]} AS {quote(name)}" for name in found.names)
    connection.execute(f"CREATE TABLE {quote(table)} AS SELECT {columns} FROM {raw}")
    connection.execute(f"DROP TABLE {raw}")


def _read(connection: duckdb.DuckDBPyConnection, path: str, raw: str, found: Header) -> bool:
    """Read a file, unchanged, into a table of texts; whether that was possible."""
    import duckdb

    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in found.names)
    try:
        with in_utf8(path) as readable:
            # Nothing is sniffed, for a row would decide it. On one thread: in parallel DuckDB cannot both fill short
            # rows and let quotes span lines.
            connection.execute(
                f"CREATE TABLE {raw} AS FROM read_csv({literal(readable)}, auto_detect = false, "
                f"columns = {{{columns}}}, delim = {literal(found.delimiter)}, header = true, quote = '\"', "
                "escape = '\"', null_padding = true, parallel = false, strict_mode = false, ignore_errors = true, "
                "nullstr = '')"
            )
    except (duckdb.Error, OSError, EOFError):
        return False
    return True


def _declared_types(names: Sequence[str], types: Mapping[str, Type]) -> dict[str, Type]:
    """The declared types of the columns that there are; of another the check of the policy says where it stands."""
    by_lower = {name.lower(): name for name in names}
    return {by_lower[name.lower()]: type_ for name, type_ in types.items() if name.lower() in by_lower}


def _infer(connection: duckdb.DuckDBPyConnection, raw: str, names: list[str]) -> dict[str, Type]:
    """Find the first type that all values of each column are written in, else TEXT."""
    # A type that fails on the first rows fails: of the types left, one after the other is tried on all rows.
    left = _fitting(connection, f"(FROM {raw} LIMIT 1000)", {name: list(_SQL) for name in names})
    found: dict[str, Type] = {}
    while len(found) < len(names):
        asked = {name: left[name][:1] for name in names if name not in found}
        fits = _fitting(connection, raw, asked)
        for name in asked:
            if fits[name] or not left[name]:
                found[name] = fits[name][0] if fits[name] else Type.TEXT
            left[name] = left[name][1:]
    return found


def _fitting(
    connection: duckdb.DuckDBPyConnection, rows: str, asked: Mapping[str, list[Type]]
) -> dict[str, list[Type]]:
    """Return, of the types asked of each column, those that its values in the rows fit."""
    tests = [f"bool_and({_is(quote(name), type_)})" for name, types in asked.items() for type_ in types]
    if not tests:
        return {name: [] for name in asked}
    (row,) = connection.execute(f"SELECT {', '.join(tests)} FROM {rows}").fetchall()
    answers = iter(row)
    return {name: [type_ for type_ in types if next(answers)] for name, types in asked.items()}


def _is(column: str, type_: Type) -> str:
    """Write the test whether a value is of a type: true, false, or NULL when there is no value."""
    text = _value(column)
    written = f"regexp_full_match({text}, {literal(_WRITTEN[type_])}, 'i')"
    slow = f"CASE WHEN {text} IS NOT NULL THEN {written} AND {cast(column, type_)} IS NOT NULL END"
    return f"CASE WHEN {_plain_integer(column)} THEN true ELSE {slow} END" if type_ is Type.INTEGER else slow


def cast(column: str, type_: Type) -> str:
    """Write the value of a column of texts in a type, NULL when it is not of the type."""
    if type_ is Type.TEXT:
        return column
    text = _value(column)
    if type_ is Type.INTEGER:
        # DuckDB would round 1.5 to 2 and read 0x10: a text that is not written as an integer is NULL.
        number = f"TRY_CAST({text} AS DOUBLE)"
        integral = f"({text} NOT LIKE '%.%' OR {number} = trunc({number}))"
        text = (
            f"CASE WHEN {_plain_integer(column)} THEN {column} "
            f"WHEN regexp_full_match({text}, '[0-9.eE+-]+') AND {integral} THEN {text} END"
        )
    if type_ in (Type.DATE, Type.TIMESTAMP):  # not infinity, epoch and the like
        text = f"CASE WHEN regexp_full_match({text}, {literal(_WRITTEN[type_])}) THEN {text} END"
    if type_ is Type.TIMESTAMP:
        # Through TIMESTAMPTZ, since a plain cast would ignore an offset; the session's zone is UTC.
        text = f"TRY_CAST({text} AS TIMESTAMPTZ)"
    return f"TRY_CAST({text} AS {_SQL[type_]})"


def _plain(column: str) -> str:
    return f"TRY_CAST({column} AS BIGINT)"


def _plain_integer(column: str) -> str:
    """Write the cheap test that a value is written as DuckDB writes integers; most are."""
    return f"{_plain(column)}::VARCHAR = {column}"


def _value(column: str) -> str:
    return f"CASE WHEN lower(trim({column})) NOT IN ({_MISSING}) THEN trim({column}) END"


def attach_csv(connection: duckdb.DuckDBPyConnection, path: str, types: Mapping[str, Type] | None) -> Origin:
    """Import a CSV file in the types given; None finds them in the values of a public file."""
    see_no_pipe(path)
    if not os.path.isfile(path):
        raise SourceError(f"There is no file {path}.", "Check the path.")
    # Read in other types, the same file is other data.
    known = sorted((name.lower(), type_.name) for name, type_ in (types or {}).items())
    version = hashlib.sha256(repr((file_version([path]), types is None, known)).encode()).hexdigest()
    store = f"csv_{secrets.token_hex(8)}"
    import_csv(connection, path, store, types or {}, look=types is None)
    twins = header(path).twins
    return Origin(f"memory.main.{store}", lambda: version, csv=True, files=(path,), twins=twins)
