"""The SQL of one engine: the value that describes it, and the words that are written with it.

Templates are written in DuckDB's words for types. Only templates are translated here, never the arguments that
are filled in, so that no text of the query can be mistaken for SQL. Each engine's value stands in a file of
`sql/dialects/`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

from discreet import quoting
from discreet.engines.schema import Type
from discreet.records import dataclass, field
from discreet.sql.expressions.span import Value

SATURATE = 2**62
"""Sums are clamped into +-2^62 before they leave the engine: 1-Lipschitz, so the sensitivity stands."""
WIDE = "HUGEINT"
"""The widest exact integer, as templates write it; 2^63 rows of 2^30 fit."""
_AS_TYPE = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|\bAS (DOUBLE|VARCHAR|HUGEINT|BIGINT|DATE|TIMESTAMP|BOOLEAN)\)"""
)
"""The name of a type; texts and quoted names are passed over, as they may look like one."""
_LOGICAL = {
    Type.INTEGER: "BIGINT", Type.FLOAT: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}  # fmt: skip
NUMBER = "__nth"
"""A column: the number of a row among those of its unit that are like it."""
_SHORT = 40
"""An argument longer than this is computed once, by name, where an engine would have to compute it twice."""

Template: TypeAlias = Callable[[Any], str]
"""From a call of a function to its SQL, with {0}, {1}, … or {*} for its arguments."""


def quoted_text(text: str) -> str:
    """A text in standard SQL.

    A NUL would end it early in some engines, so the binder refuses it before it gets here.
    """
    return "'" + text.replace("'", "''") + "'"


def _date(day: dt.date) -> str:
    return f"DATE '{day.isoformat()}'"


def _moment(moment: dt.datetime) -> str:
    return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"


def _total(integer: str) -> str:
    return f"SUM({integer})"


def _hash(salt: int, columns: Sequence[str]) -> str:
    raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """The SQL of one engine. Every default is standard SQL, as most engines read it.

    Attributes:
        name: by which an engine says that it reads this SQL.
        parser: under which sqlglot knows it.
        quote: an identifier.
        text: a constant text.
        date: a constant date.
        moment: a constant time stamp.
        types: the words for DOUBLE, VARCHAR, HUGEINT, BIGINT, DATE, TIMESTAMP and BOOLEAN, where they are others.
        typed_constants: whether texts must be cast to their type.
        divide: the quotient of two integers of one sign, rounded down, of {0} and {1}.
        total: the exact sum of integers of at most 32 bits, of which 2^46 rows fit; NULL without rows.
        summed: of an integer of 64 bits, the expression whose SUM is exact.
        whole: a double without a fraction, {0}, as an integer; it may fail outside 64 bits only where no branch of a
            CASE is computed on the rows of another one.
        saturate: a wide integer {0} as one of 64 bits, at most {1} and at least -{1}.
        hash: a fast hash, keyed with 64 bits, of some columns, in which NULL is a value like others. Where it combines
            the hashes of columns, the combination is hashed again: see `sql.lower.contribution_bounding`.
        same_hash: a hash of a text that every engine computes alike.
        numbers: two integers, of the first 15 hexadecimal digits of MD5 of a text {0} and of the next 15.
        keyed_hash: SHA-256 of a {key} of a fixed length and the text of a {unit}, in lower-case hexadecimal digits that
            compare by code point; None where there is none.
        least: the rows of a unit with the least hashes, where there is a faster way than to rank them all, else None.
        few_keys: up to so many texts of a key are numbered by CASE, where that is faster than a join with their list.
        between: whether a key {0} is one of the integers from {1} to {2}.
        slice: whether a unit is in a slice, by another hash than that of `hash`; None where units are not split.
        fence: SQL that keeps a planner from writing the columns of a sub-query out again wherever they are used, and
            from asking a condition on its groups of its rows.
        clamps_groups: whether a condition on the key of every row takes long, so that a key within bounds is clamped
            once for each stored value, and groups are asked whether theirs is public.
        most_parts: columns and operations of the largest expression that its planner makes of sub-queries in a second
            or so, where no fence keeps it from that; 0 where it makes none.
        most_correlated: the same of a condition in a correlated EXISTS, where its planner makes none elsewhere.
        once: a SELECT of the columns computed (name and SQL) over a source, and of those passed on, where a plain one
            would compute a column wherever it is used; None where it does not.
        computed_once: the word, with a blank, by which a query of WITH that is used several times is computed once;
            empty where an engine has none.
        named_arguments: whether a long argument that is written twice would be computed twice.
        underflow_raises: whether a product that is too small for a double raises.
        furthest: the largest number of rows in the frame of a window; a larger one is written as this.
        windows_need_order: whether a window without ORDER BY is refused.
        only: the one value of a group of one row, of any type.
        semi_joins: whether EXISTS is written as LEFT SEMI or ANTI JOIN, where a correlated sub-query misses NULL.
        functions: the spelling of functions, where the standard one does not do: by name, the letters of the arguments
            or nothing for all lines of the name, the SQL.
        writers: by name of a function, the maker of its template, where that depends on a literal or is long.
        aggregate: the template of an aggregate or a window function, from the standard one.
    """

    name: str = ""
    parser: str = ""
    quote: Callable[[str], str] = quoting.quote
    text: Callable[[str], str] = quoted_text
    date: Callable[[dt.date], str] = _date
    moment: Callable[[dt.datetime], str] = _moment
    types: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({WIDE: "DECIMAL(38, 0)"}))
    typed_constants: bool = False
    divide: str = "({0} // {1})"
    total: Callable[[str], str] = _total
    summed: str = "{0}"
    whole: str = "CAST({0} AS BIGINT)"
    saturate: str = "CAST(GREATEST(LEAST({0}, {1}), -{1}) AS BIGINT)"
    hash: Callable[[int, Sequence[str]], str] = _hash
    same_hash: str = "md5({0})"
    numbers: tuple[str, str] = ("", "")
    keyed_hash: str | None = None
    least: Callable[[RowSelection], str | None] | None = None
    few_keys: int = 0
    between: str = "{0} BETWEEN {1} AND {2}"
    slice: Callable[[int, str, int, int], str] | None = None
    fence: str = ""
    most_parts: int = 0
    most_correlated: int = 0
    clamps_groups: bool = False
    once: Callable[[str, Sequence[tuple[str, str]], Sequence[str]], str] | None = None
    computed_once: str = ""
    named_arguments: bool = False
    underflow_raises: bool = False
    windows_need_order: bool = False
    only: str = "any_value({0})"
    semi_joins: bool = False
    furthest: int = 2**63 - 1
    functions: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    writers: Mapping[str, Template] = field(default_factory=lambda: MappingProxyType({}))
    aggregate: Callable[[str], str] = str

    @property
    def wide(self) -> str:
        """The word for the widest exact integer."""
        return self.types.get(WIDE, WIDE)


