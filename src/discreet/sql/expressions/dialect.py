"""The differences between the SQL of engines below the function table: names, types, constants, and repeated arguments.

Templates are written in DuckDB's words for types. Only templates are translated here, never what is filled into
them, so that no text of the query can be mistaken for SQL.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import lru_cache

from discreet.engines.schema import Type
from discreet.sql.expressions.span import Value

SATURATE = 2**62
"""Sums are clamped into +-2^62 before they leave the engine: 1-Lipschitz, so the sensitivity stands."""
WIDE = {"": "DECIMAL(38, 0)", "duckdb": "HUGEINT"}
"""The widest exact integer of each dialect; 2^63 rows of 2^30 fit."""

FAMILIES = ("duckdb", "postgres", "spark")
"""The dialects that the function table is spelled in."""
_TYPES: dict[str, dict[str, str]] = {
    "postgres": {"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT"},
    "spark": {"VARCHAR": "STRING"},
}
_AS_TYPE = re.compile(r"\bAS (DOUBLE|VARCHAR)\)")
_LOGICAL = {
    Type.INTEGER: "BIGINT", Type.FLOAT: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}  # fmt: skip
_SHORT = 40
"""An argument longer than this is computed once, by name, where PostgreSQL would have to compute it twice."""


def quote(name: str, dialect: str = "") -> str:
    """A quoted identifier.

    Example:
        >>> print(quote('a"b'), quote("a`b", "spark"))
        "a""b" `a``b`
    """
    return "`" + name.replace("`", "``") + "`" if dialect == "spark" else '"' + name.replace('"', '""') + '"'


@lru_cache(maxsize=4096)
def typed(template: str, dialect: str) -> str:
    """A template with the names of types as the dialect has them.

    Example:
        >>> typed("CAST({0} AS DOUBLE)", "postgres")
        'CAST({0} AS DOUBLE PRECISION)'
    """
    names = _TYPES.get(dialect)
    return template if names is None else _AS_TYPE.sub(lambda m: f"AS {names.get(m[1], m[1])})", template)


def fill(template: str, args: Sequence[str], dialect: str) -> str:
    """Put arguments into a template.

    PostgreSQL has no arithmetic that never fails, so its guards name an argument many times. A long argument is
    computed once in a sub-query: nested guards would otherwise double in length at each level.
    """
    template = typed(template, dialect)
    if "{*}" in template:
        return template.replace("{*}", ", ".join(args))
    if dialect != "postgres":
        return template.format(*args)
    named: list[str] = []
    shown = list(args)
    for at, arg in enumerate(args):
        if len(arg) > _SHORT and template.count(f"{{{at}}}") > 1:
            shown[at] = f'"__v"."__v{at}"'
            named.append(f'{arg} AS "__v{at}"')
    filled = template.format(*shown)
    # OFFSET 0 keeps the planner from writing the argument out again.
    return f'(SELECT {filled} FROM (SELECT {", ".join(named)} OFFSET 0) AS "__v")' if named else filled


def literal(value: Value | None, kind: Type, dialect: str = "") -> str:
    """A constant.

    Example:
        >>> literal(None, Type.FLOAT, "postgres"), literal(0.1, Type.FLOAT, "spark")
        ('CAST(NULL AS DOUBLE PRECISION)', "CAST('0.1' AS DOUBLE)")
    """
    if value is None:
        return typed(f"CAST(NULL AS {_LOGICAL[kind]})", dialect)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"CAST({value} AS BIGINT)"
    if isinstance(value, float):
        return typed(f"CAST('{value!r}' AS DOUBLE)", dialect)
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if dialect == "spark":
        return _spark_text(value)
    # A NUL would end the text early in some engines, so the binder refuses it before it gets here.
    text = "'" + value.replace("'", "''") + "'"
    return f"CAST({text} AS TEXT)" if dialect == "postgres" else text


def _spark_text(value: str) -> str:
    """Spark reads escapes, and ${…} as a variable, inside a text; plain letters and digits need neither."""
    plain = "".join(c if (c.isalnum() and c.isascii()) or c in " .,-_:" else _escaped(c) for c in value)
    return f"'{plain}'"


def _escaped(c: str) -> str:
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def divided(a: str, b: str, dialect: str) -> str:
    """The quotient of two integers of one sign, rounded down."""
    return f"({a} {_DIVIDE.get(dialect, '//')} {b})"


_DIVIDE = {"postgres": "/", "spark": "DIV"}
