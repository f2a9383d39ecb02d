"""Makes a source visible to a connection as one named relation per table, reading metadata only.

CSV is the exception: it has no types of its own, so it is imported when it is opened, in the types of the policy.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from glob import escape, glob, has_magic
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.engines.duckdb.capabilities import CAPABILITIES
from discreet.engines.duckdb.connection import literal, make_total, quote
from discreet.engines.duckdb.sources.csv import import_csv
from discreet.engines.duckdb.sources.csv_text import header
from discreet.engines.duckdb.sources.footers import misfit
from discreet.engines.duckdb.sources.parquet_twins import of_parquet
from discreet.engines.duckdb.sources.total import total
from discreet.engines.schema import Type
from discreet.engines.twins import folded
from discreet.errors import SourceError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "duckdb": (".duckdb", ".ddb", ".db"),
}
NO_TYPES: Mapping[str, Type] = MappingProxyType({})


@dataclass(frozen=True)
class Origin:
    """Where a table comes from.

    Attributes:
        relation: what to write after FROM.
        version: returns a text that changes when the data may have changed; reads no data.
        paths: the files that queries read.
        keep: Python objects that the relation points into.
        twins: names, in lower case, that several columns of the source have but for case.
        files: where the data lies on disk, also what a database keeps beside itself.
        pattern: what names the files when more would be read once they are there: a pattern, or a folder with `**`.
        csv: whether it was a CSV file or a frame of pandas, whose types are the policy's.
        parquet: the Parquet files that are the table.
        rows: how many rows it has, where it lies in memory and never changes; else None.
    """

    relation: str
    version: Callable[[], str]
    paths: Sequence[str] = ()
    keep: tuple[object, ...] = field(default=(), repr=False)
    twins: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    pattern: str = ""
    csv: bool = False
    parquet: Sequence[str] = ()
    rows: int | None = None


def attach(
    connection: duckdb.DuckDBPyConnection,
    table: str | None,
    source: object,
    types: Mapping[str, Type] | None = NO_TYPES,
) -> dict[str, Origin]:
    """Attach one source and return its tables by name.

    Args:
        connection: where the tables are to be visible.
        table: the name of the table; None takes every table of a database, or the name of the file.
        source: a path, a url, or a frame.
        types: the types of columns of a CSV file or a frame of pandas, whose other columns are texts; None looks at
            the values instead, as is right for a public one only.

    Raises:
        SourceError: the source cannot be opened or is of no kind that is known.
    """
    if isinstance(source, str | os.PathLike):
        kind, path, inner = _read_url(os.fspath(source))
        if kind == "duckdb":
            return _database(connection, path, inner or table, table)
        name = table or _identifier(path)
        if kind == "parquet":
            return {name: _parquet(connection, path)}
        return {name: _csv(connection, path, types)}
    name = table or "data"
    return {name: _frame(connection, name, source, types)}


def frozen_version() -> Callable[[], str]:
    """Return the version of data that lives in memory: a random token, the same until it is opened again."""
    token = secrets.token_hex(16)
    return lambda: token


def file_version(paths: Sequence[str]) -> str:
    """Hash the place, size, time of change and inode of files; a file that is missing counts as such."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            stat = os.stat(path)
            state = (path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
        except OSError:
            state = (path, -1, -1, -1)
        digest.update(repr(state).encode())
    return digest.hexdigest()


def _read_url(url: str) -> tuple[str, str, str | None]:
    """Split `kind:path#table`; the kind may be left to the suffix of the file, the table to the caller."""
    scheme, _, rest = url.partition(":")
    if scheme.lower() in _SUFFIXES:
        kind, path = scheme.lower(), rest.removeprefix("//")
    elif re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", url):
        raise SourceError(
            f"Sources of kind {scheme}: are not supported.",
            "Use parquet:, csv: or duckdb: and a path, postgresql:// or spark:, or pass a frame.",
        )
    else:
        kind, path = "", url
    inner = None
    if "#" in path and not os.path.exists(path) and kind in ("", "duckdb"):
        path, inner = path.rsplit("#", 1)
    path = os.path.abspath(os.path.expanduser(path))
    return kind or _kind(path), path, inner


def _kind(path: str) -> str:
    for kind, suffixes in _SUFFIXES.items():
        if path.lower().endswith(suffixes) and not os.path.isdir(path):
            return kind
    if os.path.isdir(path):
        return "parquet"
    raise SourceError(
        f"The kind of the source {Path(path).name} cannot be told from its name.",
        'Write it in front, as in "parquet:path", "csv:path" or "duckdb:path".',
    )


def _identifier(path: str) -> str:
    """Make a table name from a file name: `my visits.csv.gz` becomes my_visits.

    Example:
        >>> _identifier("/data/2024-visits.parquet"), _identifier("/data/parts/*.parquet")
        ('t_2024_visits', 'parts')
    """
    pure = Path(path)
    while has_magic(pure.name) and not pure.exists():
        pure = pure.parent
    stem = pure.name.split(".")[0] if not pure.name.startswith(".") else pure.name.strip(".")
    name = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in stem) or "data"
    return name if not name[0].isdigit() else f"t_{name}"


