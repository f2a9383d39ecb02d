"""Values that an engine holds equal but that are not alike: by type and engine, for every test that needs such.

Of two values that compare as equal, an aggregate, a group or a join may show either, and which one is left to the row
that it met first. So a row could be seen through its spelling alone. `PAIRS` is the corpus; `load` makes a table of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
from tests import servers


@dataclass(frozen=True)
class Pair:
    """Two values of one type that are equal and not alike.

    Attributes:
        engine: duckdb, postgres or spark.
        kind: the type as the engine declares it.
        one: the first value, in the SQL of the engine.
        other: the second.
        key: whether groups of such values can be found; if not, a question that groups by them is refused.
        number: whether the values are numbers, of which MIN and arithmetic can be asked.
    """

    engine: str
    kind: str
    one: str
    other: str
    key: bool = True
    number: bool = False

    def __str__(self) -> str:
        """The name of a test."""
        return f"{self.engine} {self.kind} {self.one} {self.other}"


ACUTE = "'e' || chr(769)"
PAIRS: tuple[Pair, ...] = (
    Pair("duckdb", "DOUBLE", "0.0", "'-0.0'::DOUBLE", number=True),
    Pair("duckdb", "REAL", "0.0", "'-0.0'::REAL", number=True),
    Pair("duckdb", "DOUBLE", "'nan'::DOUBLE", "-('nan'::DOUBLE)", number=True),
    Pair("duckdb", "VARCHAR COLLATE NOCASE", "'Kent'", "'KENT'"),
    Pair("duckdb", "VARCHAR COLLATE NOACCENT", "'Müller'", "'Muller'"),
    Pair("duckdb", "VARCHAR COLLATE NOCASE.NOACCENT", "'müller'", "'MULLER'"),
    Pair("duckdb", "VARCHAR COLLATE NFC", "'é'", ACUTE),
    Pair("duckdb", "VARCHAR COLLATE de", "'é'", ACUTE),
    Pair("duckdb", "VARCHAR COLLATE en_US.NOCASE", "'é'", "'É'"),
    Pair("duckdb", "VARCHAR COLLATE icu_noaccent", "'é'", "'e'"),
    Pair("duckdb", "INTERVAL", "INTERVAL '1 month'", "INTERVAL '30 days'", key=False),
    Pair("duckdb", "INTERVAL", "INTERVAL '1 day'", "INTERVAL '24 hours'", key=False),
    Pair("duckdb", "DOUBLE[]", "[0.0]", "['-0.0'::DOUBLE]", key=False),
    Pair("duckdb", "STRUCT(a DOUBLE)", "{'a': 0.0}", "{'a': '-0.0'::DOUBLE}", key=False),
    Pair("duckdb", "MAP(VARCHAR, DOUBLE)", "MAP {'a': 0.0}", "MAP {'a': '-0.0'::DOUBLE}", key=False),
    Pair("duckdb", "INTERVAL[]", "[INTERVAL '1 month']", "[INTERVAL '30 days']", key=False),
    Pair("postgres", "float8", "'0'", "'-0'", number=True),
    Pair("postgres", "float4", "'0'", "'-0'", number=True),
    Pair("postgres", "numeric", "1.0", "1.00", number=True),
    Pair("postgres", "numeric", "0", "-0.00", number=True),
    Pair("postgres", "bpchar", "'ab'", "'ab '"),
    Pair("postgres", "pairs.citext", "'Kent'", "'KENT'"),
    Pair("postgres", "varchar COLLATE pairs.no_case", "'Kent'", "'KENT'"),
    Pair("postgres", "char(9) COLLATE pairs.no_case", "'Kent'", "'KENT'"),
    Pair("postgres", "text COLLATE pairs.no_accent", "'Müller'", "'muller'"),
    Pair("postgres", "interval", "'1 month'", "'30 days'", key=False),
    Pair("postgres", "jsonb", "'1.0'", "'1.00'", key=False),
    Pair("postgres", "float8[]", "'{0}'", "'{-0}'", key=False),
    Pair("postgres", "numeric[]", "'{1.0}'", "'{1.00}'", key=False),
    Pair("postgres", "numrange", "'[1.0,2]'", "'[1.00,2]'", key=False),
    Pair("spark", "DOUBLE", "0.0D", "-0.0D", number=True),
    Pair("spark", "FLOAT", "0.0F", "-0.0F", number=True),
    Pair("spark", "STRING COLLATE UTF8_LCASE", "'Kent'", "'KENT'"),
    Pair("spark", "STRING COLLATE UNICODE_CI", "'Kent'", "'KENT'"),
    Pair("spark", "STRING COLLATE UNICODE_AI", "'é'", "'e'"),
    Pair("spark", "STRING COLLATE UTF8_BINARY_RTRIM", "'ab'", "'ab  '"),
    Pair("spark", "STRING COLLATE UNICODE_RTRIM", "'ab'", "'ab  '"),
    Pair("spark", "STRING COLLATE de_CI_AI", "'é'", "'É'"),
    Pair("spark", "ARRAY<DOUBLE>", "array(0.0D)", "array(-0.0D)", key=False),
    Pair("spark", "STRUCT<a: DOUBLE>", "named_struct('a', 0.0D)", "named_struct('a', -0.0D)", key=False),
)
"""Nothing else in these engines is equal without being alike: integers, booleans, dates, binary texts, decimals of one
scale, UUIDs and enums have one spelling each; a time stamp with a zone is stored as an instant; of times with a zone,
those at the same instant are not equal; a char(n) is stored with its blanks."""

CITEXT = """
    CREATE TYPE pairs.citext;
    CREATE FUNCTION pairs.citext_in(cstring) RETURNS pairs.citext LANGUAGE internal IMMUTABLE STRICT AS 'textin';
    CREATE FUNCTION pairs.citext_out(pairs.citext) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
    CREATE TYPE pairs.citext (INPUT = pairs.citext_in, OUTPUT = pairs.citext_out, LIKE = text, CATEGORY = 'S');
    CREATE CAST (pairs.citext AS text) WITHOUT FUNCTION AS IMPLICIT;
    CREATE FUNCTION pairs.citext_cmp(a pairs.citext, b pairs.citext) RETURNS int IMMUTABLE STRICT LANGUAGE sql AS
        $$ SELECT pg_catalog.bttextcmp(lower(a::text), lower(b::text)) $$;
