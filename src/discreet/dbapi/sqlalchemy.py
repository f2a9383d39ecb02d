"""A dialect of SQLAlchemy, so that `pandas.read_sql` and notebooks ask a policy file or a server.

    create_engine("discreet:///hospital/policy.toml?epsilon=0.1")       # a path from here
    create_engine("discreet:////srv/hospital/policy.toml?epsilon=0.1")  # a path from the root
    create_engine("discreet://token@stats.example.org/hospital")        # a server, through TLS
    create_engine("discreet://ana:token@stats.example.org/hospital")    # the same; SQLAlchemy hides a password

Tables and columns are those of the policy. In a text for `sqlalchemy.text`, a colon before a name is a parameter.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from sqlalchemy import event, types
from sqlalchemy.engine import URL, Engine, default, interfaces, reflection
from sqlalchemy.exc import ArgumentError, NoSuchTableError

from discreet import dbapi
from discreet.client.transport import is_loopback

TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "BIGINT": types.BigInteger,
    "DOUBLE": types.Double,
    "VARCHAR": types.String,
    "BOOLEAN": types.Boolean,
    "DATE": types.Date,
    "TIMESTAMP": types.DateTime,
}
"""The types of information_schema; another one cannot be asked about."""
SCHEMA = "main"


class DiscreetDialect(default.DefaultDialect):
    """SQL of a private data set."""

    name = "discreet"
    driver = "discreet"
    paramstyle = "qmark"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = False
    supports_alter = False
    supports_default_values = False
    supports_sane_rowcount = False
    default_schema_name = SCHEMA

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The interface of PEP 249."""
        return dbapi

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """A connection that goes back to the pool forgets its settings: the next one is charged as the address says."""
        event.listen(engine, "reset", lambda connection, record, state: connection.reset())

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of `dbapi.connect` for an address."""
        given = dict(url.query)
        unknown = [name for name in given if name not in ("epsilon", "intervals")]
        if unknown or any(not isinstance(value, str) for value in given.values()):
            raise ArgumentError("After ? stand epsilon=… and intervals=on, each once at most.")
        keywords: dict[str, Any] = {"intervals": str(given.get("intervals", "off")) in ("on", "true", "1")}
        if "epsilon" in given:
            keywords["epsilon"] = given["epsilon"]
        if not url.host:
            if not url.database:
                raise ArgumentError("There is no policy file: write discreet:///path/policy.toml.")
            return [url.database], keywords
        scheme = "http" if is_loopback(url.host) else "https"
        port = f":{url.port}" if url.port else ""
        host = f"[{url.host}]" if ":" in url.host else url.host
        keywords |= {"token": url.password or url.username, "dataset": url.database or None}
        return [f"{scheme}://{host}{port}"], keywords

    def initialize(self, connection: Any) -> None:
        """Nothing: no database is asked for its version."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the connection is open."""
        dbapi_connection.commit()
        return True

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:
        """The one that everything has."""
        return ["AUTOCOMMIT"]

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """A charge is durable at once."""
        return "AUTOCOMMIT"

    # Reflection, from the policy alone -----------------------------------------------------------------

    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        """The one schema."""
        return [SCHEMA]

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """The tables of the policy, public ones among them."""
        if schema not in (None, SCHEMA):
            return []
        return [
            str(name)
            for (name,) in connection.exec_driver_sql("SELECT table_name FROM information_schema.tables")
        ]

    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """There are none."""
        return []

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        """Whether the policy has a table."""
        return table_name in self.get_table_names(connection, schema)

    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedColumn]:
        """The columns of a table, each with the things that it can answer as its comment."""
        found = connection.exec_driver_sql(
            "SELECT column_name, data_type, declared, answers FROM information_schema.columns "
            "WHERE table_name = ? ORDER BY ordinal_position",
            (table_name,),
        ).fetchall()
        if not found or schema not in (None, SCHEMA):
            raise NoSuchTableError(table_name)
        return [
            {
                "name": name,
                "type": TYPES.get(kind, types.NullType)(),
                "nullable": True,
                "default": None,
                "comment": f"{declared}; answers {answers}",
            }
            for name, kind, declared, answers in found
        ]

    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> interfaces.ReflectedPrimaryKeyConstraint:
        """None: rows are not shown."""
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedForeignKeyConstraint]:
        """None."""
        return []

    def get_indexes(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedIndex]:
        """None."""
        return []