def _files(path: str) -> list[str]:
    """Return the Parquet files of a path, a glob or a directory."""
    if os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        found: Iterator[str] = (
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if name.lower().endswith(_SUFFIXES["parquet"])
        )
        return sorted(found)
    return sorted(file for file in glob(path, recursive=True) if os.path.isfile(file))


def _parquet(connection: duckdb.DuckDBPyConnection, path: str) -> Origin:
    files = _files(path)
    if not files:
        raise SourceError(f"There is no Parquet file at {path}.", "Check the path.")
    odd = misfit(connection, files) if len(files) > 1 else None
    if odd is not None:
        raise SourceError(
            f"The file {odd} has other columns than {files[0]}, or cannot be read.",
            "Give all files of a table the same columns in the same types, or leave the file out.",
        )
    # The list is fixed here; DuckDB reads each name as a pattern, and asks for permission of both forms.
    patterns = [escape(file) for file in files]
    more = "" if os.path.isfile(path) else os.path.join(path, "**") if os.path.isdir(path) else path
    return Origin(
        parquet_relation(files), partial(file_version, files), sorted({*files, *patterns}), files=tuple(files),
        pattern=more, twins=of_parquet(connection, patterns), parquet=files,
    )  # fmt: skip


def parquet_relation(files: Sequence[str]) -> str:
    """The SQL after FROM for Parquet files that are one table."""
    return f"read_parquet([{', '.join(literal(escape(file)) for file in files)}])"


def _csv(connection: duckdb.DuckDBPyConnection, path: str, types: Mapping[str, Type] | None) -> Origin:
    if not os.path.isfile(path):
        raise SourceError(f"There is no file {path}.", "Check the path.")
    # Read in other types, the same file is other data.
    known = sorted((name.lower(), type_.name) for name, type_ in (types or {}).items())
    version = hashlib.sha256(repr((file_version([path]), types is None, known)).encode()).hexdigest()
    store = f"csv_{secrets.token_hex(8)}"
    import_csv(connection, path, store, types or {}, look=types is None)
    twins = header(path).twins
    return Origin(f"memory.main.{store}", lambda: version, csv=True, files=(path,), twins=twins)


def _database(
    connection: duckdb.DuckDBPyConnection, path: str, inner: str | None, name: str | None
) -> dict[str, Origin]:
    import duckdb

    if not os.path.isfile(path):
        raise SourceError(f"There is no file {path}.", "Check the path.")
    alias = f"source_{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    try:
        connection.execute(f"ATTACH IF NOT EXISTS {literal(path)} AS {alias} (TYPE duckdb, READ_ONLY)")
        opened = True
    except duckdb.Error:
        opened = False
    if not opened:
        raise SourceError(
            f"DuckDB cannot open {path} for reading.",
            "Check that it is a DuckDB file; close other connections to it, or pass the open connection.",
        )
    files = (path, f"{path}.wal")
    found = _tables(connection, alias, inner, name, partial(file_version, files))
    return {table: replace(origin, files=files) for table, origin in found.items()}


def _tables(
    connection: duckdb.DuckDBPyConnection,
    database: str,
    inner: str | None,
    name: str | None,
    version: Callable[[], str],
) -> dict[str, Origin]:
    """Return the tables and views of a database, or only `inner`, under `name`.

    All are those of the schema main, or of the others where it is empty; `inner` may be `schema.table`.
    """
    rows = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? "
        "AND table_schema NOT IN ('information_schema', 'pg_catalog') "
        "ORDER BY table_schema <> 'main', table_schema, table_name",
        [database],
    ).fetchall()
    main = [row for row in rows if row[0] == "main"]
    found = (main or rows) if inner is None else _named(rows, inner)
    if not found:
        what = "no table" if inner is None else f"no table {inner}"
        raise SourceError(
            f"The database has {what}.", "Check the name of the table; schema.table names its schema."
        )
    origins: dict[str, Origin] = {}
    for schema, table in found:
        relation = f"{quote(database)}.{quote(schema)}.{quote(table)}"
        if table.lower() not in map(str.lower, origins):
            origins[table] = Origin(relation, version)
    if inner is not None and name is not None:
        (origin,) = origins.values()
        return {found[0][1] if name == inner and name != found[0][1] and "." in name else name: origin}
    return origins


def _named(rows: Sequence[tuple[str, str]], wanted: str) -> list[tuple[str, str]]:
    """The one table that a name means: spelled exactly if there is one, else whatever its case; main comes first."""
    for fold in (str, str.lower):
        whole = [row for row in rows if fold(row[1]) == fold(wanted)]
        space, _, table = wanted.rpartition(".")
        parts = (
            [row for row in rows if fold(row[0]) == fold(space) and fold(row[1]) == fold(table)]
            if space
            else []
        )
        found = [*whole, *parts]
        main = [row for row in found if row[0] == "main"]
        if len(main or found) > 1:
            meant = " or ".join(".".join(row) for row in found)
            raise SourceError(
                f"{wanted} may mean {meant}.", "Write the one that is meant exactly as it is in the database."
            )
        if found:
            return main or found
    return []