"""
_OPERATORS = (("<", "lt"), ("<=", "le"), ("=", "eq"), (">=", "ge"), (">", "gt"))


def _citext() -> str:
    """A type of texts that ignores case, like citext, which not every server has."""
    sql = CITEXT
    for operator, name in _OPERATORS:
        sql += (
            f"CREATE FUNCTION pairs.citext_{name}(a pairs.citext, b pairs.citext) RETURNS boolean IMMUTABLE STRICT "
            f"LANGUAGE sql AS $$ SELECT pairs.citext_cmp(a, b) {operator} 0 $$; CREATE OPERATOR pairs.{operator} "
            f"(LEFTARG = pairs.citext, RIGHTARG = pairs.citext, FUNCTION = pairs.citext_{name}"
            f"{', COMMUTATOR = OPERATOR(pairs.=)' if name == 'eq' else ''});"
        )
    listed = ", ".join(f"OPERATOR {at + 1} pairs.{operator}" for at, (operator, _) in enumerate(_OPERATORS))
    return sql + (
        f"CREATE OPERATOR CLASS pairs.citext_ops DEFAULT FOR TYPE pairs.citext USING btree AS {listed}, "
        "FUNCTION 1 pairs.citext_cmp(pairs.citext, pairs.citext);"
    )


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """One database of the process: to open another takes longer than most questions."""
    return duckdb.connect(config={"threads": "1"})


@cache
def _postgres() -> tuple[str, frozenset[str]]:
    """The server, and what of its optional parts it lacks."""
    import psycopg

    url, lacks = servers.postgres(), set()
    optional = {
        "no_case": "CREATE COLLATION pairs.no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "no_accent": "CREATE COLLATION pairs.no_accent (provider = icu, locale = 'und-u-ks-level1', "
        "deterministic = false)",
    }
    with servers.connect(url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS pairs CASCADE; CREATE SCHEMA pairs")
        connection.execute(_citext())
        for name, sql in optional.items():
            try:
                connection.execute(sql)
            except psycopg.Error:
                lacks.add(name)
    return url, frozenset(lacks)


def lacking(pair: Pair) -> bool:
    """Whether the server at hand has not what the pair needs."""
    return pair.engine == "postgres" and any(word in pair.kind for word in _postgres()[1])


Rows = Sequence[tuple[int, bool]]
"""The id of each row, in the order in which they are stored, and whether it has the other value."""


def load(pair: Pair, rows: Rows) -> dict[str, Any]:
    """A table `t` with the columns id and x, as the source for `dp.protect`, and the name of the table.

    Args:
        pair: what the values are of.
        rows: of the table.
    """
    return {"source": load_all(pair, {"t": rows})["t"], "table": "t"}


def load_all(pair: Pair, tables: Mapping[str, Rows]) -> dict[str, Any]:
    """The same for several tables in one database: the source of each.

    Args:
        pair: what the values are of.
        tables: the rows of each.
    """
    listed = {
        name: [(id_, pair.other if other else pair.one) for id_, other in rows]
        for name, rows in tables.items()
    }
    if pair.engine == "spark":
        return {name: _on_spark(pair, values) for name, values in listed.items()}
    where = "pairs." if pair.engine == "postgres" else ""
    statements = [
        sql
        for name, values in listed.items()
        for sql in (
            f"DROP TABLE IF EXISTS {where}{name}",
            f"CREATE TABLE {where}{name} (id BIGINT, x {pair.kind})",
            f"INSERT INTO {where}{name} VALUES {', '.join(f'({id_}, {value})' for id_, value in values)}",
        )
    ]
    if pair.engine == "postgres":
        url, _ = _postgres()
        with servers.connect(url) as server:
            server.execute(";".join(statements))
        return {name: f"{url}#pairs.{name}" for name in tables}
    _duckdb().execute(";".join(statements))
    return dict.fromkeys(tables, _duckdb())


def _on_spark(pair: Pair, values: list[tuple[int, str]]) -> Any:
    listed = ", ".join(f"({n}, CAST({value} AS {pair.kind}))" for n, value in values)
    return servers.spark().sql(f"SELECT * FROM VALUES {listed} AS v(id, x)").coalesce(1)


def groups(pair: Pair) -> tuple[int, list[str]]:
    """How many groups the engine makes of the two values, and how it writes each."""
    if pair.engine == "spark":
        frame = load(pair, [(1, False), (2, True)])["source"]
        return frame.groupBy("x").count().count(), [
            str(row[0]) for row in frame.selectExpr("CAST(x AS STRING)").collect()
        ]
    count, texts = "SELECT COUNT(*) FROM (SELECT x FROM {t} GROUP BY x) AS g", "SELECT {x} FROM {t}"
    if pair.engine == "postgres":
        load(pair, [(1, False), (2, True)])
        with servers.connect(_postgres()[0]) as server:
            (number,) = server.execute(count.format(t="pairs.t")).fetchall()[0]
            # A cast to text takes the blanks of a bpchar away; a row does not.
            return number, [row[0] for row in server.execute(texts.format(x="ROW(x)::text", t="pairs.t"))]
    connection = load(pair, [(1, False), (2, True)])["source"]
    (number,) = connection.execute(count.format(t="t")).fetchall()[0]
    shown = connection.execute(texts.format(x="x::VARCHAR", t="t")).fetchall()
    return number, [row[0] for row in shown]
