"""DESCRIBE, SHOW TABLES, SUMMARIZE and information_schema, for a look around, as plain SELECTs.

They are read as queries of two public tables, `information_schema.tables` and `information_schema.columns`, which
repeat the policy and say nothing of the data (`inspect/information.py` fills them).
"""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import exp

from discreet.sql.syntax.nodes import every
from discreet.sql.syntax.refusal import refuse

SCHEMA = "information_schema"
TABLES, COLUMNS = f"{SCHEMA}.tables", f"{SCHEMA}.columns"
INFORMATION = (TABLES, COLUMNS)
"""The names of the two tables, in lower case; the dot is part of the name."""
NAMED = "looks_at"

_SHOW_TABLES = (
    f'SELECT table_name AS name, kind, privacy_unit, max_rows, columns FROM "{TABLES}" ORDER BY ALL'
)
_DESCRIBE = f"""
    SELECT column_name, data_type AS column_type, declared, answers FROM "{COLUMNS}"
    WHERE lower(table_name) = lower({{}}) ORDER BY ordinal_position"""
_SUMMARIZE = f"""
    SELECT column_name, data_type AS column_type, lower_bound, upper_bound, keys, declared, answers FROM "{COLUMNS}"
    WHERE lower(table_name) = lower({{}}) ORDER BY ordinal_position"""


def as_query(statement: exp.Expr, text: str) -> exp.Expr:
    """The query that a statement which looks around stands for; any other statement stays.

    Raises:
        QueryRefused: it describes something else than one table.
    """
    if isinstance(statement, exp.Query):
        return statement
    if isinstance(statement, exp.Describe | exp.Summarize):
        if isinstance(statement.this, exp.Query):
            raise refuse(statement.this, text, f"{statement.key.upper()} of a query is not supported.",
                         "Use `discreet explain` or session.explain(), which show its plan for nothing.")  # fmt: skip
        return _about(statement.this, _SUMMARIZE if isinstance(statement, exp.Summarize) else _DESCRIBE)
    words = _words(statement)
    if words[:2] in (["show", "tables"], ["pragma", "show_tables"]) or words == ["show", "all", "tables"]:
        return sqlglot.parse_one(_SHOW_TABLES, read="duckdb")
    if len(words) == 2 and words[0] == "show" and words[1]:
        return _about(exp.to_table(words[1]), _DESCRIBE)
    if words[:3] == ["show", "columns", "from"] and len(words) == 4:
        return _about(exp.to_table(words[3]), _DESCRIBE)
    if words[:2] == ["pragma", "table_info"] and len(words) == 3:
        return _about(exp.to_table(words[2].strip("'\"")), _DESCRIBE)
    return statement


def rename(query: exp.Query) -> None:
    """Give the tables of information_schema the one name under which they are known."""
    for table in [node for node in every(query) if isinstance(node, exp.Table)]:
        db = table.args.get("db")
        name = f"{SCHEMA}.{table.name}".lower()
        if db is None or db.name.lower() != SCHEMA or table.args.get("catalog") or name not in INFORMATION:
            continue
        alias = table.alias or table.name
        whole = exp.to_identifier(name, quoted=True)
        whole.meta.update(table.this.meta)
        table.set("this", whole)
        table.set("db", None)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))


def no_schema(table: exp.Table, known: Collection[str] = ()) -> tuple[str, str]:
    """Cause and fix of the refusal of a table with a schema; `known` are the tables of the session, in lower case."""
    if SCHEMA in table.sql("duckdb").lower():
        return f"Of {SCHEMA} there are two tables.", f"Write {TABLES} or {COLUMNS}."
    front = table.args["db"].name if table.args.get("db") else ""
    # visits.csv is meant for the table visits.
    file = front.lower() in known and table.name.lower() not in known
    return (
        "A table is named by one word, without schema or database.",
        f"Write {front if file else table.name}.",
    )


def described(query: exp.Query) -> exp.Table | None:
    """The table that a statement was to describe, which must be there; None for a plain query."""
    found = query.meta.get(NAMED)
    return found if isinstance(found, exp.Table) else None


def _about(table: exp.Expr, template: str) -> exp.Expr:
    name = table.name if isinstance(table, exp.Table) else table.sql("duckdb")
    out = sqlglot.parse_one(template.format(exp.Literal.string(name).sql("duckdb")), read="duckdb")
    out.meta[NAMED] = table
    return out


def _words(statement: exp.Expr) -> list[str]:
    """The words of a statement that the parser only knows by its first one."""
    if isinstance(statement, exp.Show):
        return ["show", *statement.name.lower().split()]
    if isinstance(statement, exp.Pragma):
        inner = statement.this
        rest = [e.name for e in inner.expressions] if isinstance(inner, exp.Anonymous) else []
        return ["pragma", inner.name.lower(), *rest]
    if isinstance(statement, exp.Command):
        tail: object = statement.args.get("expression")
        text = tail if isinstance(tail, str) else str(getattr(tail, "name", ""))
        *words, last = text.strip().rstrip(";").split() or [""]
        return [str(statement.this).lower(), *map(str.lower, words), last]
    return []