def is_connection(source: object) -> bool:
    """Tell whether a source is an open DuckDB connection, without importing DuckDB."""
    return type(source).__name__ == "DuckDBPyConnection"


def attach_guest(
    guest: object, names: Sequence[str | None]
) -> tuple[duckdb.DuckDBPyConnection, dict[str, Origin]]:
    """Attach the named tables, or all, of somebody else's open connection, through a cursor of it.

    Settings that decide the meaning of a query are set for the cursor alone; nothing of the caller's
    database changes. It is not closed to files as a connection of our own would be. The caller's temporary
    tables, registered frames and uncommitted changes are not visible.

    Raises:
        SourceError: there is no such table.
    """
    import duckdb

    assert isinstance(guest, duckdb.DuckDBPyConnection)
    try:
        cursor = guest.cursor()
        ((collation,),) = cursor.execute("SELECT current_setting('default_collation')").fetchall()
        make_total(cursor)
        (row,) = cursor.execute("SELECT current_database()").fetchall()
    except duckdb.Error:
        row = None
    if row is None:
        raise SourceError(
            "The DuckDB connection cannot be used.",
            "Pass one that is open and whose configuration is not locked.",
        )
    if str(collation).lower() not in CAPABILITIES.by_code_point:
        raise SourceError(
            f"The DuckDB connection compares texts by the collation {collation}, so that different texts may be equal.",
            "Write SET default_collation = '' first.",
        )
    version = frozen_version()
    origins: dict[str, Origin] = {}
    for name in names:
        origins |= _tables(cursor, row[0], name, name, version)
    return cursor, origins


def _frame(
    connection: duckdb.DuckDBPyConnection, name: str, source: object, types: Mapping[str, Type] | None
) -> Origin:
    import duckdb

    own: frozenset[str] = frozenset()
    if types is not None and _is_pandas(source):
        table, own = _typed(connection, name, source, types)
    else:
        table = to_arrow(name, source)
    table = total(table)
    store = f"frame_{secrets.token_hex(8)}"
    try:
        connection.register(store, table)
        known = True
    except duckdb.Error:
        known = False
    if not known:
        raise SourceError(
            f"The source {name} has a column of a type that DuckDB cannot read.",
            "Turn it into a number, a text or a date first, such as by astype or cast, or leave it out.",
        )
    return Origin(
        store, frozen_version(), keep=(table,), twins=folded(table.column_names), rows=table.num_rows,
        csv=bool(own),
    )  # fmt: skip


def _is_pandas(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and type(source).__name__ == "DataFrame"


def _typed(
    connection: duckdb.DuckDBPyConnection, name: str, frame: Any, types: Mapping[str, Type]
) -> tuple[pa.Table, frozenset[str]]:
    """A frame of pandas whose types no value decides, and the columns whose types are the policy's."""
    from discreet.engines.duckdb.sources.pandas_types import to_table

    _see_no_twins(name, frame)
    found = None
    try:
        found = to_table(connection, frame, types)
    except Exception:
        found = None  # what pandas or Arrow say may quote a value
    if found is None:
        raise _no_table(name)
    return found


def _see_no_twins(name: str, frame: object) -> None:
    called = [str(column) for column in getattr(frame, "columns", ())]
    if len(set(called)) < len(called):
        raise SourceError(f"The source {name} has two columns of one name.", "Rename one of them.")


def _no_table(name: str) -> SourceError:
    return SourceError(
        f"The source {name} cannot be turned into an Arrow table.",
        "Give each column of it one type, such as by astype or cast.",
    )


def to_arrow(name: str, source: object) -> pa.Table:
    """Return a frame as an Arrow table; NaN of pandas is NULL.

    Raises:
        SourceError: the object is no frame that is known, or a column of it mixes types.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    kind = type(source).__name__
    module = "duckdb" if kind == "DuckDBPyRelation" else type(source).__module__.partition(".")[0]
    if module == "polars" and kind == "LazyFrame":
        raise SourceError(f"The source {name} is a LazyFrame, which is a query.", "Pass .collect() of it.")
    convert: dict[tuple[str, str], Callable[[Any], pa.Table]] = {
        ("duckdb", "DuckDBPyRelation"): lambda relation: relation.to_arrow_table(),
        ("polars", "DataFrame"): lambda frame: frame.to_arrow(),
        ("pandas", "DataFrame"): lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    }
    if (module, kind) not in convert:
        raise SourceError(
            f"The source {name} is of type {kind}, which cannot be opened.",
            "Pass a path, a pandas or Polars DataFrame, an Arrow table or a DuckDB connection.",
        )
    if module == "pandas":  # which may hold a name twice, and Arrow would say something else of it
        _see_no_twins(name, source)
    try:
        table = convert[module, kind](source)
    except Exception:
        table = None
    if table is None:
        raise _no_table(name)
    return table
