"""The address of tables in a PostgreSQL database: a url, with the schema behind #."""

from __future__ import annotations

import re
from typing import Any

from discreet.errors import InvalidParameter
from discreet.records import dataclass

SCHEMA = "discreet"
"""The schema where an address names none."""
_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_.-]{0,62}", re.ASCII)
_SCHEMES = ("postgresql://", "postgres://")


def is_address(text: str) -> bool:
    """Whether a text is the url of a PostgreSQL database."""
    return text.startswith(_SCHEMES)


@dataclass(frozen=True, repr=False)
class PostgresSchema:
    """A schema of a database.

    Attributes:
        parts: of the connection, as libpq names them. Credentials may be among them.
        schema: where the tables lie.
        where: server, database and schema, without credentials.
    """

    parts: dict[str, Any]
    schema: str
    where: str

    @property
    def quoted(self) -> str:
        """The schema as SQL writes it."""
        return f'"{self.schema}"'


def read_address(text: str) -> PostgresSchema:
    """Read an address.

    Raises:
        InvalidParameter: it is none, its schema cannot be used, or psycopg is not installed. Nothing of it is quoted.

    Example:
        >>> read_address("postgresql://ana:secret@db.example.org/budgets#hospital").where
        'postgresql://db.example.org:5432/budgets#hospital'
    """
    try:
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise InvalidParameter(
            "PostgreSQL needs psycopg.", "Run pip install 'discreet[postgresql]'."
        ) from None
    url, _, named = text.partition("#")
    schema = named or SCHEMA
    parts: dict[str, Any] | None
    try:
        parts = dict(conninfo_to_dict(url)) if is_address(url) else None
    except Exception:  # its text may quote a password
        parts = None
    if parts is None:
        raise InvalidParameter(
            "The address of the PostgreSQL database cannot be read.",
            "Write postgresql://user@host:port/database#schema.",
        )
    if not _NAME.fullmatch(schema):
        raise InvalidParameter(
            "The schema behind # is not a-z, 0-9, _ . and -, from a letter on, up to 63 of them.",
            "Write such as postgresql://host/database#hospital.",
        )
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    place = f"{host}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"
    return PostgresSchema(parts, schema, f"postgresql://{place}#{schema}")
