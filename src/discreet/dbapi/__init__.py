"""The database interface of Python, PEP 249: questions from every tool that speaks it.

    from discreet import dbapi

    with dbapi.connect("policy.toml", epsilon="0.1") as connection:
        rows = connection.execute("SELECT county, COUNT(*) AS n FROM visits GROUP BY county").fetchall()

Every question goes through a session, and is charged as there. `SET discreet.epsilon = 0.1` sets the price of those
that carry none, and `SET discreet.intervals = on` puts the ends of each interval beside its column.
"""

from __future__ import annotations

from datetime import date as Date  # noqa: N812 - the names of PEP 249
from datetime import datetime as Timestamp  # noqa: N812
from datetime import time as Time  # noqa: N812

from discreet.dbapi.connection import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Connection,
    Cursor,
    connect,
)
from discreet.dbapi.exceptions import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - the name of PEP 249
)

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"
Binary = bytes

__all__ = [
    "BINARY", "DATETIME", "NUMBER", "ROWID", "STRING", "Binary", "Connection", "Cursor", "DataError", "DatabaseError",
    "Date", "Error", "IntegrityError", "InterfaceError", "InternalError", "NotSupportedError", "OperationalError",
    "ProgrammingError", "Time", "Timestamp", "Warning", "apilevel", "connect", "paramstyle", "threadsafety",
]  # fmt: skip