@dataclass(frozen=True, slots=True)
class RowSelection:
    """The choice of the rows of a unit that are kept.

    Attributes:
        source: a table expression with its conditions, to stand behind FROM.
        unit: the column of the unit.
        names: the columns that a row carries.
        max_rows: how many rows of a unit are kept.
        salt: 64 bits that key the hash.
        spans: of the columns that are integers of few bits.
        numbered: whether rows of a unit that are alike must be told apart by a number.
        unit_kind: how units are told apart, as `Identity.kind` says it; empty where nobody says.
        quick: whether to write it in the way that the engine runs fastest. The other way keeps the same rows, and
            identities of questions know it.
    """

    source: str
    unit: str
    names: Sequence[str]
    max_rows: int
    salt: int
    spans: Mapping[str, tuple[int, int]] | None
    numbered: bool
    unit_kind: str = ""
    quick: bool = False


STANDARD = Dialect()
"""Standard SQL, for names and templates that no engine reads."""


def quote(name: str, dialect: Dialect = STANDARD) -> str:
    """A quoted identifier.

    Example:
        >>> print(quote('a"b'))
        "a""b"
    """
    return dialect.quote(name)


@lru_cache(maxsize=4096)
def typed(template: str, dialect: Dialect) -> str:
    """A template with the names of types as the dialect has them.

    Example:
        >>> typed("CAST({0} AS DOUBLE)", Dialect(types={"DOUBLE": "DOUBLE PRECISION"}))
        'CAST({0} AS DOUBLE PRECISION)'
    """
    names = dialect.types
    return (
        _AS_TYPE.sub(lambda m: f"AS {names.get(m[1], m[1])})" if m[1] else m[0], template)
        if names
        else template
    )


def fill(template: str, args: Sequence[str], dialect: Dialect) -> str:
    """Put arguments into a template.

    PostgreSQL has no arithmetic that never fails, so its guards name an argument many times. A long argument is
    computed once in a sub-query: nested guards would otherwise double in length at each level.
    """
    template = typed(template, dialect)
    if "{*}" in template:
        return template.replace("{*}", ", ".join(args))
    if not dialect.named_arguments:
        return template.format(*args)
    named: list[str] = []
    shown = list(args)
    for index, arg in enumerate(args):
        if len(arg) > _SHORT and template.count(f"{{{index}}}") > 1:
            shown[index] = f'"__v"."__v{index}"'
            named.append(f'{arg} AS "__v{index}"')
    filled = template.format(*shown)
    return f'(SELECT {filled} FROM (SELECT {", ".join(named)}{dialect.fence}) AS "__v")' if named else filled


def literal(value: Value | None, kind: Type, dialect: Dialect = STANDARD) -> str:
    """A constant.

    Example:
        >>> literal(None, Type.FLOAT), literal(0.1, Type.FLOAT), literal("it's", Type.TEXT)
        ('CAST(NULL AS DOUBLE)', "CAST('0.1' AS DOUBLE)", "'it''s'")
    """
    if value is None:
        return typed(f"CAST(NULL AS {_LOGICAL[kind]})", dialect)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"CAST({value} AS {dialect.types.get('BIGINT', 'BIGINT')})"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS {dialect.types.get('DOUBLE', 'DOUBLE')})"
    if isinstance(value, dt.datetime):
        return dialect.moment(value)
    if isinstance(value, dt.date):
        return dialect.date(value)
    text = dialect.text(value)
    return f"CAST({text} AS {dialect.types.get('VARCHAR', 'VARCHAR')})" if dialect.typed_constants else text


def divided(a: str, b: str, dialect: Dialect) -> str:
    """The quotient of two integers of one sign, rounded down."""
    return dialect.divide.format(a, b)


def total(integer: str, dialect: Dialect) -> str:
    """The exact sum of an integer of at most 32 bits over the rows of a group; wide, and 0 without rows."""
    return f"COALESCE({dialect.total(integer)}, 0)"


def aggregated(template: str, dialect: Dialect) -> str:
    """The template of an aggregate or a window function, as the dialect has it."""
    return typed(dialect.aggregate(template), dialect)
