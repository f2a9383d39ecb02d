"""Opening PostgreSQL: the connection, and the tables and columns, found without reading a row."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.engines.paths import with_fields
from discreet.engines.postgres.capabilities import CAPABILITIES
from discreet.engines.postgres.units import identity_of
from discreet.engines.schema import ColumnSchema, TableSchema
from discreet.errors import SourceError
from discreet.quoting import quote
from discreet.records import dataclass

if TYPE_CHECKING:
    import psycopg

IN_UTF8 = "SET LOCAL client_encoding = 'UTF8'"
"""It holds every text there is; in a connection of the caller's too, for this transaction."""
_TABLES = """
    SELECT c.oid, n.nspname, c.relname, c.relkind = 'f' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    AND (%(schema)s::text IS NULL OR n.nspname = %(schema)s) AND has_table_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname <> 'public', n.nspname, c.relname
"""
_COLUMNS = """
    SELECT a.attname, CASE WHEN n.nspname = 'pg_catalog' OR b.typname = 'citext' THEN b.typname ELSE '' END, b.typtype,
    b.typelem <> 0 AND b.typlen = -1, CASE WHEN NOT c.collisdeterministic THEN c.collname END,
    b.typrelid, a.attnotnull AND EXISTS (SELECT 1 FROM pg_class o WHERE o.oid = a.attrelid AND o.relkind = 'r'
    AND NOT o.relhassubclass) AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conrelid = a.attrelid
    AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated)
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    JOIN pg_namespace n ON n.oid = b.typnamespace LEFT JOIN pg_collation c ON c.oid = a.attcollation
    WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped
    AND (%(inside)s OR has_column_privilege(a.attrelid, a.attnum, 'SELECT')) ORDER BY a.attnum
"""


class Stored(NamedTuple):
    """A stored type: its name and category, whether it is an array, its collation, the relation of a composite one.

    Also whether NOT NULL is declared of it.
    """

    name: str
    category: str
    array: bool
    collation: str | None
    relation: int
    not_null: bool


@dataclass(frozen=True)
class PostgresTable:
    """A table as queries see it: its view, and where it comes from."""

    view: str
    schema: TableSchema
    oid: int
    foreign: bool


def base(source: object) -> object:
    """The database that a source is of: two of one database have the same."""
    return source.partition("#")[0] if isinstance(source, str) else id(source)


def fragment(source: object) -> str | None:
    """The table that a url names behind #."""
    return (source.partition("#")[2] or None) if isinstance(source, str) else None


def connect(source: object) -> tuple[psycopg.Connection[Any], bool]:
    """A connection, and whether it is ours to close."""
    try:
        import psycopg
    except ImportError:
        raise SourceError("PostgreSQL needs psycopg.", "Run pip install 'discreet[postgresql]'.") from None
    if isinstance(source, str):
        connection = _dial(psycopg, source.partition("#")[0])
        if connection is None:
            raise SourceError(
                "The PostgreSQL server cannot be reached, or refuses this user.",
                "Check the url, and that the password is in it, in PGPASSWORD or in a password file; psql with the "
                "same url says more.",
            )
        own = True
    else:
        connection, own = _given(psycopg, source), False
    info = connection.info
    if info.server_version < 140000 or info.parameter_status("server_encoding") != "UTF8":
        if own:
            connection.close()
        raise SourceError("The PostgreSQL server is older than 14, or its database is not in UTF-8.",
                          "Use a newer server, or a database made with ENCODING 'UTF8'.")  # fmt: skip
    return connection, own


def _dial(psycopg: Any, url: str) -> Any:
    """A new connection; None when there is none, so that nothing of the url is in an error."""
    try:
        return psycopg.connect(
            url, autocommit=True, application_name="discreet", client_encoding="utf8", prepare_threshold=None
        )
    except Exception:
        return None


def _given(psycopg: Any, source: object) -> Any:
    """The psycopg connection in an object of the caller's: itself, or inside a connection of SQLAlchemy's."""
    inner = source
    if type(inner).__module__.partition(".")[0] == "sqlalchemy":
        inner = getattr(getattr(inner, "connection", inner), "driver_connection", inner)
    if not isinstance(inner, psycopg.Connection):
        raise SourceError("This is no PostgreSQL connection that can be used.",
                          "Pass one of psycopg 3, one of SQLAlchemy's over psycopg 3, or a url.")  # fmt: skip
    idle = psycopg.pq.TransactionStatus.IDLE
    if inner.closed or inner.info.transaction_status != idle:
        raise SourceError("The PostgreSQL connection is closed or in the middle of a transaction.",
                          "Commit first, or pass a connection of its own.")  # fmt: skip
    inner.prepare_threshold = None
    return inner


def place_of(connection: psycopg.Connection[Any]) -> str:
    """A text that names the database, the same however the url is spelled, and without any credential.

    The server says who it is; where this user may not ask it, the place of its socket or its name must do.
    """
    name = connection.info.dbname
    known = _ask(connection, "SELECT system_identifier::text FROM pg_control_system()", {})
    if known:
        return f"postgresql:{known[0][0]}/{name}"
    host = connection.info.host
    place = os.path.realpath(host) if host.startswith("/") else host.lower().rstrip(".")
    return f"postgresql://{place}:{connection.info.port}/{name}"


def home_of(connection: psycopg.Connection[Any]) -> tuple[Any, ...]:
    """The server that runs, which its replicas are not, and who is asked there as; empty where it does not say."""
    started = "extract(epoch FROM pg_postmaster_start_time())::text"
    found = _ask(connection, f"SELECT {started}, session_user::text, current_user::text", {})
    return tuple(found[0]) if found else ()


def find(
    connection: psycopg.Connection[Any], name: str | None, wanted: str | None
) -> dict[str, PostgresTable]:
    """The tables that are asked for, by the name that queries use."""
    schema, _, table = (wanted or name or "").rpartition(".")
    result = _ask(connection, _TABLES, {"schema": schema or None})
    found = [row for row in result or [] if not table or row[2].lower() == table.lower()]
    if table:
        exact = [row for row in found if row[2] == table]
        alike = sorted({row[2] for row in found})
        if not exact and len(alike) > 1:
            raise SourceError(f"{table} may mean {' or '.join(alike)}.",
                              "Write the one that is meant in the exact letters of the database.")  # fmt: skip
        found = (exact or found)[:1]
    if not found:
        what = f"no table {wanted or name}" if table else "no table"
        raise SourceError(f"The database has {what} that this user may read.",
                          "Check the name, or GRANT SELECT on it.")  # fmt: skip
    tables: dict[str, PostgresTable] = {}
    for oid, space, relation, foreign in found:
        stored = [(column, quote(column), kind) for column, kind in _columns(connection, oid, inside=False)]
        columns = with_fields(stored, partial(_inside, connection), lambda row, own: f"({row}).{quote(own)}")
        shown, fields = [], {}
        names = [column for column, *_ in columns]
        for column, read, kind, within in columns:
            sql, field = _column(column, read, kind, kind.not_null and not within)
            shown.append(f"{sql} AS {quote(column)}")
            identity, own = identity_of(column, kind.name, names, kind.collation, read)
            fields[column] = replace(field, identity=identity, within=within)
            shown += [own] if own else []
        if shown:
            view = f"SELECT {', '.join(shown)} FROM {quote(space)}.{quote(relation)}"
            key = name if table and name and (wanted or "." not in name) else relation
            tables.setdefault(key, PostgresTable(view, MappingProxyType(fields), oid, foreign))
    return tables


def _ask(connection: psycopg.Connection[Any], sql: str, values: dict[str, Any]) -> list[Any] | None:
    from psycopg import rows

    try:
        with connection.transaction(), connection.cursor(row_factory=rows.tuple_row) as cursor:
            connection.execute(IN_UTF8)  # by a cursor of its own: one remembers how it read its first answer
            cursor.execute("SET TRANSACTION READ ONLY")
            # Unless it is named, the schema of temporary tables comes first, and one of them may be called pg_class.
            cursor.execute("SET LOCAL search_path = pg_catalog, pg_temp")
            return cursor.execute(sql, values).fetchall()
    except Exception:
        return None


def _columns(connection: psycopg.Connection[Any], oid: int, inside: bool) -> list[tuple[str, Stored]]:
    """The columns of a table, or those inside a composite type, which nobody may be refused."""
    rows = _ask(connection, _COLUMNS, {"oid": oid, "inside": inside}) or []
    return [(name, Stored(*kind)) for name, *kind in rows]


def _inside(connection: psycopg.Connection[Any], kind: Stored) -> list[tuple[str, Stored]]:
    """The fields of a composite type, by name."""
    return _columns(connection, kind.relation, inside=True) if kind.category == "c" else []


def _listed_as(kind: str, category: str, array: bool) -> str:
    """The name under which the table of abilities has a type."""
    if array:
        return "array"
    several = {"e": "enum", "c": "composite", "r": "range", "m": "range"}
    # A type of an extension or a user may have the name of one of PostgreSQL's own; citext alone is meant.
    return several.get(category, kind if category == "b" else f"{kind} ({category})")


def _column(name: str, stored: str, kind: Stored, not_null: bool) -> tuple[str, ColumnSchema]:
    """The SQL of a column in its logical type, which cannot fail, and its schema.

    NOT NULL holds where it is stored: in the rows of an ordinary table, all of which are its own. It does not in those
    of a foreign table, nor in a child or a partition that leaves it out, nor inside a composite value, nor where it was
    never checked.
    """
    listed = _listed_as(kind.name, kind.category, kind.array)
    return CAPABILITIES.physical(listed).read.format(stored), CAPABILITIES.column(name, listed, not_null)
